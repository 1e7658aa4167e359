"""Quantiles of Student's t, without scipy."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def t_quantile(probability: float, dof: float) -> float:
    """The value below which Student's t with ``dof`` degrees of freedom lies with this probability.

    ``probability`` lies in (0, 1), ``dof`` is at least 1 (smaller is read as 1) and may be fractional.
    Hill's algorithm 396 (CACM 1970) from 2 up, six digits; between 1 and 2 the two exact values are
    interpolated on a logarithmic scale in 1/dof.
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, dof)
    tail = 2 * (1 - probability)
    if tail >= 1:
        return 0.0
    if dof < 2:
        return _below_two(tail, max(dof, 1.0))
    return _two(tail) if dof == 2 else _hill(tail, dof)


def expansion(confidence: float, dof: float) -> float:
    """By how much a normal interval must be widened to be a t interval with ``dof`` degrees of freedom."""
    probability = 0.5 + confidence / 2
    return t_quantile(probability, dof) / _NORMAL.inv_cdf(probability)


def satterthwaite(variances: list[float], dofs: list[float]) -> float:
    """Degrees of freedom of a sum of independent variance estimates (Satterthwaite 1946)."""
    total = sum(variances)
    parts = sum(variance**2 / dof for variance, dof in zip(variances, dofs, strict=True))
    return total**2 / parts if parts > 0 else math.inf


def _two(tail: float) -> float:
    return math.sqrt(2 / (tail * (2 - tail)) - 2)


def _below_two(tail: float, dof: float) -> float:
    one = 1 / math.tan(tail * math.pi / 2)
    weight = (1 / dof - 0.5) / 0.5
    return math.exp(weight * math.log(one) + (1 - weight) * math.log(_two(tail)))


def _hill(tail: float, dof: float) -> float:
    if math.isinf(dof) or dof > 1e6:
        return -_NORMAL.inv_cdf(tail / 2)
    a = 1 / (dof - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * dof
    y = (d * tail) ** (2 / dof)
    if y > 0.05 + a:
        return math.sqrt(dof * math.expm1(_near_centre(tail, dof, a, b, c, d)))
    inner = 1 / (((dof + 6) / (dof * y) - 0.089 * d - 0.822) * (dof + 2) * 3) + 0.5 / (dof + 4)
    return math.sqrt(dof * ((inner * y - 1) * (dof + 1) / (dof + 2) + 1 / y))


def _near_centre(tail: float, dof: float, a: float, b: float, c: float, d: float) -> float:
    x = _NORMAL.inv_cdf(tail / 2)
    y = x * x
    if dof < 5:
        c += 0.3 * (dof - 4.5) * (x + 0.6)
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return a * y * y
