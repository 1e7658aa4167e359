"""Sessions `speclog launch` ran on real GPUs: verdicts without any annotation, and their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store

pytestmark = pytest.mark.slow

NCCL = "NCCL_ALGO, NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS, NCCL_NTHREADS, NCCL_P2P_LEVEL, NCCL_PROTO"


def filled(logs: Path, runs: int, target: Path) -> str:
    done = ingest_paths([logs], store_target=str(target), lock_timeout=20.0)
    assert len(done) == runs
    return str(target)


@pytest.fixture(scope="module")
def launched(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(
        filled(root / "tests" / "data" / "h200-launch", 5, tmp_path_factory.mktemp("gpu") / "s.duckdb")
    ) as store:
        yield store


@pytest.fixture(scope="module")
def factorial(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(
        filled(example_logs / "h200-tp2", 8, tmp_path_factory.mktemp("tp2") / "s.duckdb")
    ) as store:
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
    assert len(found) == 16
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


def test_a_sweep_of_nccl_proto_is_three_configurations(root: Path, tmp_path: Path) -> None:
    with open_store(filled(root / "tests" / "data" / "h200-tp2-sweep", 3, tmp_path / "s.duckdb")) as store:
        ids = {name.split("PROTO_")[1]: run_id for name, run_id in store.rows("SELECT name, run_id FROM run")}
        for proto, slower in (("LL128.r1", 1.14), ("Simple.r1", 1.32)):
            ((verdict, reasons),) = store.rows(
                "SELECT verdict, reasons FROM compare(?, ?)", [ids[proto], ids["LL.r1"]]
            )
            assert verdict == "unfair" and "NCCL_PROTO" in reasons[0]
            steps = [
                step
                for (step,) in store.rows(
                    "SELECT round_ms FROM level WHERE batch_size = 1 AND run_id IN (?, ?) ORDER BY round_ms",
                    [ids[proto], ids["LL.r1"]],
                )
            ]
            assert steps[1] / steps[0] == pytest.approx(slower, rel=0.02)


@pytest.mark.parametrize(
    ("folder", "version"), [("h200-profiler", "0.5.14"), ("h200-profiler-0.5.13", "0.5.13.post1")]
)
def test_profiled_servers_of_two_versions_attach_and_agree_with_sglang(
    root: Path, tmp_path: Path, folder: str, version: str
) -> None:
    with open_store(filled(root / "tests" / "data" / folder, 2, tmp_path / "s.duckdb")) as store:
        assert dict(store.rows("SELECT name, version FROM run")) == {"base-on": version, "eagle3-on": version}
        assert store.rows("SELECT count(*) FROM event WHERE kind = 'profile_warn'") == [(0,)]
        rows = store.rows(
            "SELECT acc_len, acc_hist FROM profile_window "
            "WHERE kind = 'spec' AND part = 0 AND acc_hist IS NOT NULL"
        )
        assert len(rows) >= 40
        for accept_length, accepted in rows:
            drafts = sum(n * count for n, count in enumerate(accepted)) / sum(accepted)
            assert drafts + 1 == pytest.approx(accept_length, rel=0.001)
            assert accept_length == pytest.approx(2.1, abs=0.4)
