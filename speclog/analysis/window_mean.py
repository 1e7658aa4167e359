"""Means over windows, and ratios of them, with the interval that few windows in a row can give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt

import numpy as np

from speclog.analysis import dependence
from speclog.analysis.line import Floats
from speclog.analysis.student import satterthwaite, t_quantile

MIN_WINDOWS = 2
MIN_DOF = 1.5
"""However much windows repeat each other (as in `scatter`)."""


@dataclass(frozen=True)
class Mean:
    """A mean over the windows of a run, its standard error and the degrees of freedom of that."""

    value: float
    error: float
    dof: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | tuple[None, None]:
        """Student's t interval, within-run; None where the windows do not tell how they scatter."""
        if not self.error < inf:
            return None, None
        half = t_quantile(0.5 + confidence / 2, self.dof) * self.error
        return self.value - half, self.value + half


def mean(values: Floats, weights: Floats, runs: Floats | None = None) -> Mean:
    """Weighted mean of windows in order of time; neighbours may repeat each other (`dependence`)."""
    return ratio(values, np.ones(len(values)), weights, runs)


def ratio(top: Floats, bottom: Floats, weights: Floats, runs: Floats | None = None) -> Mean:
    """Ratio of two weighted means over the same windows: their scatter about it, by linearisation.

    ``sum(w x) / sum(w y)`` has the deviations ``w (x - R y) / sum(w y)``; those of windows that repeat each
    other count as fewer. ``runs``: a number a window, equal within a run (None: all of one). What runs differ
    by is left out: the interval is within-run. Raises ValueError without a window.
    """
    if not len(top):
        raise ValueError("a mean needs a window")
    whole = float((weights * bottom).sum())
    value = float((weights * top).sum()) / whole
    residuals = weights * (top - value * bottom) / whole
    return Mean(value, *scatter(residuals, np.zeros(len(top)) if runs is None else runs))


def scatter(
    deviations: Floats, groups: Floats, *, fitted: int = 1, borrow: bool = False
) -> tuple[float, float]:
    """Standard error of a sum over windows, each counted about the mean of its group, and its freedom.

    ``deviations``: what each window adds to the sum, in order of time; ``groups``: a number a window;
    ``fitted``: parameters that were fitted to each group. Windows of a group that repeat each other count as
    fewer. The error is infinite where a group has no more windows than parameters; with ``borrow`` its
    windows scatter as those of the other groups do.
    """
    parts = [deviations[groups == group] for group in np.unique(groups)]
    told = [_variance(one, fitted) for one in parts if not borrow or len(one) > fitted]
    lone = sum(len(one) for one in parts if borrow and len(one) <= fitted)
    if not told or not sum(one for one, _ in told) < inf:
        return inf, 1.0
    variance = sum(one for one, _ in told)
    dof = satterthwaite([one for one, _ in told], [dof for _, dof in told])
    return sqrt(variance * (1 + lone / (len(deviations) - lone))), dof


def _variance(residuals: Floats, fitted: int) -> tuple[float, float]:
    """Variance of the sum of one group's windows, and its degrees of freedom; infinite with too few."""
    n = len(residuals)
    if n <= fitted:
        return inf, 1.0
    off = residuals - residuals.mean()
    rho = dependence.unbiased(dependence.lag1([off]), n)
    variance = float((off**2).sum()) * n / (n - fitted) * n * dependence.mean_variance(n, rho)
    return variance, max(MIN_DOF, dependence.effective_n(n, rho) - fitted)


def quotient(top: Mean, bottom: Mean) -> Mean:
    """A mean over another one that is independent of it."""
    value = top.value / bottom.value
    relative = [top.error / abs(top.value) if top.value else inf, bottom.error / abs(bottom.value)]
    if not hypot(*relative) < inf:
        return Mean(value, inf, 1.0)
    dof = satterthwaite([one**2 for one in relative], [top.dof, bottom.dof])
    return Mean(value, abs(value) * hypot(*relative), dof)


def spans(name: str, found: Mean | None, most: float = inf) -> dict[str, float | None]:
    """``name``, ``name_lo``, ``name_hi``; None where nothing was found. A share lies in 0 to ``most``."""
    low, high = found.interval() if found is not None else (None, None)
    if most < inf:
        low, high = (None if end is None else min(max(end, 0.0), most) for end in (low, high))
    return {name: None if found is None else found.value, f"{name}_lo": low, f"{name}_hi": high}


def columns(*names: str) -> Sequence[str]:
    """The columns that `spans` gives for some names."""
    return [f"{name}{end}" for name in names for end in ("", "_lo", "_hi")]
