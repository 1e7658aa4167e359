"""Has a run settled? Warm-up (JIT, clocks, caches) by a change point, drift by comparing halves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speclog.analysis import dependence
from speclog.analysis.line import Floats

MIN_WINDOWS = 20
MIN_SIDE = 3
NOTABLE_PCT = 1.0
SURE = 4.0  # standard errors: the cut was looked for


@dataclass(frozen=True)
class Steady:
    """What a sequence of windows looks like.

    ``state``: 'steady', 'warm-up' (the first ``warmup`` windows are off by ``off_pct``), 'no steady state'
    (it moves by ``off_pct``) or 'too short to tell' (fewer than 20 windows).
    """

    state: str
    warmup: int = 0
    off_pct: float = 0.0


def settled(values: Floats) -> Steady:
    """Judge windows in order of time; ``values`` are relative (0.01 = 1 % above the run's own line).

    The change point is the cut whose two sides differ most in standardised mean (CUSUM; Page 1954). It
    counts only if they differ by more than 1 % and 4 standard errors, the correlation of windows considered.
    An early cut with a quiet rest is a warm-up; a late cut, a rest that moves, or a trend means that there is
    no steady state, which is an answer (Barrett et al. 2017: often there is none).
    """
    if len(values) < MIN_WINDOWS:
        return Steady("too short to tell")
    cut, off = _step(values)
    if off and cut <= len(values) / 2 and _quiet(values[cut:]):
        return Steady("warm-up", cut, 100 * off)
    trend = _trend(values)
    if off or trend:
        return Steady("no steady state", 0, 100 * max(off, trend, key=abs))
    return Steady("steady")


def _quiet(values: Floats) -> bool:
    return len(values) >= MIN_WINDOWS // 2 and not _step(values)[1] and not _trend(values)


def _step(values: Floats) -> tuple[int, float]:
    """Where two sides differ most, and the first mean less the second (0 unless notable and sure)."""
    n = len(values)
    cuts = np.arange(MIN_SIDE, n - MIN_SIDE + 1)
    sums = np.cumsum(values - values.mean())[cuts - 1]
    cut = int(cuts[np.argmax(np.abs(sums) / np.sqrt(cuts * (n - cuts)))])
    first, second = values[:cut], values[cut:]
    error = np.sqrt(1 / cut + 1 / (n - cut)) * _sigma([first - first.mean(), second - second.mean()])
    return cut, _believed(float(first.mean() - second.mean()), error)


def _trend(values: Floats) -> float:
    """Change along a straight line from the first to the last window (0 unless notable and sure)."""
    n = len(values)
    place = np.arange(n) - (n - 1) / 2
    slope = float((place * values).sum() / (place**2).sum())
    error = n / np.sqrt((place**2).sum()) * _sigma([values - values.mean() - slope * place])
    return _believed(slope * n, error)


def _believed(difference: float, error: float) -> float:
    return difference if abs(difference) > max(SURE * error, NOTABLE_PCT / 100) else 0.0


def _sigma(residuals: list[Floats]) -> float:
    """Standard deviation of residuals, enlarged as if they were independent."""
    n = sum(map(len, residuals))
    rho = dependence.unbiased(dependence.lag1(residuals), n)
    power = sum(float((part**2).sum()) for part in residuals) / (n - 2)
    return float(np.sqrt(power * n / dependence.effective_n(n, rho)))
