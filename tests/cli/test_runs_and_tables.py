"""Naming runs, saved queries, and how result sets are printed."""

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from speclog.errors import UsageError
from speclog.queries import all_saved, saved
from speclog.runs import resolve
from speclog.store import Store, open_store
from speclog.tables import show

NAMES = ["base", "base-nograph", "eagle3-s5"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    ids = [f"{index:x}" * 16 for index in (10, 11, 12)]
    now = datetime(2026, 11, 29)
    common = {"session_index": 0, "parser_version": 1, "speclog_version": "0", "ingested_at": now}
    ingest = [
        {"ingest_id": i, "run_id": i, "source": f"{n}.log", "sha256": i, "status": "complete", **common}
        for i, n in zip(ids, NAMES, strict=True)
    ]
    run = [
        {"ingest_id": i, "run_id": i, "name": n, "engine": "sglang", "served": True, "end_reason": "open"}
        | {"synthetic": False, "started_at": now}
        for i, n in zip(ids, NAMES, strict=True)
    ]
    tag = [{"run_id": ids[2], "key": "tag", "value": "candidate", "author": "t", "annotated_at": now}]
    with open_store(str(tmp_path / "s.duckdb"), read_only=False) as opened:
        opened.append(
            {
                "raw_run": pl.DataFrame(run),
                "raw_ingest": pl.DataFrame(ingest),
                "raw_annotation": pl.DataFrame(tag),
            }
        )
        yield opened


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("base", ["base"]),
        ("base*", ["base", "base-nograph"]),
        ("bbbb", ["base-nograph"]),
        ("candidate", ["eagle3-s5"]),
        ("cccccccccccccccc", ["eagle3-s5"]),
    ],
)
def test_a_run_is_named_by_id_prefix_name_tag_or_glob(store: Store, text: str, names: list[str]) -> None:
    found = resolve(store, text)
    assert [store.rows("SELECT name FROM run WHERE run_id = ?", [run])[0][0] for run in found] == names


def test_an_unknown_run_names_the_nearest(store: Store) -> None:
    with pytest.raises(UsageError, match="did you mean eagle3-s5"):
        resolve(store, "eagle3-s6")


def test_every_saved_query_runs_and_says_what_it_answers(store: Store) -> None:
    for query in all_saved():
        assert query.about.endswith("."), query.name
        columns, _ = store.result(query.sql)
        assert columns


def test_an_unknown_query_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean runs"):
        saved("run")


def test_json_holds_every_type(capsys: pytest.CaptureFixture[str]) -> None:
    row = (Decimal("1.5"), float("nan"), datetime(2026, 1, 2), [1, None], {"a": b"\x01"}, None, True)
    show(list("abcdefg"), [row], "json")
    (out,) = json.loads(capsys.readouterr().out)
    assert out == {
        "a": 1.5,
        "b": "nan",
        "c": "2026-01-02T00:00:00",
        "d": [1, None],
        "e": {"a": "01"},
        "f": None,
        "g": True,
    }


def test_a_hostile_name_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(["run"], [("evil\x1b[2J\u202egol.tohs",), ("[red]not markup[/red]",)], "table")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]not markup[/red]" in out


def test_csv_quotes_and_keeps_lists_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    show(["a", "b"], [('say "hi", now', ["x", 1])], "csv")
    assert capsys.readouterr().out == 'a,b\n"say ""hi"", now","[""x"", 1]"\n'
