"""How sure a median round is, from what view ``level`` keeps of its windows."""

from __future__ import annotations

from math import inf, sqrt

from speclog.report.model import Row

ERRORS = 2
"""Standard errors to either side of a round: a 95 % interval of normal windows."""
STARTS = 0.01
"""What two starts of one server differ by, relatively: a standard deviation, where no repeats say more."""


def error(row: Row) -> float:
    """Relative standard error of a median round: from the windows' MAD, two windows counted as one.

    1.4826 MAD is a standard deviation, and a median's error is 1.2533 that of a mean (both: normal windows).
    Infinite with a single window, or an unknown spread. ``row``: round_ms, round_mad_ms, n_clean.
    """
    mad, n = row.get("round_mad_ms"), row.get("n_clean") or 0
    if mad is None or n < 2:
        return inf
    return float(1.2533 * 1.4826 * mad / sqrt(n / 2) / row["round_ms"])


def ends(row: Row) -> Row:
    """`ERRORS` standard errors around a round as low_ms and high_ms; None where there is no interval."""
    off = error(row)
    if off == inf:
        return {"low_ms": None, "high_ms": None}
    return {"low_ms": row["round_ms"] * (1 - ERRORS * off), "high_ms": row["round_ms"] * (1 + ERRORS * off)}
