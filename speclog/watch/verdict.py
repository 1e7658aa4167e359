"""What a live margin says, and what it does not: never more than a report on the same windows would."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import median

_FEWEST = 8  # windows, before anything is said: fewer do not tell how much they repeat each other
_SHORTEST = 1 / 1.05  # of a plain step: a shorter round is of another experiment (view impossible_pair)
_STARTS = 0.02  # two starts of one server differ by about one per cent, which no window of one start knows


def verdict(margins: Sequence[float], tau_stars: Sequence[float], *, unfair: bool) -> str:
    """``above`` or ``BELOW`` break-even only where the whole interval of the margin (tokens) is; else ``~``.

    The interval is that of the mean over the windows (`analysis.window_mean`), of which those that repeat
    their neighbours count as fewer, and at least 2 % of break-even. Unlike servers are ``unfair``; a round
    shorter than a step is impossible.
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
    half = max(_half_width(margins), _STARTS * median(tau_stars))
    if abs(median(margins)) <= half:
        return f"{middle} ~ break-even"
    return f"{middle} {'above' if median(margins) > 0 else 'BELOW'} break-even"


def impossible(tau_star: float) -> bool:
    """Whether a speculative round, by its break-even, would be shorter than a plain step."""
    return tau_star < _SHORTEST


def _half_width(margins: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean of margins that follow each other."""
    import numpy as np

    from speclog.analysis.window_mean import mean

    low, high = mean(np.array(margins), np.ones(len(margins))).interval()
    return inf if low is None or high is None else (high - low) / 2
