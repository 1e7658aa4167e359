"""Saying "no difference" on purpose: two one-sided tests instead of an absent significance."""

from __future__ import annotations

import numpy as np

from speclog.analysis.estimate import Estimate


def equivalence_p(speedup: Estimate, delta: float) -> float:
    """P value of two one-sided tests (Schuirmann 1987) that S lies between 1 / (1 + delta) and 1 + delta.

    The larger of P(S >= 1 + delta) and P(S <= 1 / (1 + delta)) over the draws; small means equal for all
    practical purposes. Raises ValueError unless delta is positive.
    """
    if delta <= 0:
        raise ValueError("delta, the difference that does not matter, must be positive")
    above = float(np.mean(speedup.draws >= 1 + delta))
    below = float(np.mean(speedup.draws <= 1 / (1 + delta)))
    return max(above, below)


def equivalent(speedup: Estimate, delta: float, alpha: float = 0.05) -> bool:
    """Whether "no difference" may be said: both one-sided tests reject at ``alpha``."""
    return equivalence_p(speedup, delta) < alpha
