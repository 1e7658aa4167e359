"""What a live margin says, and what it does not: never more than a report on the same windows would."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

_FEWEST = 5  # windows, before anything is said
_SHORTEST = 1 / 1.05  # of a plain step: a shorter round is of another experiment (view impossible_pair)
_STARTS = 0.02  # two starts of one server differ by about one per cent, which no window of one start knows
_REACH = 2.0  # standard errors


def verdict(margins: Sequence[float], tau_stars: Sequence[float], *, unfair: bool) -> str:
    """``above`` or ``BELOW`` break-even only where the whole interval of the margin (tokens) is; else ``~``.

    The interval is that of the mean over the windows, widened by how much neighbours repeat each other, and
    at least 2 % of break-even. Unlike servers are ``unfair``; a round shorter than a step is impossible.
    """
    if not margins:
        return "unknown"
    middle = f"{median(margins):+.2f}"
    if impossible(median(tau_stars)):
        return f"impossible ({median(tau_stars):.2f} of a step)"
    if unfair:
        return f"{middle} unfair"
    if len(margins) < _FEWEST:
        return f"{middle} few windows"
    half = max(_REACH * _standard_error(margins), _STARTS * median(tau_stars))
    if abs(median(margins)) <= half:
        return f"{middle} ~ break-even"
    return f"{middle} {'above' if median(margins) > 0 else 'BELOW'} break-even"


def impossible(tau_star: float) -> bool:
    """Whether a speculative round, by its break-even, would be shorter than a plain step."""
    return tau_star < _SHORTEST


def _standard_error(values: Sequence[float]) -> float:
    """Of the mean of values that follow each other, by their first autocorrelation (as an AR(1) process)."""
    n, mean = len(values), fmean(values)
    spread = sum((value - mean) ** 2 for value in values)
    if not spread:
        return 0.0
    beside = sum((a - mean) * (b - mean) for a, b in pairwise(values)) / spread
    repeats = min(max(beside, 0.0), 0.9)
    return math.sqrt(spread / (n - 1) / n * (1 + repeats) / (1 - repeats))
