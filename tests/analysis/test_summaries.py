"""Summaries: the kept sums and the windows themselves give the same levels, and stale sums are never read."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from speclog.store import Store, removal, schema, summaries
from tests.analysis.made_up import frames, window, with_starts

Make = Callable[..., Store]
VIEWS = {
    "level": "run_id, batch_size",
    "level_line": "run_id, batch_size, eager, band",
    "rank_level": "run_id, batch_size, dp_rank, pp_rank",
    "level_pair": "candidate, baseline, batch_size",
    "measured": "run_id, name",
    "impossible_pair": "candidate, baseline",
    "run": "run_id",
}


def _arm(name: str, *, speculative: bool, pipeline: bool = True) -> dict[str, pl.DataFrame]:
    """Two batch sizes, bands of context, outliers, eager windows, two DP ranks and pipeline ranks.

    In a pipeline the tokens of a rank grow by just what it generates.
    """
    tau = 2.4 if speculative else 1.0
    step = 20 * tau if pipeline else 11
    rows: list[dict[str, Any]] = []
    for size in (1, 4):
        for place in range(70):
            context = 200 + step * place + (5000 if place >= 50 else 0)
            off = 1.4 if place % 13 == 7 else 1 + 0.001 * (place % 5)
            more = {"graph": place % 9 != 4, "dp_rank": place % 2, "queue_req": place % 3 == 0}
            rows.append(
                window(size, context, (6 + 0.002 * context) * off * (1.5 if speculative else 1), tau, **more)
            )
            if pipeline:
                rows.append(rows[-1] | {"pp_rank": 1})
    rows = [({"pp_rank": 0} if pipeline else {}) | row for row in with_starts(rows)]
    made = frames(name, rows, speculative=speculative)
    if not speculative:
        made["raw_decode_window"] = made["raw_decode_window"].with_columns(
            accept_len=pl.lit(None, pl.Float64)
        )
    return made


def _seen(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    return {view: store.rows(f"SELECT * FROM {view} ORDER BY {key}") for view, key in VIEWS.items()}


def _same(kept: dict[str, list[tuple[Any, ...]]], live: dict[str, list[tuple[Any, ...]]]) -> None:
    for view, rows in live.items():
        assert len(kept[view]) == len(rows) > 0 or view == "impossible_pair", view
        for mine, theirs in zip(kept[view], rows, strict=True):
            wanted = [pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for v in theirs]
            assert list(mine) == wanted, view


@pytest.fixture
def pair(new_store: Make) -> Store:
    return new_store(_arm("spec", speculative=True), _arm("plain", speculative=False))


def test_kept_levels_equal_those_of_the_windows(pair: Store) -> None:
    kept = _seen(pair)
    assert pair.rows("SELECT count(*) FROM open_run") == [(0,)]
    assert len(kept["level_line"]) > 8
    for table in ("raw_summary", "raw_level", "raw_level_line", "raw_rank_level"):
        pair.rows(f"DELETE FROM {table}")
    assert pair.rows("SELECT count(*) FROM open_run") == [(2,)]
    _same(kept, _seen(pair))


def test_kept_levels_are_what_is_read(pair: Store) -> None:
    pair.rows("UPDATE raw_level_line SET fit_a_ms = 77 WHERE run_id = 'id-spec'")
    assert set(pair.rows("SELECT fit_a_ms FROM level_line WHERE run_id = 'id-spec'")) == {(77.0,)}


@pytest.mark.parametrize(
    ("key", "value", "column", "wanted"),
    [
        ("arg.decode_log_interval", "20", "context_min", 200.0),
        ("arg.speculative_algorithm", "null", "tau", 1.0),
    ],
)
def test_an_annotation_that_changes_the_windows_is_not_answered_from_old_sums(
    new_store: Make, key: str, value: str, column: str, wanted: float
) -> None:
    pair = new_store(*(_arm(name, speculative=name == "spec", pipeline=False) for name in ("spec", "plain")))
    part = "run_id = 'id-spec' AND batch_size = 1 AND band = 1 AND NOT eager"
    sql = f"SELECT {column} FROM level_line WHERE {part}"
    before = pair.rows(sql)[0][0]
    pair.rows("INSERT INTO raw_annotation VALUES ('id-spec', ?, ?, 'me', now())", [key, value])
    assert pair.rows("SELECT run_id FROM open_run") == [("id-spec",)]
    changed = pair.rows(sql)[0][0]
    assert changed != before
    assert changed == pytest.approx(wanted, abs=0.5)
    live = _seen(pair)
    assert pair.transaction(lambda: summaries.write(pair)) == 1
    assert pair.rows("SELECT count(*) FROM open_run") == [(0,)]
    _same(_seen(pair), live)


def test_a_removed_run_comes_back_with_its_levels(pair: Store) -> None:
    before = _seen(pair)
    removal.remove(pair, ["id-spec"])
    assert {row[0] for row in pair.rows("SELECT run_id FROM level")} == {"id-plain"}
    removal.restore(pair, ["id-spec"])
    after = _seen(pair)
    _same(
        {view: rows for view, rows in before.items() if view != "run"},
        {view: rows for view, rows in after.items() if view != "run"},
    )


def test_a_newer_ingest_is_not_answered_from_the_sums_of_the_old_one(pair: Store) -> None:
    again = frames("spec", with_starts([window(1, 300 + n, 9.0, 2.0) for n in range(20)]), speculative=True)
    renamed = {table: frame.with_columns(ingest_id=pl.lit("i-again")) for table, frame in again.items()}
    renamed["raw_ingest"] = renamed["raw_ingest"].with_columns(ingested_at=pl.lit(datetime(2026, 11, 30)))
    pair.append(renamed, sum_up=False)
    live = pair.rows("SELECT batch_size, n_clean, round_ms FROM level WHERE run_id = 'id-spec'")
    assert live == [(1, 20, pytest.approx(9.0))]
    assert pair.transaction(lambda: summaries.write(pair)) == 1
    assert pair.rows("SELECT batch_size, n_clean, round_ms FROM level WHERE run_id = 'id-spec'") == live


def test_a_long_log_is_only_counted_until_somebody_sums_it_up(
    new_store: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "AT_ONCE", 100)
    store = new_store(_arm("spec", speculative=True), _arm("plain", speculative=False))
    assert store.rows("SELECT count(*) FROM open_run") == [(2,)]
    assert store.rows("SELECT method, windows FROM raw_summary") == [(None, 282), (None, 282)]
    assert store.rows("SELECT DISTINCT windows FROM run") == [(282,)]
    live = _seen(store)
    assert store.transaction(lambda: summaries.write(store)) == 2
    _same(_seen(store), live)


def test_the_method_is_the_sql_and_not_its_comments() -> None:
    def method(change: Callable[[str], str]) -> str:
        items = [schema.Definition(item.name, item.part, change(item.sql)) for item in schema.definitions()]
        return schema._level_method(items).sql

    now = method(lambda sql: sql)
    assert now == method(lambda sql: f"-- another remark\n{sql}")
    assert now != method(lambda sql: sql.replace("5 * 1.4826", "6 * 1.4826"))
    assert {item.name for item in schema.definitions()} >= set(schema.LEVEL_METHOD)
