"""What confounders are worth, on arms whose gains are known; nothing here reads a store."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speclog.analysis import shapley
from speclog.analysis.common import together
from speclog.analysis.contrast import contrast
from speclog.analysis.decompose import TERMS, decompose
from speclog.analysis.worth import acceptance, adjusted, effect, interaction
from tests.fairness.cells import arm, windows

BASE, BASE_WITH = windows(16.0, seed=1), windows(16.0 / 1.4, seed=2)
SPEC, SPEC_WITH = windows(30.0, 2.1, seed=3), windows(30.0 / 1.2, 2.1, seed=4)


def test_an_effect_is_the_ratio_of_round_times_with_an_interval() -> None:
    found = effect(arm(BASE), arm(BASE_WITH), 1)
    assert not isinstance(found, str)
    assert found.gain.value == pytest.approx(1.4, rel=0.005)
    assert found.gain.low < 1.4 < found.gain.high
    assert found.gain.high / found.gain.low < 1.02
    assert found.gain.kind == "within-run"
    assert found.without_ms / found.with_ms == pytest.approx(found.gain.value)
    back = effect(arm(BASE_WITH), arm(BASE), 1)
    assert not isinstance(back, str)
    assert back.gain.value == pytest.approx(1 / found.gain.value)


def test_repeats_on_one_side_are_said_and_widen() -> None:
    other = windows(16.0 / 1.43, seed=5)
    pooled = effect(arm(BASE), arm(BASE_WITH, other), 1)
    assert not isinstance(pooled, str)
    assert pooled.gain.kind == "partly between-run"
    assert pooled.gain.low < 1.4 < 1.43 < pooled.gain.high
    both = effect(arm(BASE, windows(16.1, seed=6)), arm(BASE_WITH, other), 1)
    assert not isinstance(both, str)
    assert both.gain.kind == "between-run"


def test_the_interaction_is_the_ratio_of_gains() -> None:
    found = interaction([arm(one) for one in (BASE, BASE_WITH, SPEC, SPEC_WITH)], 1)
    assert not isinstance(found, str)
    assert found.value == pytest.approx(1.2 / 1.4, rel=0.006)
    assert found.low < 1.2 / 1.4 < found.high < 1
    assert not found.tie
    alike = interaction([arm(one) for one in (BASE, BASE_WITH, SPEC, windows(30 / 1.4, 2.1, seed=9))], 1)
    assert not isinstance(alike, str)
    assert alike.tie
    with pytest.raises(ValueError, match="four cells"):
        interaction([arm(BASE)], 1)


def test_without_a_common_context_or_batch_size_there_is_no_number() -> None:
    far = windows(16.0, seed=1, start=5000)
    assert "no context is common" in str(effect(arm(BASE), arm(far), 1))
    assert "batch size 8" in str(effect(arm(BASE), arm(BASE_WITH), 8))
    assert "too few" in str(effect(arm(windows(16.0, n=3)), arm(BASE), 1))


def test_equal_acceptance_is_shown_by_equivalence_not_by_absence_of_significance() -> None:
    same = acceptance(arm(SPEC), arm(SPEC_WITH), 1)
    assert not isinstance(same, str)
    assert same.equivalent
    assert same.ratio.value == pytest.approx(1, abs=0.01)
    other = acceptance(arm(SPEC), arm(windows(25.0, 2.2, seed=7)), 1)
    assert not isinstance(other, str)
    assert not other.equivalent
    few = acceptance(
        arm(windows(30, 2.1, n=9, tau_noise=0.2)), arm(windows(25, 2.1, n=9, seed=8, tau_noise=0.2)), 1
    )
    assert not isinstance(few, str)
    assert few.ratio.tie  # no difference shown, and no equality either
    assert not few.equivalent


def test_the_adjusted_comparison_holds_only_if_both_gain_alike() -> None:
    found = adjusted(arm(SPEC), arm(BASE), arm(BASE_WITH), 1)
    assert not isinstance(found, str)
    assert found.round_ms.value == pytest.approx(30.0 / 1.4, rel=0.01)
    assert found.speedup.value == pytest.approx(2.1 * 16 / 30, rel=0.01)
    assert found.if_no_gain == pytest.approx(2.1 * 16 / 1.4 / 30, rel=0.01)
    assert found.needed_gain == pytest.approx(30 * 1.4 / 16 / 2.1, rel=0.01)
    assert found.if_no_gain * found.needed_gain == pytest.approx(1)


def test_a_contrast_is_linear_in_logarithms() -> None:
    read = together([arm(BASE), arm(BASE_WITH), arm(SPEC)], 1)
    assert not isinstance(read, str)
    weights = (0.5, -1.5, 1.0)
    value = math.exp(sum(w * math.log(a.round_ms) for w, a in zip(weights, read.arms, strict=True)))
    assert contrast(read.arms, weights).value == pytest.approx(value)
    speed = contrast(read.arms[:1], (1,), quantity="speed").value
    assert speed == pytest.approx(read.arms[0].tau / read.arms[0].round_ms)
    with pytest.raises(ValueError, match="one weight"):
        contrast(read.arms, (1,))


@given(
    st.integers(1, 4).flatmap(lambda k: st.lists(st.floats(-3, 3), min_size=2**k, max_size=2**k)),
)
def test_shares_are_means_over_all_orders_and_add_up(values: list[float]) -> None:
    players = list("abcd"[: len(values).bit_length() - 1])
    v = dict(zip(shapley.coalitions(players), values, strict=True))
    shares = {p: sum(w * v[s] for s, w in shapley.weights(players, p).items()) for p in players}
    orders = list(permutations(players))
    for player in players:
        gains = [
            v[frozenset(order[: i + 1])] - v[frozenset(order[:i])]
            for order in orders
            for i in [order.index(player)]
        ]
        assert shares[player] == pytest.approx(np.mean(gains), abs=1e-9)
    assert sum(shares.values()) == pytest.approx(v[frozenset(players)] - v[frozenset()], abs=1e-9)


def test_shares_are_not_identified_while_a_setting_is_missing() -> None:
    measured = [frozenset(), frozenset("a"), frozenset("ab")]
    assert shapley.missing(list("ab"), measured) == [frozenset("b")]
    with pytest.raises(ValueError, match="at most 6"):
        shapley.weights(list("abcdefg"), "a")


@settings(max_examples=20, deadline=None)
@given(
    st.floats(1.0, 6.0), st.floats(5.0, 40.0), st.integers(1, 64), st.integers(1, 64), st.floats(3.0, 30.0)
)
def test_the_terms_of_a_throughput_change_add_up_exactly(
    tau: float, spec_ms: float, spec_b: int, base_b: int, base_ms: float
) -> None:
    spec = pl.concat([windows(spec_ms, tau, batch_size=spec_b, n=12), windows(spec_ms * 1.3, tau, n=8)])
    found = decompose(spec, windows(base_ms, batch_size=base_b, n=10))
    assert not isinstance(found, str)
    assert [term.name for term in found.terms] == list(TERMS)
    assert sum(term.log for term in found.terms) == pytest.approx(found.total.log, abs=1e-12)
    b, t, x = spec["running_req"], spec["round_ms"] / 1000, spec["tau"]
    expected = float((b * x).sum() / t.sum())
    assert found.tok_s_candidate == pytest.approx(expected)
    assert found.total.factor == pytest.approx(found.tok_s_candidate / found.tok_s_baseline)


def test_a_capped_arm_shows_in_occupancy_alone() -> None:
    full, capped = windows(20.0, batch_size=64, n=20), windows(20.0, batch_size=48, n=20)
    found = decompose(capped, full)
    assert not isinstance(found, str)
    parts = {term.name: term for term in found.terms}
    assert parts["occupancy"].factor == pytest.approx(48 / 64)
    assert parts["occupancy"].low == pytest.approx(parts["occupancy"].high)
    assert parts["round_time"].low < 0 < parts["round_time"].high
    assert "4 are needed" in str(decompose(windows(20.0, n=3), full))


@pytest.mark.parametrize("n", [4, 8, 12])
def test_terms_of_a_few_windows_hold_the_truth(n: int) -> None:
    """Blocks of a few windows were resampled as they stood: four of five intervals held it."""
    truth, held = np.log(2.1 / 7.4 * 4.8), {"throughput": 0, "accept_length": 0, "round_time": 0}
    wanted = {"throughput": truth, "accept_length": np.log(2.1), "round_time": -np.log(7.4 / 4.8)}
    for seed in range(100):
        arms = [windows(7.4, 2.1, n=n, seed=seed), windows(4.8, n=n, seed=seed + 1000)]
        level = [arm.with_columns(context=pl.lit(400.0), round_ms=_level(arm)) for arm in arms]
        found = decompose(*level)
        assert not isinstance(found, str)
        for term in (found.total, *found.terms[:2]):
            held[term.name] += term.low <= wanted[term.name] <= term.high
    assert min(held.values()) >= 88


def _level(arm: pl.DataFrame) -> pl.Expr:
    """Rounds as they would be at context 400."""
    return pl.col("round_ms") / (1 + (pl.col("context") - 400) / 20000)


def test_a_growing_context_is_not_scatter_and_one_lone_batch_size_has_that_of_the_others() -> None:
    spec, base = windows(7.4, 2.1, n=40), windows(4.8, n=40)
    steep = spec.with_columns(round_ms=pl.col("round_ms") * (1 + pl.col("context") / 400))
    found, alone = (
        decompose(steep, base),
        decompose(pl.concat([spec, windows(9.0, 2.1, batch_size=4, n=1)]), base),
    )
    assert not isinstance(found, str)
    assert not isinstance(alone, str)
    for one in (found, alone):
        assert 0 < one.terms[1].high - one.terms[1].low < 0.02
    lone = pl.concat([windows(7.4, 2.1, batch_size=b, n=1) for b in range(1, 6)])
    nothing = decompose(lone, base)
    assert not isinstance(nothing, str)
    assert nothing.total.high == np.inf
