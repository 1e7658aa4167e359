"""Sessions `speclog launch` ran on real GPUs: verdicts without any annotation, and their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store

pytestmark = pytest.mark.slow

NCCL = "NCCL_ALGO, NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS, NCCL_NTHREADS, NCCL_P2P_LEVEL, NCCL_PROTO"


def filled(root: Path, name: str, target: Path) -> str:
    done = ingest_paths([root / "tests" / "data" / name], store_target=str(target), lock_timeout=20.0)
    assert len(done) == 5
    return str(target)


@pytest.fixture(scope="module")
def launched(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(filled(root, "h200-launch", tmp_path_factory.mktemp("gpu") / "s.duckdb")) as store:
        yield store


@pytest.fixture(scope="module")
def factorial(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(filled(root, "h200-tp2", tmp_path_factory.mktemp("tp2") / "s.duckdb")) as store:
        yield store


def break_even(store: Store, batch_size: int) -> dict[str, Any]:
    rows = store.rows(
        "SELECT candidate_name, tau_star, speedup FROM break_even WHERE batch_size = ?", [batch_size]
    )
    return {row[0]: row[1:] for row in rows}


def test_launched_pairs_are_fair_with_no_annotation(launched: Store) -> None:
    found = launched.rows("SELECT candidate_name, verdict, vouched FROM comparison")
    assert len(found) == 4
    assert {(verdict, vouched) for _, verdict, vouched in found} == {("fair", False)}


def test_launched_numbers_agree_between_repeats_and_with_the_older_logs(launched: Store) -> None:
    one = break_even(launched, 1)
    for repeat in ("r1", "r2"):
        assert one[f"llama8b-eagle3-5x6.{repeat}"] == pytest.approx((1.55, 1.353), rel=0.01)
        assert one[f"llama8b-eagle3-2x3.{repeat}"] == pytest.approx((1.383, 1.518), rel=0.01)


def test_cross_pairs_of_the_factorial_are_unfair_and_same_environment_pairs_fair(factorial: Store) -> None:
    found = factorial.rows("SELECT candidate_name, baseline_name, verdict, reasons FROM comparison")
    assert len(found) == 6
    for candidate, baseline, verdict, reasons in found:
        same = ("nccl" in candidate) == ("nccl" in baseline)
        assert verdict == ("fair" if same else "unfair")
        assert same or any(NCCL in reason for reason in reasons)


def test_the_profiler_saw_what_the_decode_lines_say(factorial: Store) -> None:
    rows = factorial.rows(
        "SELECT kind, cycle_ms, draft_ms + vprep_ms + verify_ms + accept_ms + extend_ms + gap_ms, "
        "fwd_ms + gap_ms, seq FROM profile_window WHERE part = 0 AND NOT coalesce(warmup, false)"
    )
    assert {row[0] for row in rows} == {"spec", "decode"}
    for kind, cycle_ms, phases_ms, step_ms, seq in rows:
        assert (phases_ms if kind == "spec" else step_ms) == pytest.approx(cycle_ms, rel=0.005)
        assert seq > 0
