"""Verdicts depend neither on the order of ingestion nor on other runs; own repeats are fair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from speclog import annotations
from speclog.analysis.breakeven import compare
from speclog.analysis.side import Side
from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store
from tests.fairness.build import baseline, candidate

pytestmark = pytest.mark.slow
SQL = "SELECT candidate_name, baseline_name, verdict, reasons, contract_hash FROM comparison ORDER BY ALL"


def test_order_of_ingestion_and_company_change_nothing(store_of: Callable[..., Store]) -> None:
    runs = [candidate(), baseline(), baseline("tuned", env={"NCCL_PROTO": "LL"}), candidate("x", prefixes=())]
    forward = store_of(*runs).rows(SQL)
    assert store_of(*reversed(runs)).rows(SQL) == forward
    alone = store_of(runs[0], runs[1]).rows(SQL)
    assert [row[:4] for row in alone] == [row[:4] for row in forward if row[:2] == ("spec", "base")]


def test_the_same_server_twice_is_fair_once_annotated(shared: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    logs = [shared / f"logs/h200-llama8b/{name}.log" for name in ("base", "base-repeat")]
    ingest_paths(logs, store_target=target, lock_timeout=20.0)
    with open_store(target, read_only=False) as store:
        ids = [run_id for (run_id,) in store.rows("SELECT run_id FROM run ORDER BY name")]
        sql = "SELECT verdict, vouched FROM compare(?, ?)"
        assert store.rows(sql, ids) == [("unproven", False)]
        said = annotations.parse(["env=complete", "machine=h200", "workload=w"])
        annotations.record(store, ids, said, author="t")
        assert store.rows(sql, ids) == [("fair", True)]
        assert store.rows(sql, ids[::-1]) == [("fair", True)]


def test_the_same_server_twice_is_level_and_equal_on_purpose(shared: Path, tmp_path: Path) -> None:
    """No difference is claimed (~), and "no difference" may be said: two one-sided tests at 2 %."""
    target = str(tmp_path / "s.duckdb")
    logs = [shared / f"logs/h200-llama8b/{name}.log" for name in ("base", "base-repeat", "base-nograph")]
    ingest_paths(logs, store_target=target, lock_timeout=20.0)
    with open_store(target) as store:
        ids = dict(store.rows("SELECT name, run_id FROM run"))
        sql = "SELECT * FROM decode_window WHERE run_id = ? ORDER BY source_index, line_no"
        sides = {name: Side([store.frame(sql, [run_id])]) for name, run_id in ids.items()}
    for left, right in (("base", "base-repeat"), ("base-repeat", "base")):
        row = compare(sides[left], sides[right]).row(0, named=True)
        assert row["batch_size"] == 1
        assert row["tie"] == "~"
        assert row["equivalent"]
        assert row["speedup_lo"] < 1 < row["speedup_hi"]
    row = compare(sides["base"], sides["base-nograph"]).row(0, named=True)
    assert row["tie"] == ""
    assert not row["equivalent"]
