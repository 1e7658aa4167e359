"""The statistics, against exact values and known truths."""

import numpy as np
import pytest

from speclog.analysis import dependence
from speclog.analysis.line import bands, robust_line
from speclog.analysis.scatter import misfit
from speclog.analysis.steady import settled
from speclog.analysis.student import satterthwaite, t_quantile


@pytest.mark.parametrize(
    ("probability", "dof", "value"),
    [
        (0.975, 1, 12.70620),
        (0.975, 2, 4.302653),
        (0.975, 3, 3.182446),
        (0.975, 4, 2.776445),
        (0.95, 5, 2.015048),
        (0.975, 10, 2.228139),
        (0.995, 30, 2.749996),
        (0.6, 8, 0.2619211),
        (0.025, 10, -2.228139),
        (0.975, float("inf"), 1.959964),
    ],
)
def test_t_quantile_against_tables(probability: float, dof: float, value: float) -> None:
    assert t_quantile(probability, dof) == pytest.approx(value, rel=2e-4)


def test_t_quantile_is_smooth_between_one_and_two() -> None:
    values = [t_quantile(0.975, dof) for dof in (1, 1.25, 1.5, 1.75, 2, 2.5)]
    assert values == sorted(values, reverse=True)


def test_satterthwaite_of_equal_parts_adds_degrees_of_freedom() -> None:
    assert satterthwaite([1.0, 1.0], [5, 5]) == pytest.approx(10)
    assert satterthwaite([1.0, 1e-12], [5, 500]) == pytest.approx(5)


def test_lag1_of_a_known_process() -> None:
    rng = np.random.default_rng(0)
    values = np.zeros(20_000)
    for place in range(1, len(values)):
        values[place] = 0.7 * values[place - 1] + rng.standard_normal()
    assert dependence.lag1([values]) == pytest.approx(0.7, abs=0.02)
    # Two ranks side by side: pairs are formed within a rank, never across.
    assert dependence.lag1([values[:10_000], values[10_000:]]) == pytest.approx(0.7, abs=0.02)
    assert dependence.lag1([values[:7]]) is None
    assert dependence.lag1([np.ones(30)]) is None


def test_widening_without_correlation_is_the_usual_correction() -> None:
    assert dependence.widening(20, 1, 0.0, 2) == pytest.approx(np.sqrt(20 / 18))


def test_variance_of_a_mean_of_two() -> None:
    assert dependence.mean_variance(2, 0.5) == pytest.approx((1 + 1 + 2 * 0.5) / 4)


def test_line_ignores_a_quarter_of_bad_windows() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(100, 900, 60)
    y = 5 + 0.002 * x + 0.01 * rng.standard_normal(60)
    bad = rng.choice(60, 15, replace=False)
    y[bad] *= rng.uniform(1.2, 4, 15)
    line = robust_line(x, y)
    assert not line.kept[bad].any()
    assert line.at(500.0) == pytest.approx(6.0, rel=2e-3)


def test_a_single_window_is_its_own_line() -> None:
    line = robust_line(np.array([300.0]), np.array([5.0]))
    assert (line.a_ms, line.c_ms_per_token) == (5.0, 0.0)


def test_misfit_is_found_where_a_line_misses_stairs() -> None:
    rng = np.random.default_rng(4)
    x = np.tile(np.arange(160.0, 800, 80), 8)
    noise = 0.005 * rng.standard_normal(len(x))
    stairs = np.tile(0.05 * np.array([1.0, -1, 1, -1, 1, -1, 1, -1]), 8)
    variance, free = misfit(x, stairs + noise)
    # Eight contexts, each off by 0.05 however many windows: their mean varies by 0.05^2 / 8, fitted on 6.
    assert variance == pytest.approx(0.05**2 / 6, rel=0.05)
    assert free == 6
    assert misfit(x, noise)[0] < variance / 50
    assert misfit(x[:6], noise[:6]) == (0.0, 1.0)


def test_bands_split_where_contexts_more_than_double() -> None:
    assert bands(np.array([4100.0, 130, 640, 4581])).tolist() == [2, 1, 1, 2]
    assert bands(np.arange(100.0, 20_000, 400)).max() == 1
    assert bands(np.array([500.0])).tolist() == [1]


def test_steady_states() -> None:
    rng = np.random.default_rng(2)
    noise = 0.005 * rng.standard_normal(100)
    assert settled(noise).state == "steady"
    warm = noise.copy()
    warm[:15] += 0.04
    found = settled(warm)
    assert (found.state, found.warmup) == ("warm-up", 15)
    assert found.off_pct == pytest.approx(4, abs=0.5)
    assert settled(noise + np.linspace(0, 0.08, 100)).state == "no steady state"
    assert settled(noise[:19]).state == "too short to tell"


def test_noise_is_rarely_called_unsteady() -> None:
    rng = np.random.default_rng(3)
    states = [settled(0.01 * rng.standard_normal(60)).state for _ in range(200)]
    assert states.count("steady") >= 190
