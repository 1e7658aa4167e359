"""Phases, what-if and overhead on made-up profile windows whose answers are known."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from made_up import frames, window, with_starts

from speclog.analysis.adaptive import sglang_adaptive, unsure, vllm_schedule
from speclog.analysis.concurrency import crossings, unequal
from speclog.analysis.overhead import ab_overhead, fitted_overhead
from speclog.analysis.phases import bill, summary
from speclog.analysis.side import Side
from speclog.analysis.whatif import NO_PROFILE, ONE_WINDOW, best_steps, draft_of
from speclog.cli import cli
from speclog.errors import UsageError
from speclog.report.details import _histograms
from speclog.report.findings import profile_of
from speclog.report.rows import runs as runs_of
from speclog.report.sources import of_runs
from speclog.store import Store

Make = Callable[..., Store]
CONTEXTS = [200.0 + 10 * step for step in range(30)]


def profile(batch_size: int = 1, n: int = 100, **more: object) -> dict[str, Any]:
    """A window of a 5-step round of 7 ms: draft 1.2, verify 5, extend 0.5, the rest 0.3."""
    row = {"kind": "spec", "n": n, "part": 0, "bs": float(batch_size), "steps": 5, "topk": 1, "ndraft": 6}
    row |= {"cycle_ms": 7.0, "draft_ms": 1.2, "vprep_ms": 0.1, "verify_ms": 5.0, "accept_ms": 0.1}
    row |= {"extend_ms": 0.5, "gap_ms": 0.1, "fwd_ms": 6.9, "host_ms": 2.0, "warmup": None}
    row |= {"reqs": n * batch_size, "acc_len": 2.0, "acc_hist": [20, 60, 20, 0, 0, 0]}
    return row | more


def decode(store: Store, name: str) -> pl.DataFrame:
    return store.frame("SELECT * FROM decode_window WHERE run = ?", [name])


def test_bill_adds_up_to_break_even() -> None:
    windows = pl.DataFrame([profile() for _ in range(4)])
    table = bill(windows, {1: 4.0})
    assert table["ms"].sum() == pytest.approx(7.0)
    assert table["tokens"].sum() == pytest.approx(7.0 / 4.0)
    assert table["share_pct"].sum() == pytest.approx(100)
    verify = table.filter(phase="verify").row(0, named=True)
    assert verify["shrink_to_ms"] == pytest.approx(2.0 * 4.0 - 2.0)
    assert bill(windows, {})["tokens"].null_count() == 7
    # Draft alone cannot save a round that is too long without it.
    assert bill(windows, {1: 2.0}).filter(phase="draft")["shrink_to_ms"][0] is None


def test_unusual_windows_stay_out_and_are_counted() -> None:
    usual = [profile(cycle_ms=7.0 + 0.01 * place, verify_ms=5.0 + 0.01 * place) for place in range(6)]
    odd = [
        profile(draft_ms=4.0),  # a hiccup the cycle left out
        profile(cycle_ms=60.0, verify_ms=58.0),  # one long prompt
        profile(bs=1.5),
        profile(warmup=True),
    ]
    windows = pl.DataFrame(usual + odd)
    found = summary(windows).row(0, named=True)
    assert (found["windows"], found["left_out"]) == (6, 3)
    assert found["cycle_ms"] == pytest.approx(7.025)
    assert bill(windows, {1: 4.0}).filter(phase="draft")["ms"][0] == pytest.approx(1.2)


@pytest.mark.parametrize("odd", [{"n": None}, {"n": 0}, {"cycle_ms": 0.0}])
def test_windows_that_cannot_be_weighed_stay_out(odd: dict[str, object], new_store: Make) -> None:
    kept = [profile(cycle_ms=7.0 + 0.01 * place, verify_ms=5.0 + 0.01 * place) for place in range(6)]
    plain = {"kind": "decode", "fwd_ms": 4.0, "cycle_ms": 4.1, "draft_ms": None, "verify_ms": None}
    rows = [*kept, profile() | odd]
    base = pl.DataFrame([profile(**plain) | odd, *(profile(**plain) for _ in range(3))])
    found = summary(pl.DataFrame(rows), base).row(0, named=True)
    assert (found["windows"], found["rounds"], found["left_out"]) == (6, 600, 1)
    assert found["cycle_ms"] == pytest.approx(7.025)
    assert found["verify_ratio"] == pytest.approx(5.025 / 4.0)
    assert bill(pl.DataFrame(rows), {1: 4.0})["ms"].sum() == pytest.approx(7.025)
    alone = [profile() | odd for _ in range(3)]
    assert summary(pl.DataFrame(alone)).is_empty()
    assert bill(pl.DataFrame(alone), {1: 4.0}).is_empty()
    made = frames("spec", with_starts([window(1, 300, 7.0)]), speculative=True)
    store = new_store(made, {"raw_profile_window": profiled("spec", rows)})
    assert store.rows("SELECT DISTINCT windows FROM phase") == [(6,)]


def test_what_every_rank_prints_is_one_round(new_store: Make) -> None:
    """EAGLE3_PROFILE_ALL_RANKS: tensor ranks run the same rounds, replicas have rounds of their own."""
    ranks = [{"rank": rank, "extra": json.dumps({"dp": str(rank // 2)})} for rank in range(4)]
    rows = [profile(cycle_ms=7.0 + 0.01 * place) | rank for place in range(3) for rank in ranks]
    made = frames("spec", with_starts([window(1, 300, 7.0)]), speculative=True)
    store = new_store(made, {"raw_profile_window": profiled("spec", rows)})
    told = store.rows("SELECT rank, any_value(same_rounds) FROM profile_window GROUP BY rank ORDER BY rank")
    assert told == [(0, False), (1, True), (2, False), (3, True)]
    assert store.rows("SELECT DISTINCT windows FROM phase") == [(6,)]
    run = runs_of(store)["id-spec"]
    assert profile_of(store, run)["rank"].unique().sort().to_list() == [0, 2]
    counted, others = _histograms(store, run)
    assert (sum(map(sum, counted)), others) == (600, 0)
    shown = store.rows(re.search(r'"(SELECT .*)"', of_runs("rank", "profile_window", [run]))[1])  # type: ignore[index]
    assert sorted({rank for (rank,) in shown}) == [0, 2]


def test_a_rank_whose_replica_cannot_be_read_is_one_of_the_only_one(new_store: Make) -> None:
    rows = [
        profile() | {"rank": rank, "extra": extra}
        for rank, extra in ((0, None), (1, "no JSON"), (None, None))
    ]
    made = frames("spec", with_starts([window(1, 300, 7.0)]), speculative=True)
    store = new_store(made, {"raw_profile_window": profiled("spec", rows)})
    assert store.rows("SELECT rank FROM profile_window WHERE same_rounds") == [(1,)]


def test_windows_without_requests_say_nothing_of_acceptance() -> None:
    empty = [profile(reqs=0, acc_len=9.0, acc_hist=[0] * 6) for _ in range(3)]
    found = summary(pl.DataFrame([*empty, *(profile() for _ in range(3))])).row(0, named=True)
    assert (found["windows"], found["tau"]) == (6, pytest.approx(2.0))
    assert summary(pl.DataFrame(empty))["tau"].to_list() == [None]
    draft = draft_of(pl.DataFrame([*empty, *(profile() for _ in range(3))]))
    assert not isinstance(draft, str)
    assert draft.survival.tolist() == pytest.approx([0.8, 0.2, 0, 0, 0])
    assert draft_of(pl.DataFrame(empty)) == NO_PROFILE


def test_host_bound_rounds_are_recognised() -> None:
    plain = {
        "kind": "decode",
        "steps": 0,
        "fwd_ms": 4.0,
        "cycle_ms": 4.1,
        "draft_ms": None,
        "verify_ms": None,
    }
    fast = pl.DataFrame([profile(**plain, host_ms=0.5)] * 3)
    slow = pl.DataFrame([profile(**plain, host_ms=3.9)] * 3)
    assert summary(fast)["host_bound"].to_list() == [False]
    assert summary(slow)["host_bound"].to_list() == [True]
    with_base = summary(pl.DataFrame([profile()] * 3), fast).filter(kind="spec")
    assert with_base["verify_ratio"][0] == pytest.approx(5.0 / 4.0)


def profiled(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    keys = {"ingest_id": f"i-{name}", "run_id": f"id-{name}", "source_index": 0}
    return pl.DataFrame([keys | {"line_no": 500 + place} | row for place, row in enumerate(rows)])


def test_phases_are_the_same_in_sql(new_store: Make) -> None:
    rows = [
        profile(cycle_ms=7.0 + 0.01 * place, verify_ms=5.0 + 0.01 * place, n=60 + place) for place in range(7)
    ]
    rows += [
        profile(8, draft_ms=1.5, cycle_ms=7.3),
        profile(8, draft_ms=1.4, cycle_ms=7.2),
        profile(draft_ms=4.0),
    ]
    rows += [
        profile(cycle_ms=60.0, verify_ms=58.0),
        profile(bs=1.5),
        profile(warmup=True),
        profile(gap_ms=None),
    ]
    made = frames("spec", with_starts([window(1, x, 7.0, 2.0) for x in CONTEXTS]), speculative=True)
    store = new_store(made, {"raw_profile_window": profiled("spec", rows)})
    ours = bill(store.frame("SELECT * FROM profile_window"), {}).sort("batch_size", "phase")
    theirs = store.frame("SELECT * FROM phase ORDER BY batch_size, phase")
    assert theirs["phase"].to_list() == ours["phase"].to_list()
    assert len(ours) == 14
    assert theirs["ms"].to_list() == pytest.approx(ours["ms"].to_list(), abs=1e-9)
    assert theirs["share_pct"].to_list() == pytest.approx(ours["share_pct"].to_list(), abs=1e-9)


def test_what_if_on_the_command_line(new_store: Make) -> None:
    plain = frames("base", with_starts([window(1, x, 4.0, 1.0) for x in CONTEXTS]), speculative=False)
    spec = frames("spec", with_starts([window(1, x, 7.0, 2.0) for x in CONTEXTS]), speculative=True)
    store = new_store(plain, spec, {"raw_profile_window": profiled("spec", [profile() for _ in range(4)])})
    target = store.target
    store._connection.close()
    call = CliRunner().invoke
    done = call(cli, ["--store", target, "whatif", "spec", "--vs", "base", "--format", "sglang"])
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"1": {"candidate_steps": [2]}})
    assert "spec against base is unproven" in done.stderr
    done = call(cli, ["--store", target, "whatif", "spec", "--vs", "base", "--format", "vllm"])
    assert json.loads(done.stdout) == [[1, 1, 2]]
    done = call(cli, ["--store", target, "whatif", "spec", "--vs", "base", "--json"])
    assert json.loads(done.stdout)[0]["steps"] == 0
    failed = call(cli, ["--store", target, "whatif", "base", "--vs", "base"])
    assert isinstance(failed.exception, UsageError)
    assert "base: a run without speculation" in str(failed.exception)


def runs(new_store: Make, tau: float = 2.0) -> Store:
    steady = [window(1, x, 4.0, 1.0) for x in CONTEXTS]
    spec = [window(1, x, 7.0, tau) for x in CONTEXTS]
    return new_store(
        frames("base", with_starts(steady), speculative=False),
        frames("spec", with_starts(spec), speculative=True),
    )


def test_fewer_steps_are_exact_and_more_are_labelled(new_store: Make) -> None:
    store = runs(new_store)
    table = best_steps(
        pl.DataFrame([profile()] * 5), [decode(store, "spec")], [decode(store, "base")], contexts=[300]
    )
    rows = {row["steps"]: row for row in table.iter_rows(named=True)}
    assert sorted(rows) == list(range(8))
    assert rows[0]["speedup"] == 1.0
    two = rows[2]
    assert two["tau"] == pytest.approx(1 + 0.8 + 0.2)
    assert two["t_round_ms"] == pytest.approx(7.0 - 3 * 0.3)
    assert two["tau_star"] == pytest.approx(6.1 / 4.0)
    assert two["speedup"] == pytest.approx(2.0 / (6.1 / 4.0))
    assert rows[1]["next_step_pays"] is True  # 0.2 / 0.3 > 1.8 / 5.8
    assert rows[2]["next_step_pays"] is False  # nothing is ever accepted there
    assert [steps for steps, row in rows.items() if row["best"]] == [2]
    assert [steps for steps, row in rows.items() if row["extrapolated"]] == [6, 7]
    assert rows[5]["speedup_lo"] <= rows[5]["speedup"] <= rows[5]["speedup_hi"]


def test_more_steps_span_from_nothing_accepted_to_the_best_position(new_store: Make) -> None:
    store = runs(new_store, 2.6)
    alive = profile(acc_len=2.6, acc_hist=[20, 30, 20, 10, 10, 10])
    table = best_steps(
        pl.DataFrame([alive] * 5), [decode(store, "spec")], [decode(store, "base")], contexts=[300]
    )
    six = table.filter(steps=6).row(0, named=True)
    assert six["extrapolated"]
    none = (1 + 0.8 + 0.5 + 0.3 + 0.2 + 0.1) / 7.3 * 4
    assert six["speedup_lo"] == pytest.approx(none, rel=1e-3)
    assert six["speedup"] > none
    assert six["speedup_hi"] > six["speedup"]


def test_without_profile_there_is_no_prediction(new_store: Make) -> None:
    store = runs(new_store)
    spec, base = [decode(store, "spec")], [decode(store, "base")]
    assert best_steps(pl.DataFrame([profile(topk=4)]), spec, base)["refused"].to_list() == [NO_PROFILE]
    one = best_steps(pl.DataFrame([profile(steps=1, acc_hist=[20, 80])] * 3), spec, base)
    assert "one draft step" in one["refused"][0]


def test_one_profile_window_does_not_tell_how_acceptance_scatters(new_store: Make) -> None:
    store = runs(new_store)
    spec, base = [decode(store, "spec")], [decode(store, "base")]
    assert best_steps(pl.DataFrame([profile()]), spec, base)["refused"].to_list() == [ONE_WINDOW]
    two = [profile(), profile(acc_hist=[22, 58, 20, 0, 0, 0])]
    assert best_steps(pl.DataFrame(two), spec, base)["refused"].null_count() > 0


def chances(windows: int, rho: float, seed: int) -> pl.DataFrame:
    """Profile windows of 400 rounds: the chance of each acceptance drifts about its mean."""
    rng, drift, rows = np.random.default_rng([seed, windows]), 0.0, []
    for place in range(windows):
        drift = rho * drift + (1 - rho**2 if place else 1.0) ** 0.5 * float(rng.standard_normal())
        alive = np.cumprod([1.0, *(np.array([0.75, 0.6, 0.5, 0.4, 0.3]) + 0.05 * drift)])
        counts = rng.multinomial(400, alive - np.append(alive[1:], 0))
        rows.append(profile(n=400, acc_hist=counts.tolist(), draft_ms=1.2 * (1 + 0.02 * drift)))
    return pl.DataFrame(rows)


@pytest.mark.parametrize(("windows", "rho"), [(3, 0.0), (12, 0.0), (40, 0.8)])
def test_intervals_of_other_steps_hold_the_truth(new_store: Make, windows: int, rho: float) -> None:
    """Windows were resampled one by one: of 40 that repeat each other 44 % of the intervals held it."""
    store = runs(new_store)
    sides = [Side([decode(store, name)], resamples=400) for name in ("spec", "base")]
    many = draft_of(chances(4000, 0.0, 1))
    assert not isinstance(many, str)
    truth, held = {steps: many.tau(steps).value for steps in (2, 5)}, 0
    for seed in range(50):
        table = best_steps(chances(windows, rho, seed), *sides, contexts=[300])
        two = table.filter(steps=2).row(0, named=True)
        inside = two["tau_lo"] <= truth[2] <= two["tau_hi"]
        gain = truth[2] / truth[5] * 7.0 / two["t_round_ms"]  # the draft's own cost is all but known here
        held += inside and two["over_own_lo"] <= gain * 1.002 and gain * 0.998 <= two["over_own_hi"]
    assert held >= 42


def test_what_other_steps_gain_over_the_own_ones(new_store: Make) -> None:
    store = runs(new_store)
    spec, base = [decode(store, "spec")], [decode(store, "base")]
    table = best_steps(chances(12, 0.0, 3), spec, base, contexts=[300])
    rows = {row["steps"]: row for row in table.iter_rows(named=True)}
    for row in rows.values():
        assert row["over_own"] == pytest.approx(row["speedup"] / rows[5]["speedup"])
        assert row["over_own_lo"] <= row["over_own"] <= row["over_own_hi"]
    assert rows[5]["over_own_lo"] == pytest.approx(1)
    assert rows[0]["over_own_hi"] == pytest.approx(1 / rows[5]["speedup_lo"])


def at_steps(new_store: Make, rounds: dict[int, float]) -> tuple[Store, dict[int, Side]]:
    """A plain run of 4 ms and speculative ones named by their steps, with their round times."""
    made = [frames("base", with_starts([window(1, x, 4.0, 1.0) for x in CONTEXTS]), speculative=False)]
    for steps, ms in rounds.items():
        rows = with_starts([window(1, x, ms, 2.0) for x in CONTEXTS])
        made.append(frames(f"spec-{steps}", rows, speculative=True))
    store = new_store(*made)
    return store, {steps: Side([decode(store, f"spec-{steps}")]) for steps in rounds}


def test_runs_with_other_steps_tell_what_a_step_costs(new_store: Make) -> None:
    # A step costs 0.5 ms by the runs, verify of one token more included; draft time alone would say 0.3.
    store, sides = at_steps(new_store, {5: 8.0, 2: 6.5, 3: 7.0})
    base, profile_of_five = Side([decode(store, "base")]), pl.DataFrame([profile()] * 5)
    others = {steps: side for steps, side in sides.items() if steps != 5}
    table = best_steps(profile_of_five, sides[5], base, contexts=[300], others=others)
    rows = {row["steps"]: row for row in table.iter_rows(named=True)}
    assert rows[2]["t_round_ms"] == pytest.approx(6.5)
    assert rows[1]["t_round_ms"] == pytest.approx(6.0)
    assert rows[6]["t_round_ms"] == pytest.approx(8.5)
    assert {row["step_from"] for row in rows.values()} == {"runs with 2, 3 and 5 steps"}
    assert rows[2]["step_ms"] == pytest.approx(0.5)
    assert rows[2]["step_ms_lo"] <= rows[2]["step_ms"] <= rows[2]["step_ms_hi"]
    assert rows[2]["draft_step_ms"] == pytest.approx(0.3)
    alone = best_steps(profile_of_five, sides[5], base, contexts=[300]).filter(steps=2).row(0, named=True)
    assert (alone["step_from"], alone["t_round_ms"]) == ("draft time", pytest.approx(8.0 - 3 * 0.3))


def test_one_step_learns_its_cost_from_another_run(new_store: Make) -> None:
    store, sides = at_steps(new_store, {1: 6.0, 3: 7.0})
    one = pl.DataFrame([profile(steps=1, acc_hist=[20, 80])] * 3)
    base = Side([decode(store, "base")])
    table = best_steps(one, sides[1], base, contexts=[300], others={3: sides[3]})
    assert table.filter(steps=2)["t_round_ms"].to_list() == pytest.approx([6.5])
    assert table.filter(steps=1)["draft_step_ms"].to_list() == [None]


def test_a_run_at_other_contexts_tells_nothing_about_a_step(new_store: Make) -> None:
    store, sides = at_steps(new_store, {5: 8.0})
    far = frames("far", with_starts([window(1, x + 4000, 6.5, 2.0) for x in CONTEXTS]), speculative=True)
    store.append(far)
    table = best_steps(
        pl.DataFrame([profile()] * 5),
        sides[5],
        Side([decode(store, "base")]),
        contexts=[300],
        others={2: Side([decode(store, "far")])},
    )
    assert set(table["step_from"]) == {"draft time"}


def best(*chosen: tuple[int, int]) -> pl.DataFrame:
    rows = [{"batch_size": b, "context": 400.0, "steps": k, "best": True} for b, k in chosen]
    return pl.DataFrame([*rows, {"batch_size": 1, "context": 400.0, "steps": 99, "best": False}])


def test_tables_as_server_configuration() -> None:
    table = best((1, 5), (8, 3), (32, 3), (64, 0))
    assert sglang_adaptive(table) == {
        "1": {"candidate_steps": [5]},
        "8": {"candidate_steps": [3]},
        "32": {"candidate_steps": [3]},
        "64": {"candidate_steps": [0]},
    }
    assert vllm_schedule(table) == [[1, 4, 5], [5, 47, 3], [48, 64, 0]]
    assert vllm_schedule(table, 512)[-1] == [48, 512, 0]
    assert vllm_schedule(table.filter(pl.col("steps") == 99)) == []


def test_best_steps_that_may_be_no_better_are_named() -> None:
    def row(size: int, context: float, steps: int, low: float, high: float) -> dict[str, Any]:
        found = {"batch_size": size, "context": context, "steps": steps, "best": True}
        return found | {"over_own": (low + high) / 2, "over_own_lo": low, "over_own_hi": high}

    sure = [row(1, 300, 2, 1.01, 1.09), row(8, 300, 5, 1.0, 1.0)]  # 5 are the run's own
    tied = [row(32, 300, 3, 0.99, 1.05), row(32, 600, 3, 0.95, 1.07)]
    assert unsure(pl.DataFrame(sure)) == []
    assert unsure(pl.DataFrame([*sure, *tied, row(64, 300, 0, 0.9, 1.3) | {"best": False}])) == [
        (32, 3, 0.95, 1.07)
    ]


def test_a_configuration_says_which_of_its_steps_are_not_shown_to_be_better(new_store: Make) -> None:
    """Four windows that differ tell little of what fewer steps would give."""
    plain = frames("base", with_starts([window(1, x, 4.0, 1.0) for x in CONTEXTS]), speculative=False)
    spec = frames("spec", with_starts([window(1, x, 7.0, 2.0) for x in CONTEXTS]), speculative=True)
    short, long = [20, 60, 20, 0, 0, 0], [20, 30, 15, 12, 12, 11]
    rows = [profile(acc_hist=counts) for counts in (short, long, short, short)]
    store = new_store(plain, spec, {"raw_profile_window": profiled("spec", rows)})
    target = store.target
    store._connection.close()
    words = ["--store", target, "whatif", "spec", "--vs", "base", "--format"]
    for fmt in ("sglang", "vllm"):
        done = CliRunner().invoke(cli, [*words, fmt])
        assert done.exit_code == 0
        assert re.search(r"not shown to be better .*: batch 1: \d \(0\.\d\d to 1\.\d\d\)", done.stderr), fmt
    assert "not shown to be better" not in CliRunner().invoke(cli, [*words, "json"]).stderr


def test_crossings_are_intervals_and_there_may_be_several() -> None:
    sizes = [1, 2, 4, 8, 16, 32, 64]
    levels = pl.DataFrame({"batch_size": sizes, "speedup": [1.52, 1.51, 1.43, 0.80, 0.75, 1.23, 1.23]})
    assert crossings(levels).rows() == [(4, 8, "stops paying", True), (16, 32, "starts paying", True)]


def test_a_crossing_spans_the_sizes_that_tie() -> None:
    levels = pl.DataFrame(
        {
            "batch_size": [1, 8, 16, 32],
            "speedup": [1.4, 1.02, 0.99, 0.8],
            "speedup_lo": [1.3, 0.97, 0.95, 0.75],
            "speedup_hi": [1.5, 1.07, 1.03, 0.85],
        }
    )
    assert crossings(levels).rows() == [(1, 32, "stops paying", True)]
    assert crossings(levels.head(3)).rows() == [(8, 16, "stops paying", False)]
    assert crossings(levels.head(1)).is_empty()


def test_unequal_concurrency_interpolates_the_baseline_or_refuses(new_store: Make) -> None:
    plain = [w for b, t in ((1, 4.0), (8, 5.4)) for w in [window(b, x, t, 1.0) for x in CONTEXTS]]
    spec = [w for b, t in ((4, 7.0), (16, 9.0)) for w in [window(b, x, t, 2.0) for x in CONTEXTS]]
    store = new_store(
        frames("base", with_starts(plain), speculative=False),
        frames("spec", with_starts(spec), speculative=True),
    )
    table = unequal(Side([decode(store, "spec")]), Side([decode(store, "base")]))
    four, sixteen = table.iter_rows(named=True)
    assert four["between"] == [1, 8]
    assert four["t_base_ms"] == pytest.approx(4.0 + 3 / 7 * 1.4)
    assert four["speedup"] == pytest.approx(2.0 * 4.6 / 7.0)
    assert four["speedup_lo"] == pytest.approx(2.0 * 4.0 / 7.0, rel=1e-3)
    assert four["speedup_hi"] == pytest.approx(2.0 * 5.4 / 7.0, rel=1e-3)
    assert sixteen["speedup"] is None
    assert "outside the baseline's batch sizes (1, 8)" in sixteen["refused"]


@pytest.mark.parametrize("eager", [True, False])
def test_a_size_with_graphs_is_not_read_between_one_with_and_one_without(
    new_store: Make, eager: bool
) -> None:
    """A baseline that captured up to batch 4 ran batch 8 without graphs: no number comes from that step."""
    plain = [window(1, x, 4.0, 1.0) for x in CONTEXTS]
    plain += [window(8, x, 19.0, 1.0, graph=not eager) for x in CONTEXTS]
    spec = [window(4, x, 7.0, 2.0) for x in CONTEXTS]
    store = new_store(
        frames("base", with_starts(plain), speculative=False),
        frames("spec", with_starts(spec), speculative=True),
    )
    (row,) = unequal(Side([decode(store, "spec")]), Side([decode(store, "base")])).iter_rows(named=True)
    if not eager:
        assert row["t_base_ms"] == pytest.approx(4.0 + 3 / 7 * 15.0)
        return
    assert row["speedup"] is None
    assert (
        row["refused"] == "a neighbour of the baseline ran without CUDA graphs there, the candidate with them"
    )


def ab_lines(overhead: float, count: int = 8) -> pl.DataFrame:
    """On windows at contexts 100, 300, ... and off windows between, a round growing with context."""
    rows = []
    for place in range(count):
        on = (7 + 0.002 * (100 + 200 * place)) * (1 + overhead)
        off = 7 + 0.002 * (200 * place)
        rows.append(
            {"line_no": 10 * place, "n_on": 50, "n_off": 50, "period_on_ms": on, "period_off_ms": off}
            | {"overhead_pct": 100 * (on / off - 1)}
        )
    return pl.DataFrame(rows)


@pytest.mark.parametrize("overhead", [0.0, 0.005])
def test_ab_overhead_at_equal_context(overhead: float) -> None:
    found = ab_overhead(ab_lines(overhead), [])
    assert found is not None
    assert found.pct == pytest.approx(100 * overhead, abs=1e-6)
    assert found.naive_pct > 100 * overhead + 2
    assert found.n == 7


def test_ab_pairs_across_a_prefill_or_of_pooled_windows_do_not_count() -> None:
    lines = ab_lines(0.0)
    found = ab_overhead(lines, [35])
    assert found is not None
    assert found.n == 6
    assert ab_overhead(lines, [5, 15, 25, 35, 45]) is None
    pooled = lines.with_columns(n_on=pl.when(pl.col("line_no") == 30).then(100).otherwise(pl.col("n_on")))
    again = ab_overhead(pooled, [])
    assert again is not None
    assert again.n == 5


def fit(bs: float, rounds: int, pct: float, ci: str, **more: Any) -> dict[str, Any]:
    line = {"rank": 0, "bs": bs, "n_on": rounds, "n_off": rounds, "period_on_ms": 4.0 * (1 + pct / 100)}
    return line | {"period_off_ms": 4.0, "overhead_pct": pct, "ci95_pct": ci} | more


def test_the_cost_that_the_profiler_fitted_itself() -> None:
    """Each line holds all blocks so far: the last of its batch size counts."""
    lines = [fit(1, 200, 0.4, "-3.5,4.3"), fit(8, 200, 1.9, "1.0,2.8"), fit(1, 400, 0.2, "-0.4,0.9")]
    lines += [fit(1, 400, 9.0, "8.0,10.0", rank=3), fit(1.5, 900, 7.0, "6,8"), fit(1, 900, 7.0, "na")]
    at_one, at_eight, elsewhere = (fitted_overhead(lines, size) for size in (1, 8, 64))
    assert at_one is not None
    assert (at_one[0].pct, at_one[0].pct_lo, at_one[0].pct_hi, at_one[0].n, at_one[1]) == (
        0.2,
        -0.4,
        0.9,
        400,
        1,
    )
    assert at_eight is not None
    assert (at_eight[0].pct, at_eight[1]) == (1.9, 8)
    assert elsewhere == at_one
    assert fitted_overhead([fit(1, 200, 0.4, "")], 1) is None
    assert fitted_overhead([], None) is None


def test_verify_is_held_against_steps_at_the_same_contexts() -> None:
    """A run that went on to longer contexts had its verify held against steps at short ones."""
    spec = [profile(seq=c, verify_ms=4.0 + c / 1000, cycle_ms=6.0 + c / 1000) for c in range(200, 4000, 100)]
    plain = [
        profile(
            kind="decode", steps=0, seq=c, fwd_ms=3.0 + c / 4000, cycle_ms=3.1, draft_ms=None, verify_ms=None
        )
        for c in range(200, 700, 100)
    ]
    found = summary(pl.DataFrame(spec), pl.DataFrame(plain)).row(0, named=True)
    assert found["verify_ratio"] == pytest.approx(4.4 / 3.1)
    assert found["verify_ms"] == pytest.approx(4.0 + 2.05, rel=1e-3)
    far = pl.DataFrame([row | {"seq": row["seq"] + 9000} for row in plain])
    assert summary(pl.DataFrame(spec), far)["verify_ratio"].to_list() == [None]
