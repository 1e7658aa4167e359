"""Student's t, as far as intervals of a few repeats need it; standard library only."""

import math
from collections.abc import Sequence
from statistics import fmean, variance


def quantile(level: float, freedom: float) -> float:
    """The t with P(|T| <= t) = ``level`` at ``freedom`` degrees of freedom, by bisection."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < level else (low, middle)
    return (low + high) / 2


def _inside(t: float, freedom: float) -> float:
    """P(|T| <= t), by Simpson's rule over atan(t / sqrt(freedom)), where the density is a power of cos."""
    end, n = math.atan(t / math.sqrt(freedom)), 400
    step = end / n
    values = [math.cos(i * step) ** (freedom - 1) for i in range(n + 1)]
    area = step / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(math.pi)
    return float(2 * math.exp(log_scale) * area)


def interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the mean of independent repeats; None for fewer than two."""
    if len(values) < 2:
        return None
    half = quantile(level, len(values) - 1) * math.sqrt(variance(values) / len(values))
    return fmean(values) - half, fmean(values) + half


def difference(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Welch's interval of mean(a) - mean(b); None when a side has fewer than two values.

    Source: B. L. Welch, Biometrika 34 (1947), degrees of freedom by Satterthwaite.
    """
    if len(a) < 2 or len(b) < 2:
        return None
    parts = [variance(v) / len(v) for v in (a, b)]
    total = sum(parts)
    middle = fmean(a) - fmean(b)
    if total == 0:
        return middle, middle
    freedom = total**2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (a, b), strict=True))
    half = quantile(level, freedom) * math.sqrt(total)
    return middle - half, middle + half
