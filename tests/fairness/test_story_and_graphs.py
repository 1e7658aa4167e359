"""Verdicts on the logs that ship with speclog."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store

NCCL = {
    f"env.{name}"
    for name in (
        "NCCL_PROTO",
        "NCCL_ALGO",
        "NCCL_P2P_LEVEL",
        "NCCL_MAX_NCHANNELS",
        "NCCL_BUFFSIZE",
        "NCCL_NTHREADS",
    )
}


@pytest.fixture(scope="module")
def store(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    target = str(tmp_path_factory.mktemp("fair") / "s.duckdb")
    ingest_paths([example_logs], store_target=target, lock_timeout=20.0)
    with open_store(target) as opened:
        yield opened


def verdict(store: Store, candidate: str, baseline: str) -> str:
    sql = "SELECT verdict FROM comparison WHERE candidate_name = ? AND baseline_name = ?"
    ((found,),) = store.rows(sql, [candidate, baseline])
    return str(found)


@pytest.mark.parametrize(
    ("candidate", "baseline", "expected"),
    [
        ("eagle3-5x6-untuned", "baseline-fresh", "fair"),
        ("eagle3-2x3-untuned", "baseline-fresh", "fair"),
        ("eagle3-5x6-untuned", "baseline-remembered", "unfair"),
        ("eagle3-5x6-untuned", "baseline-retuned", "unfair"),
        ("eagle3-s5-a2.1", "base-nograph", "unfair"),
        ("eagle3-s5-a2.1", "base", "unproven"),
    ],
)
def test_verdict(store: Store, candidate: str, baseline: str, expected: str) -> None:
    assert verdict(store, candidate, baseline) == expected


def test_the_six_variables_are_named_with_values_and_mend(store: Store) -> None:
    rows = store.rows(
        "SELECT f.name, f.candidate_value, f.baseline_value, f.mend FROM comparison_factor AS f "
        "JOIN comparison AS c USING (candidate, baseline) "
        "WHERE c.candidate_name = 'eagle3-5x6-untuned' AND c.baseline_name = 'baseline-retuned' AND f.matters"
    )
    assert {row[0] for row in rows} == NCCL
    assert all(row[1] == "(unset)" for row in rows)
    assert {row[3] for row in rows} >= {"export NCCL_PROTO=LL", "export NCCL_BUFFSIZE=16777216"}
