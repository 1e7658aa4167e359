"""Round time as a straight line of context: the one estimator that everything else rests on.

The database computes the same line in view ``level_line``; a test keeps the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

N_BINS = 16
TRIM_MADS = 5.0
MAD_TO_SIGMA = 1.4826  # of a normal distribution
TRIM_FLOOR = 0.001  # of the typical round: rounding of the printed throughput alone must not trim
BAND_FACTOR, BAND_TOKENS = 2.0, 512.0


@dataclass(frozen=True)
class Line:
    """``round_ms = a_ms + c_ms_per_token * context`` and the windows it rests on (``kept``)."""

    a_ms: float
    c_ms_per_token: float
    kept: Bools

    def at(self, context: float | Floats) -> float | Floats:
        """Round time in ms at a context in tokens a request."""
        return self.a_ms + self.c_ms_per_token * context


def bands(context: Floats) -> NDArray[np.int64]:
    """Number the band (1, 2, ... upwards) of each window by its context in tokens.

    A new band starts where the next larger context is more than twice the one below plus 512 tokens, as
    between 128-token prompts and one of 4096: no line may be drawn across such a gap.
    """
    order = np.argsort(context, kind="stable")
    ordered = context[order]
    jumps = ordered[1:] > BAND_FACTOR * ordered[:-1] + BAND_TOKENS
    numbers = np.empty(len(context), dtype=np.int64)
    numbers[order] = np.concatenate([[1], 1 + np.cumsum(jumps)])[: len(context)]
    return numbers


def robust_line(context: Floats, round_ms: Floats) -> Line:
    """Fit round time (ms) on context (tokens a request); at least one window is needed.

    Theil-Sen through the medians of at most 16 bins of context (Theil 1950, Sen 1968) finds the windows that
    are off: farther than 5 * 1.4826 * MAD + 0.1 % of the median round from the median residual. Least squares
    on the rest is the line. Windows must come in order of time: ties in context are binned in that order.
    Without spread of context the slope is 0 and ``a_ms`` the mean.
    """
    xs, ys = _bin_medians(context, round_ms)
    slope = _theil_sen(xs, ys)
    off = round_ms - float(np.median(ys - slope * xs)) - slope * context
    middle = np.median(off)
    reach = TRIM_MADS * MAD_TO_SIGMA * np.median(np.abs(off - middle)) + TRIM_FLOOR * np.median(round_ms)
    kept = np.abs(off - middle) <= reach
    a_ms, c_ms = least_squares(context[kept], round_ms[kept])
    return Line(a_ms, c_ms, kept)


def least_squares(x: Floats, y: Floats) -> tuple[float, float]:
    """Return (intercept, slope) of the least-squares line; slope 0 where ``x`` does not vary."""
    if x.max() <= x.min():
        return float(y.mean()), 0.0
    centred = x - x.mean()
    slope = float((centred * y).sum() / (centred * centred).sum())
    return float(y.mean() - slope * x.mean()), slope


def _bin_medians(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Medians of x and y in at most 16 bins of equal count, split as SQL's ``ntile`` splits."""
    order = np.argsort(x, kind="stable")
    bins = min(N_BINS, len(x))
    return (
        np.array([_middle(part) for part in np.array_split(x[order], bins)]),
        np.array([_middle(np.sort(part)) for part in np.array_split(y[order], bins)]),
    )


def _middle(ordered: Floats) -> float:
    """Median of a few sorted values: numpy's own takes ten times as long."""
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def _theil_sen(x: Floats, y: Floats) -> float:
    """Median of the slopes between all pairs of points with different x; 0 where there is none."""
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    rise = y[second] - y[first]
    return float(np.median(rise[run > 0] / run[run > 0])) if (run > 0).any() else 0.0
