"""The one choice of a baseline: fairest first, ties, repeats and nothing said, the fastest one beside it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speclog.analysis import baseline
from speclog.ingest.api import ingest_paths
from speclog.report.gather import gather
from speclog.store import Store, open_store


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., dict[str, baseline.Choice]]:
    """Call it with rows of the judged table, fairest first: the choices."""

    def choose(*rows: dict[str, Any], **asked: Any) -> dict[str, baseline.Choice]:
        full = [
            {"candidate": "c", "baseline_name": row["baseline"], "verdict": "fair", "n_confounders": 0}
            | {"n_unknown": 0, "contract_hash": row["baseline"], "same_model": True, "measured": True}
            | {"common_size": 1, "baseline_tok_s": 100.0, "place": place}
            | row
            for place, row in enumerate(rows, start=1)
        ]
        with open_store(str(tmp_path / "s.duckdb"), read_only=False) as store:
            _fill(store, full)
            return baseline.choices(store, **asked)

    return choose


def _fill(store: Store, rows: list[dict[str, Any]]) -> None:
    store.script(
        "CREATE OR REPLACE TEMP TABLE judged (candidate VARCHAR, baseline VARCHAR, baseline_name VARCHAR, "
        "verdict VARCHAR, n_confounders INTEGER, n_unknown INTEGER, contract_hash VARCHAR, "
        "same_model BOOLEAN, measured BOOLEAN, common_size INTEGER, baseline_tok_s DOUBLE, place BIGINT)"
    )
    for row in rows:
        marks = ", ".join("?" for _ in row)
        store.rows(f"INSERT INTO judged ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def test_the_only_fair_one_and_the_fastest_beside_it(judged: Any) -> None:
    choice = judged(
        {"baseline": "same"},
        {"baseline": "tuned", "verdict": "unfair", "n_confounders": 6, "baseline_tok_s": 140.0},
        {"baseline": "old", "verdict": "unfair", "n_confounders": 6, "baseline_tok_s": 120.0},
    )["c"]
    assert choice.row is not None
    assert (choice.row["baseline"], choice.note, choice.repeats) == ("same", "the only fair one", ("same",))
    assert choice.naive is not None
    assert choice.naive["baseline"] == "tuned"


def test_the_fastest_at_the_smallest_common_batch_size_counts(judged: Any) -> None:
    choice = judged(
        {"baseline": "same", "common_size": 4, "baseline_tok_s": 500.0},
        {"baseline": "small", "verdict": "unproven", "common_size": 1, "baseline_tok_s": 90.0},
        {"baseline": "none", "verdict": "unproven", "common_size": None, "baseline_tok_s": None},
    )["c"]
    assert choice.naive is not None
    assert choice.naive["baseline"] == "small"


def test_repeats_are_pooled_and_the_fastest_of_them_is_not_another_choice(judged: Any) -> None:
    choice = judged(
        {"baseline": "newer", "contract_hash": "h"},
        {"baseline": "older", "contract_hash": "h", "baseline_tok_s": 101.0},
        {"baseline": "odd", "contract_hash": "h", "verdict": "unproven", "baseline_tok_s": 99.0},
    )["c"]
    assert choice.repeats == ("newer", "older")
    assert choice.note == "2 runs of the same configuration, pooled as repeats"
    assert choice.naive is None


def test_a_tie_is_said(judged: Any) -> None:
    unproven = {"verdict": "unproven", "n_unknown": 3}
    choice = judged(
        {"baseline": "b2", **unproven},
        {"baseline": "b1", **unproven},
        {"baseline": "b0", "verdict": "unfair"},
    )["c"]
    assert choice.note == "the newest of 2 equally unproven ones"
    assert choice.repeats == ("b2",)


def test_no_baseline_of_the_model_and_a_choice_among_some(judged: Any) -> None:
    rows = (
        {"baseline": "b1"},
        {"baseline": "b2", "verdict": "unfair"},
        {"baseline": "b3", "same_model": False},
    )
    assert judged(*rows, baselines=["b2", "b3"])["c"].row["baseline"] == "b2"
    alone = judged(*rows, baselines=["b3"])["c"]
    assert (alone.row, alone.note) == (None, "no run without speculation in the store serves this model")


@pytest.mark.slow
def test_the_report_takes_the_baseline_that_check_takes(tmp_path: Path, root: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    ingest_paths([root / "examples" / "logs"], store_target=target)
    with open_store(target) as store:
        report = gather(store, vs="baseline", candidates=None, command="test")
        choices = baseline.load(store)
    sections = [section for section in [*report.sections, *report.brief] if section.chosen]
    assert len(sections) >= 5
    for section in sections:
        choice = choices[section.run.run_id]
        assert choice.row is not None
        assert section.chosen is not None
        assert section.chosen.baseline.run_id == choice.row["baseline"], section.run.name
        assert section.choice == choice.note
        if section.naive is not None and choice.naive is not None:
            assert section.naive.baseline.run_id == choice.naive["baseline"]
