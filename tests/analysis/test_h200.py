"""The real H200 logs, whose accept lengths are known because they were simulated."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from speclog.analysis.breakeven import break_even_intervals
from speclog.analysis.context import tau_star_curve
from speclog.analysis.overhead import ab_overhead
from speclog.analysis.phases import summary
from speclog.analysis.whatif import best_steps
from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store

GOLDEN = {
    "eagle3-s5-a1.4": (1.478, 1.540, 1.600),
    "eagle3-s5-a1.6": (1.476, 1.540, 1.602),
    "eagle3-s5-a2.1": (1.474, 1.537, 1.598),
    "eagle3-s5-a3.0": (1.479, 1.541, 1.599),
    "eagle3-s2-a2.1": (1.306, 1.375, 1.441),
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def h200(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    target = str(tmp_path_factory.mktemp("h200") / "s.duckdb")
    ingest_paths([shared / "logs" / "h200-llama8b"], store_target=target)
    with open_store(target) as store:
        yield store


def windows(store: Store, name: str) -> list[pl.DataFrame]:
    return [store.frame("SELECT * FROM decode_window WHERE run = ?", [name])]


@pytest.mark.parametrize("run", GOLDEN)
def test_break_even_of_each_run(h200: Store, run: str) -> None:
    base = [*windows(h200, "base"), *windows(h200, "base-repeat")]
    curve = tau_star_curve(windows(h200, run), base, 1, contexts=[200, 400, 600])
    assert curve["tau_star"].to_list() == pytest.approx(GOLDEN[run], abs=0.0011)


def test_views_and_python_agree_on_real_logs(h200: Store) -> None:
    rows = h200.rows(
        "SELECT candidate_name, batch_size, tau_star, speedup FROM break_even WHERE baseline_name = 'base' "
        "AND refused IS NULL AND candidate_name LIKE 'eagle3%' ORDER BY 1, 2"
    )
    assert len(rows) == 12
    for run, batch_size, tau_star, speedup in rows:
        ours = break_even_intervals(windows(h200, run), windows(h200, "base"), resamples=50)
        mine = ours.filter(batch_size=batch_size).row(0, named=True)
        assert mine["tau_star"] == pytest.approx(tau_star, rel=1e-9)
        assert mine["speedup"] == pytest.approx(speedup, rel=1e-9)


def test_fair_and_unfair_baseline(h200: Store) -> None:
    rows = {
        name: (speedup, naive)
        for name, speedup, naive in h200.rows(
            "SELECT baseline_name, speedup, naive_speedup FROM level_pair "
            "WHERE candidate_name = 'eagle3-s5-a2.1' AND batch_size = 1 "
            "AND baseline_name IN ('base', 'base-nograph')"
        )
    }
    assert rows["base"][0] == pytest.approx(1.37, abs=0.02)
    assert rows["base-nograph"][1] == pytest.approx(5.4, abs=0.05)


def test_two_steps_from_five(h200: Store) -> None:
    profile = h200.frame(
        "SELECT p.* FROM profile_window AS p JOIN run USING (run_id) WHERE name = 'profiled-eagle3-s5-a2.1'"
    )
    five, two, base = (
        windows(h200, name)
        for name in ("profiled-eagle3-s5-a2.1", "profiled-eagle3-s2-a2.1", "profiled-base")
    )
    # The 2-step run served batches of equal requests only: they are predicted from the same kind.
    for real in break_even_intervals(two, base).iter_rows(named=True):
        table = best_steps(profile, five, base, contexts=[real["context"]], mixed=False)
        guess = table.filter(batch_size=real["batch_size"], steps=2).row(0, named=True)
        assert guess["t_round_ms"] == pytest.approx(real["t_spec_ms"], rel=0.01)
        assert guess["speedup"] == pytest.approx(real["speedup"], rel=0.01)
        assert guess["speedup_lo"] <= real["speedup"] <= guess["speedup_hi"]


def test_mixed_batches_take_longer_at_the_same_mean_context(h200: Store) -> None:
    rows = h200.rows(
        "SELECT mixed, fit_a_ms + fit_c_ms_per_token * 374 FROM level_line JOIN run USING (run_id) "
        "WHERE name = 'profiled-eagle3-s5-a2.1' AND batch_size = 8 ORDER BY mixed"
    )
    (_, equal_ms), (_, mixed_ms) = rows
    assert equal_ms == pytest.approx(8.734, abs=0.01)
    assert 1.03 < mixed_ms / equal_ms < 1.06


def test_overhead_and_host_bound_rounds(h200: Store) -> None:
    name = "profiled-eagle3-s5-a2.1-ab"
    events = h200.rows(
        "SELECT e.line_no, e.fields FROM event AS e JOIN run USING (run_id) "
        "WHERE name = ? AND kind = 'profile_ab' ORDER BY 1",
        [name],
    )
    prefills = h200.rows(
        "SELECT p.line_no FROM prefill_batch AS p JOIN run USING (run_id) WHERE name = ?", [name]
    )
    lines = pl.DataFrame([{"line_no": line} | json.loads(fields) for line, fields in events])
    cost = ab_overhead(lines, [line for (line,) in prefills])
    assert cost is not None
    assert 0.0 <= cost.pct <= 1.0
    assert cost.pct_hi - cost.pct_lo < 1.5
    for run, bound in (("profiled-base-nograph", True), ("profiled-base", False)):
        frame = h200.frame(
            "SELECT p.* FROM profile_window AS p JOIN run USING (run_id) WHERE name = ?", [run]
        )
        assert summary(frame).filter(batch_size=1)["host_bound"].to_list() == [bound]
