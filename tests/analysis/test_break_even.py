"""Intervals of break-even, and that Python and SQL compute the same point."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from made_up import frames, window, with_starts

from speclog.analysis.breakeven import break_even_intervals
from speclog.analysis.context import tau_star_curve
from speclog.analysis.processes import process_scatter
from speclog.analysis.side import Side
from speclog.store import Store

Make = Callable[..., Store]
SAME = ("context_from", "context_to", "context", "n_candidate", "n_baseline", "tau", "t_spec_ms", "t_base_ms")
SAME += ("tau_star", "margin_tokens", "margin_ms", "margin_pct", "speedup")


def messy(seed: int, *, speculative: bool) -> list[dict[str, Any]]:
    """A run with outliers, two bands of context, two ranks, mixed graphs and an uneven tail."""
    rng = np.random.default_rng(seed)
    tau = 2.1 if speculative else 1.0
    rows = []
    for batch_size, count in ((1, 37), (8, 12), (4, 3), (5, 1), (int(rng.integers(16, 20)), 9)):
        for place in range(count):
            if place % 10 == 0:  # another request; in between each rank's tokens grow as decoding makes them
                far = 4000 if batch_size == 1 and place == 20 else 0
                begun = float(rng.choice([150, 300, 450])) + far
            context = begun + 20 * (place % 10)
            noise = 1 + 0.01 * rng.standard_normal() + (0.5 if rng.random() < 0.08 else 0)
            t = (4 + 3 * speculative + 0.002 * context) * noise
            near = max(1.0, tau + 0.05 * rng.standard_normal() * speculative)
            rows.append(
                window(batch_size, context, t, near, dp_rank=place % 2, graph=bool(rng.random() < 0.8))
            )
    return with_starts(rows)


def decode(store: Store, name: str) -> pl.DataFrame:
    return store.frame("SELECT * FROM decode_window WHERE run = ?", [name])


def test_sql_and_python_are_one_estimator(new_store: Make) -> None:
    names = {"base": False, "base2": False, "spec": True, "spec2": True}
    store = new_store(
        *(
            frames(name, messy(place, speculative=spec), speculative=spec)
            for place, (name, spec) in enumerate(names.items())
        )
    )
    compared = refused = 0
    columns, everything = store.result("SELECT * FROM level_pair ORDER BY batch_size")
    pair = columns.index("candidate_name"), columns.index("baseline_name")
    windows = {name: decode(store, name) for name in names}
    for candidate, baseline in permutations(names, 2):
        rows = [row for row in everything if (row[pair[0]], row[pair[1]]) == (candidate, baseline)]
        ours = break_even_intervals([windows[candidate]], [windows[baseline]], resamples=50)
        assert len(rows) == len(ours) > 0
        for row, mine in zip(rows, ours.iter_rows(named=True), strict=True):
            theirs = dict(zip(columns, row, strict=True))
            assert theirs["refused"] == mine["refused"]
            assert theirs["batch_size"] == mine["batch_size"]
            if theirs["refused"]:
                refused += 1
                continue
            compared += 1
            for name in SAME:
                assert mine[name] == pytest.approx(theirs[name], rel=1e-9), name
    assert compared > 20
    assert refused > 5


def noisy(rng: np.random.Generator, a: float, c: float, n: int, r: float, tau: float) -> list[dict[str, Any]]:
    """A run whose round times and accept lengths scatter by 1 and 3 % with lag-1 correlation r."""
    context = 170.0 + np.arange(n) % 9 * 40
    waves = np.zeros((2, n))
    step = rng.standard_normal((2, n))
    waves[:, 0] = step[:, 0]
    for place in range(1, n):
        waves[:, place] = r * waves[:, place - 1] + np.sqrt(1 - r * r) * step[:, place]
    times = (a + c * context) * (1 + 0.01 * waves[0])
    taus = np.full(n, tau) if tau == 1 else tau * (1 + 0.03 * waves[1])
    return with_starts([window(1, x, t, u) for x, t, u in zip(context, times, taus, strict=True)])


def made(new_store: Make, seed: int = 5, n: int = 60, r: float = 0.5) -> Store:
    rng = np.random.default_rng(seed)
    return new_store(
        frames("base", noisy(rng, 4.6, 0.0005, n, r, 1.0), speculative=False),
        frames("again", noisy(rng, 4.6, 0.0005, n, r, 1.0), speculative=False),
        frames("spec", noisy(rng, 6.5, 0.0022, n, r, 2.1), speculative=True),
        frames("spec-again", noisy(rng, 6.5, 0.0022, n, r, 2.1), speculative=True),
    )


def test_interval_holds_the_truth_and_the_seed_fixes_it(new_store: Make) -> None:
    store = made(new_store)
    spec, base = decode(store, "spec"), decode(store, "base")
    row = break_even_intervals([spec], [base]).row(0, named=True)
    truth = (6.5 + 0.0022 * row["context"]) / (4.6 + 0.0005 * row["context"])
    assert row["tau_star_lo"] < truth < row["tau_star_hi"]
    assert row["speedup_lo"] < 2.1 / truth < row["speedup_hi"]
    assert row["tau_lo"] < 2.1 < row["tau_hi"]
    assert 0.0 < row["speedup_hi"] - row["speedup_lo"] < 0.1
    assert row["p_win"] == 1.0
    assert (row["tie"], row["equivalent"], row["interval_kind"]) == ("", False, "within-run")
    assert row["lag1_candidate"] == pytest.approx(0.5, abs=0.25)
    assert row["n_eff_candidate"] < 40
    assert row["caveats"] == []
    again = break_even_intervals([spec], [base]).row(0, named=True)
    assert again == row
    assert break_even_intervals([spec], [base], seed=1).row(0, named=True)["speedup_lo"] != row["speedup_lo"]


def test_arms_that_are_equal_to_the_last_digit_have_even_odds(new_store: Make) -> None:
    steps = [window(1, 300 + 20 * place, 5.0) for place in range(20)]
    rounds = [window(1, 300 + 20 * place, 10.0, 2.0) for place in range(20)]
    store = new_store(
        frames("base", with_starts(steps), speculative=False),
        frames("spec", with_starts(rounds), speculative=True),
    )
    row = break_even_intervals([decode(store, "spec")], [decode(store, "base")]).row(0, named=True)
    assert (row["speedup"], row["tie"], row["p_win"], row["equivalent"]) == (1.0, "~", 0.5, True)


def test_a_run_against_its_repeat_ties_and_is_equivalent(new_store: Make) -> None:
    store = made(new_store, n=120, r=0.3)
    row = break_even_intervals([decode(store, "again")], [decode(store, "base")]).row(0, named=True)
    assert row["tie"] == "~"
    assert row["equivalent"] is True
    assert 0.01 < row["p_win"] < 0.99


def test_not_significant_is_not_called_equal(new_store: Make) -> None:
    rng = np.random.default_rng(5)
    store = new_store(
        frames("base", noisy(rng, 4.6, 0.0005, 8, 0.0, 1.0), speculative=False),
        frames("spec", noisy(rng, 9.6, 0.0010, 8, 0.0, 2.1), speculative=True),
    )
    row = break_even_intervals([decode(store, "spec")], [decode(store, "base")]).row(0, named=True)
    assert row["tie"] == "~"
    assert row["equivalent"] is False


def test_repeats_on_both_sides_are_between_run_and_not_narrower(new_store: Make) -> None:
    store = made(new_store)
    slow = decode(store, "spec-again").with_columns(pl.col("round_ms") * 1.05)
    base = [decode(store, "base"), decode(store, "again")]
    one = break_even_intervals([decode(store, "spec")], base).row(0, named=True)
    two = break_even_intervals([decode(store, "spec"), slow], base).row(0, named=True)
    assert (one["interval_kind"], two["interval_kind"]) == ("within-run", "between-run")
    width = [row["speedup_hi"] - row["speedup_lo"] for row in (one, two)]
    assert width[1] > 3 * width[0]


def test_scatter_of_processes_from_pairs_started_twice(new_store: Make) -> None:
    store = new_store(
        *(
            frames(name, with_starts([window(1, x, t, 1.0) for x in range(200, 600, 10)]), speculative=False)
            for name, t in (("one", 5.0), ("two", 5.1))
        )
    )
    sides = [Side([decode(store, name)]) for name in ("one", "two")]
    found = process_scatter([(sides[0], sides[1])], 1)
    assert found == (pytest.approx(np.log(1.02) / np.sqrt(2)), 1.0)
    assert process_scatter([(sides[0], sides[1])], 8) is None


def test_thin_levels_borrow_scatter_and_say_so(new_store: Make) -> None:
    rng = np.random.default_rng(7)
    thin = [window(8, x, 8.0 + 0.004 * x, 2.1) for x in (230, 300)]
    store = new_store(
        frames("base", with_starts([window(8, x, 4.9, 1.0) for x in range(200, 400, 10)]), speculative=False),
        frames("spec", noisy(rng, 6.5, 0.0022, 40, 0.0, 2.1) + with_starts(thin), speculative=True),
    )
    row = break_even_intervals([decode(store, "spec")], [decode(store, "base")]).filter(batch_size=8)
    assert row["refused"][0] is None
    assert row["speedup_hi"][0] - row["speedup_lo"][0] > 0.005
    assert any("borrowed" in text for text in row["caveats"][0])
    assert any("only 2 clean windows" in text for text in row["caveats"][0])


def test_two_windows_and_nothing_else_are_refused(new_store: Make) -> None:
    rng = np.random.default_rng(7)
    thin = with_starts([window(1, x, 8.0 + 0.004 * x, 2.1) for x in (230, 300)])
    store = new_store(
        frames("base", noisy(rng, 4.6, 0.0005, 40, 0.0, 1.0), speculative=False),
        frames("spec", thin, speculative=True),
    )
    row = break_even_intervals([decode(store, "spec")], [decode(store, "base")]).row(0, named=True)
    assert row["speedup"] is None
    assert "too few clean windows" in row["refused"]


def test_curve_spans_the_common_contexts_and_marks_what_lies_outside(new_store: Make) -> None:
    store = made(new_store)
    spec, base = [decode(store, "spec")], [decode(store, "base")]
    curve = tau_star_curve(spec, base, 1)
    assert len(curve) == 41
    assert not curve["extrapolated"].any()
    assert (curve["tau_star_lo"] < curve["tau_star"]).all()
    assert (curve["tau_star"] < curve["tau_star_hi"]).all()
    assert curve["tau_star"].is_sorted()
    far = tau_star_curve(spec, base, 1, contexts=[400, 4000])
    assert far["extrapolated"].to_list() == [False, True]
    widths = (far["tau_star_hi"] - far["tau_star_lo"]).to_list()
    assert widths[1] > 3 * widths[0]
    assert tau_star_curve(spec, base, 64).is_empty()


def test_warm_up_inside_is_named(new_store: Make) -> None:
    rng = np.random.default_rng(11)
    rows = noisy(rng, 4.6, 0.0005, 80, 0.0, 1.0)
    for row in rows[1:12]:  # of which one begins the next request
        row["gen_tok_s"] /= 1.06
    store = new_store(
        frames("base", rows, speculative=False),
        frames("spec", noisy(rng, 6.5, 0.0022, 60, 0.0, 2.1), speculative=True),
    )
    row = break_even_intervals([decode(store, "spec")], [decode(store, "base")]).row(0, named=True)
    assert [text for text in row["caveats"] if "baseline: its first 10 windows are +" in text]
