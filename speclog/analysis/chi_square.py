"""Quantiles of chi-square, without scipy, and the interval of a standard deviation that they give."""

from __future__ import annotations

import math


def deviation_interval(sd: float, dof: float, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a normal standard deviation estimated with ``dof`` degrees of freedom.

    ``sd * sqrt(dof / q)`` with the two chi-square quantiles q. From few starts it is wide, and upwards wider.
    """
    tail = 0.5 - confidence / 2
    high, low = (math.sqrt(dof / quantile(p, dof)) for p in (tail, 1 - tail))
    return sd * low, sd * high


def quantile(probability: float, dof: float) -> float:
    """The value below which chi-square with ``dof`` degrees of freedom lies with this probability."""
    low, high = 0.0, max(4.0, 2 * dof)
    while _below(high, dof) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, dof) < probability else (low, middle)
    return (low + high) / 2


def _below(value: float, dof: float) -> float:
    """Distribution function: the regularised lower incomplete gamma function, by its power series."""
    if value <= 0:
        return 0.0
    a, x = dof / 2, value / 2
    term = total = 1 / a
    n = 0
    while term > total * 1e-15:
        n += 1
        term *= x / (a + n)
        total += term
    return min(1.0, total * math.exp(-x + a * math.log(x) - math.lgamma(a)))
