"""How good the draft model must be: what break-even asks of accept length and of every position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speclog.analysis import theory


@dataclass(frozen=True)
class Needed:
    """What an accept length asks of the draft.

    ``now`` and ``needed`` hold P(accepted >= i), i = 1..steps; ``factor`` is what every conditional
    acceptance P(i | i-1) is multiplied with (capped at 1) to get from one to the other: above 1 the draft
    must become better, below 1 it could be worse. ``needed`` and ``factor`` are None where no acceptance
    gives ``tau_needed``. ``factor_lo`` and ``factor_hi`` are its interval, that of the speedup carried over
    with the positions held as they are; None where none was given, or no acceptance reaches its end.
    ``basis``: 'measured' positions, or 'alike' (every position taken to be accepted alike, from the accept
    length alone: right in sum, not in shape).
    """

    tau: float
    tau_needed: float
    steps: int
    now: tuple[float, ...]
    needed: tuple[float, ...] | None
    factor: float | None
    basis: str
    factor_lo: float | None = None
    factor_hi: float | None = None

    @property
    def first(self) -> tuple[float | None, float | None]:
        """P(accepted >= 1) needed, at the ends of the factor's interval."""
        return _first(self.now, self.factor_lo), _first(self.now, self.factor_hi)

    @property
    def possible(self) -> bool:
        """Whether any draft with these steps reaches ``tau_needed``."""
        return self.factor is not None


def needed(
    tau: float,
    tau_needed: float,
    steps: int,
    survivals: Sequence[float] | None = None,
    *,
    speedup: tuple[float | None, float | None] = (None, None),
) -> Needed | None:
    """What a draft of ``steps`` at topk 1 with accept length ``tau`` must become to reach ``tau_needed``.

    ``survivals``: measured P(accepted >= i); without them every position counts as accepted alike
    (`theory.acceptance_for`). Scaling is from the accept length they add up to, so that a histogram of other
    windows than those of ``tau`` shifts nothing. ``speedup``: the interval of tau / tau_needed. None where
    the accept length is none that these steps give.
    """
    basis = "measured" if survivals else "alike"
    if basis == "measured" and survivals:
        now = tuple(survivals)
    else:
        alpha = theory.acceptance_for(tau, steps)
        if alpha is None:
            return None
        now = tuple(alpha**i for i in range(1, steps + 1))
    reached = theory.accept_length(now)
    factor = theory.draft_factor(now, tau_needed * reached / tau)
    chain = None if factor is None else tuple(theory.scaled(now, factor))
    high, low = (None if not end else theory.draft_factor(now, reached / end) for end in speedup)
    return Needed(tau, tau_needed, steps, now, chain, factor, basis, low, high)


def _first(now: Sequence[float], factor: float | None) -> float | None:
    return None if factor is None else theory.scaled(now, factor)[0]
