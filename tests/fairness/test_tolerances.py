"""Numbers that are read off a moving thing are compared with room; the room is data of the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from speclog.analysis import factors
from speclog.errors import UsageError
from speclog.store import open_store

CASES = [
    ("0.03", "0.0", 0.02, 0.1, False),  # free memory of a CPU moved
    ("0.25", "0.03", 0.02, 0.1, True),
    ("14.98", "15.2", 0.02, 0.1, False),
    ("14.98", "15.4", 0.02, 0.1, True),
    ("inf", "inf", None, None, False),
    ("inf", "4", None, None, True),
    ("0", "0.0", None, None, False),
    ("-0.05", "0.05", 0.02, 0.1, False),
    ("[1]", "[1]", None, None, False),
    ("[1]", "[2]", None, None, True),
]


def test_the_larger_of_the_two_tolerances_counts(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.duckdb"), read_only=False) as store:
        for a, b, rel, floor, expected in CASES:
            sql = "SELECT factor_differs('number', {'rel': ?::DOUBLE, 'abs': ?::DOUBLE}, ?, ?)"
            assert store.rows(sql, [rel, floor, a, b]) == [(expected,)], (a, b)
            assert store.rows(sql, [rel, floor, b, a]) == [(expected,)], (b, a)
        sql = "SELECT factor_differs('number', factor_tolerance(NULL), NULL, '1')"
        assert store.rows(sql) == [(None,)]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("0.02", {"rel": 0.02, "abs": 0.0}),
        ('{"abs": 0.1}', {"rel": 0.0, "abs": 0.1}),
        ('{"abs": 0.1, "rel": 0.02}', {"rel": 0.02, "abs": 0.1}),
        (None, None),
    ],
)
def test_a_tolerance_is_a_share_or_a_table(
    tmp_path: Path, told: str | None, found: dict[str, float] | None
) -> None:
    with open_store(str(tmp_path / "s.duckdb"), read_only=False) as store:
        assert store.rows("SELECT factor_tolerance(?)", [told]) == [(found,)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{abs = 0.1, rel = 0.02}", None),
        ("0.5", None),
        ("{absolute = 0.1}", "absolute: only abs"),
        ("{abs = -1}", "abs: -1 is no number from 0 up"),
        ("-0.1", "no tolerance is below zero"),
        ("'2 %'", "is not a number"),
    ],
)
def test_a_catalogue_names_what_is_wrong_with_a_tolerance(
    tmp_path: Path, text: str, said: str | None
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        f'[[factor]]\nkeys = ["fact.x"]\nclass = "server"\ncompare = "number"\ntolerance = {text}\n'
    )
    if said is None:
        factors.read(own)
        return
    with pytest.raises(UsageError, match=said):
        factors.read(own)
