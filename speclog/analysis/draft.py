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
    gives ``tau_needed``. ``basis``: 'measured' positions, or 'alike' (every position taken to be accepted
    alike, from the accept length alone: right in sum, not in shape).
    """

    tau: float
    tau_needed: float
    steps: int
    now: tuple[float, ...]
    needed: tuple[float, ...] | None
    factor: float | None
    basis: str

    @property
    def possible(self) -> bool:
        """Whether any draft with these steps reaches ``tau_needed``."""
        return self.factor is not None


def needed(
    tau: float, tau_needed: float, steps: int, survivals: Sequence[float] | None = None
) -> Needed | None:
    """What a draft of ``steps`` at topk 1 with accept length ``tau`` must become to reach ``tau_needed``.

    ``survivals``: measured P(accepted >= i); without them every position counts as accepted alike
    (`theory.acceptance_for`). Scaling is from the accept length they add up to, so that a histogram of other
    windows than those of ``tau`` shifts nothing. None where the accept length is none that these steps give.
    """
    basis = "measured" if survivals and survivals[0] > 0 else "alike"
    if basis == "measured" and survivals:
        now = tuple(survivals)
    else:
        alpha = theory.acceptance_for(tau, steps)
        if alpha is None:
            return None
        now = tuple(alpha**i for i in range(1, steps + 1))
    wanted = tau_needed * theory.accept_length(now) / tau
    factor = theory.draft_factor(now, wanted)
    chain = None if factor is None else tuple(theory.scaled(now, factor))
    return Needed(tau, tau_needed, steps, now, chain, factor, basis)
