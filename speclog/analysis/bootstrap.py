"""Moving-block bootstrap of a line's residuals: how far round time and accept length could be off.

The windows' contexts stay where they are; blocks of consecutive residuals (Künsch 1989, circular) are laid
end to end over them. A block carries the residuals of round time and of accept length together. Because the
line is linear in the residuals, a resample costs one addition a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speclog.analysis.line import Floats

AT_ONCE = 64
"""Places whose blocks are looked up together: what is found stays in a core's cache."""


@dataclass(frozen=True)
class Draws:
    """Deviations from the estimate, one a resample."""

    mean_ms: Floats  # of the line's height at the mean context
    slope_ms_per_token: Floats
    tau: Floats

    def round_ms(self, offset: float | Floats) -> Floats:
        """Deviation of the line ``offset`` tokens away from the mean context (an array gives rows)."""
        return self.mean_ms + np.multiply.outer(offset, self.slope_ms_per_token)

    def __add__(self, other: Draws) -> Draws:
        return Draws(
            self.mean_ms + other.mean_ms,
            self.slope_ms_per_token + other.slope_ms_per_token,
            self.tau + other.tau,
        )


def variance_of(draws: Floats) -> float:
    """Variance of draws; numpy's own takes four times as long for as few as these, and it is asked often."""
    off = draws - draws.mean()
    return float(off @ off) / len(draws)


@dataclass(frozen=True)
class Residuals:
    """What is resampled: residuals of one run in order of time, and the weights they enter with."""

    round_ms: Floats
    tau: Floats
    mean_weight: Floats  # of each position in the line's height at the mean context
    slope_weight: Floats
    tau_weight: Floats


def block_draws(residuals: Residuals, length: int, resamples: int, rng: np.random.Generator) -> Draws:
    """Lay circular blocks of ``length`` residuals over the run's positions, ``resamples`` times."""
    n = len(residuals.round_ms)
    length = min(length, n)
    places = -(-n // length)
    starts = rng.integers(0, n, (resamples, places), dtype=np.uint32)
    starts = starts.T.astype(np.intp, order="C")  # one place's after the other, as they are looked up
    return Draws(
        _laid(residuals.round_ms, residuals.mean_weight, length, starts),
        _laid(residuals.round_ms, residuals.slope_weight, length, starts),
        _laid(residuals.tau, residuals.tau_weight, length, starts),
    )


def pool_draws(
    residuals: Residuals, pool: tuple[Floats, Floats], resamples: int, rng: np.random.Generator
) -> Draws:
    """Draw every residual by itself from a ``pool`` (round_ms, tau) that the run's other levels share."""
    picked = rng.integers(0, len(pool[0]), (resamples, len(residuals.mean_weight)))
    round_ms, tau = pool[0][picked], pool[1][picked]
    return Draws(
        round_ms @ residuals.mean_weight, round_ms @ residuals.slope_weight, tau @ residuals.tau_weight
    )


def _laid(values: Floats, weights: Floats, length: int, starts: np.ndarray) -> Floats:
    """Sum of weight times value a resample, of circular blocks laid end to end.

    ``starts``: for each place, one a resample. At every place the sum of every block is worked out once and
    then looked up; where all weights are equal it is the same at all places but the last.
    """
    n, places = len(values), len(starts)
    blocks = values[(np.arange(n) + np.arange(length)[:, None]) % n]
    weight = np.zeros(places * length)
    weight[:n] = weights
    laid: Floats = np.zeros(starts.shape[1])
    alike = places - 1 if (weights == weights[0]).all() else 0
    sums = weight[:length] @ blocks
    for first in range(0, alike, AT_ONCE):
        laid += sums.take(starts[first : min(first + AT_ONCE, alike)], mode="clip").sum(axis=0)
    found = np.empty_like(laid)
    for place, at_place in enumerate(weight.reshape(places, length)[alike:], start=alike):
        np.dot(at_place, blocks, out=sums)
        laid += sums.take(starts[place], out=found, mode="clip")
    return laid
