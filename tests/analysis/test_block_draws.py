"""The bootstrap's sums, against blocks laid out one by one."""

from __future__ import annotations

import numpy as np
import pytest

from speclog.analysis.bootstrap import AT_ONCE, Residuals, block_draws
from speclog.analysis.line import Floats

RESAMPLES = 40


def laid_out(values: Floats, weights: Floats, length: int, starts: Floats) -> list[float]:
    """Each resample's residuals, written down block by block, cut to the run's length, then weighed."""
    n = len(values)
    sums = []
    for of_resample in starts:
        drawn = [values[(int(start) + k) % n] for start in of_resample for k in range(length)]
        sums.append(float(np.dot(drawn[:n], weights)))
    return sums


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(
    ("n", "length"), [(1, 1), (5, 7), (90, 13), (AT_ONCE * 3, 3), (AT_ONCE * 3 + 1, 3), (AT_ONCE * 5 + 2, 2)]
)
def test_sums_are_those_of_blocks_laid_end_to_end(n: int, length: int, alike: bool) -> None:
    made = np.random.default_rng(n)
    even = np.full(n, 1 / n)
    residuals = Residuals(
        round_ms=made.normal(size=n),
        tau=made.normal(size=n),
        mean_weight=even if alike else made.random(n),
        slope_weight=made.normal(size=n),
        tau_weight=even,
    )
    draws = block_draws(residuals, length, RESAMPLES, np.random.default_rng(1))
    block = min(length, n)
    starts = np.random.default_rng(1).integers(0, n, (RESAMPLES, -(-n // block)))
    for found, values, weights in (
        (draws.mean_ms, residuals.round_ms, residuals.mean_weight),
        (draws.slope_ms_per_token, residuals.round_ms, residuals.slope_weight),
        (draws.tau, residuals.tau, residuals.tau_weight),
    ):
        assert found == pytest.approx(laid_out(values, weights, block, starts), rel=1e-9, abs=1e-12)
