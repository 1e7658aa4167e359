"""Means over few windows: against closed forms, and how often their intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from speclog.analysis.chi_square import deviation_interval, quantile
from speclog.analysis.student import t_quantile
from speclog.analysis.window_mean import Mean, mean, quotient, ratio, spans


def test_windows_too_few_for_a_correlation_are_not_taken_for_independent() -> None:
    values = np.array([5.0, 5.2, 4.9, 5.1, 5.0, 5.3, 4.8])
    found = mean(values, np.ones(7))
    # of seven values with r = 0.5: (1 + 2 * sum((1 - k / 7) * 0.5 ** k)) / 7, and worth 7 / 3
    error = values.std(ddof=1) * math.sqrt((1 + 2 * sum((1 - k / 7) * 0.5**k for k in range(1, 7))) / 7)
    assert (found.value, found.error, found.dof) == pytest.approx((values.mean(), error, 1.5))
    half = t_quantile(0.975, 1.5) * error
    assert found.interval() == pytest.approx((values.mean() - half, values.mean() + half))


def test_a_window_of_more_rounds_weighs_more() -> None:
    assert mean(np.array([1.0, 4.0]), np.array([2.0, 1.0])).value == pytest.approx(2.0)
    assert ratio(np.array([1.0, 4.0]), np.array([2.0, 4.0]), np.ones(2)).value == pytest.approx(5 / 6)


def test_what_runs_differ_by_is_left_out() -> None:
    one, two = np.array([5.0, 5.2, 4.9, 5.1]), np.array([9.0, 9.2, 8.9, 9.1])
    both = mean(np.concatenate([one, two]), np.ones(8), np.repeat([0.0, 1.0], 4))
    assert both.value == pytest.approx(7.05)
    assert both.error == pytest.approx(mean(one, np.ones(4)).error / math.sqrt(2))


def test_a_single_window_has_no_interval() -> None:
    found = mean(np.array([5.0]), np.ones(1))
    assert found.interval() == (None, None)
    assert spans("ms", found) == {"ms": 5.0, "ms_lo": None, "ms_hi": None}
    assert spans("ms", None) == {"ms": None, "ms_lo": None, "ms_hi": None}
    assert quotient(found, Mean(2.0, 0.1, 5.0)).interval() == (None, None)
    with pytest.raises(ValueError, match="needs a window"):
        mean(np.array([]), np.array([]))


def test_a_share_stays_between_its_ends() -> None:
    assert spans("share", Mean(0.9, 0.2, 5.0), 1.0)["share_hi"] == 1.0


def test_a_quotient_adds_what_both_are_unsure_of() -> None:
    found = quotient(Mean(6.0, 0.3, 20.0), Mean(2.0, 0.05, 20.0))
    assert found.value == 3.0
    assert found.error == pytest.approx(3 * math.hypot(0.05, 0.025))


@pytest.mark.parametrize(("n", "rho", "most"), [(24, 0.0, 0.995), (24, 0.6, 0.995), (5, 0.5, 1), (7, 0.6, 1)])
def test_the_interval_holds_the_truth_as_often_as_it_says(n: int, rho: float, most: float) -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        noise = rng.standard_normal(n)
        for place in range(1, n):
            noise[place] = rho * noise[place - 1] + math.sqrt(1 - rho * rho) * noise[place]
        low, high = mean(10 + noise, np.ones(n)).interval()
        assert low is not None
        assert high is not None
        held += low <= 10 <= high
    assert 0.93 <= held / 1000 <= most


@pytest.mark.parametrize(
    ("probability", "dof", "value"),
    [(0.025, 1, 0.000982), (0.975, 1, 5.0239), (0.025, 2, 0.0506), (0.975, 2, 7.3778),
     (0.05, 10, 3.9403), (0.95, 10, 18.307), (0.5, 100, 99.3341)],
)  # fmt: skip
def test_chi_square_has_the_values_of_the_tables(probability: float, dof: float, value: float) -> None:
    assert quantile(probability, dof) == pytest.approx(value, rel=1e-3)


def test_a_deviation_from_two_starts_is_hardly_known() -> None:
    low, high = deviation_interval(0.0009, 2)
    assert (low, high) == pytest.approx(
        (0.0009 * math.sqrt(2 / 7.3778), 0.0009 * math.sqrt(2 / 0.0506)), rel=1e-3
    )
