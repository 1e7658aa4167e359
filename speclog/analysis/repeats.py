"""How many repeats would decide a comparison that is level so far."""

from __future__ import annotations

import math

MOST = 12
"""Repeats a side beyond which nobody waits: such a difference is better called equal, or left open."""


def needed(speedup: float, low: float, high: float, runs: int = 1) -> int | None:
    """Runs a side after which the interval of S would no longer hold 1, were S what it is now.

    The half-width of an interval falls with the root of the number of runs, so ``n >= runs * (h / |ln S|)^2``
    with ``h`` the half-width of ln S now (``low`` to ``high``, from ``runs`` a side); at least two, for one
    run says nothing of the next. A least number: what runs differ by is not in a within-run interval. None
    where more than `MOST` would be needed. Raises ValueError unless 0 < low <= speedup <= high.
    """
    if not 0 < low <= speedup <= high:
        raise ValueError("an interval holds its estimate, and a speedup is positive")
    effect = abs(math.log(speedup))
    if effect == 0:
        return None
    n = max(2, runs + 1, math.ceil(runs * (math.log(high / low) / 2 / effect) ** 2))
    return n if n <= MOST else None
