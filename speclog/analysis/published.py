"""What a published result may claim: no speedup above the accept length, no accept length above steps + 1.

A speculative round drafts and verifies several tokens, so it cannot be shorter than a plain step of the same
server: ``t_spec >= t_base``, and ``S = tau * t_base / t_spec <= tau``. A row beyond that was not one
experiment: its baseline ran under other conditions, or its accept length is not that of the run. Nor can a
round emit more than one token a draft step and the bonus token. Break-even of a possible row:
``tau_star = tau / S``.
"""

from __future__ import annotations

from dataclasses import dataclass

from speclog.analysis.theory import break_even_from

ROUNDING = 0.005  # tables print accept lengths with two digits
NOTHING = "published figures: nothing is recorded of how the two servers were run"


@dataclass(frozen=True)
class Judged:
    """A verdict on a published row: ``unfair`` with the reason when impossible, else ``unproven``."""

    verdict: str
    reason: str
    tau_star: float


def judge(
    accept_length: float, speedup: float, batch_size: int | None = None, steps: int | None = None
) -> Judged:
    """Judge one row; ``steps``: draft steps, if known. Raises ValueError unless both numbers are positive."""
    star = break_even_from(accept_length, speedup)
    at = f" at batch size {batch_size}" if batch_size is not None else ""
    if steps is not None and 0 < steps < accept_length - 1 - ROUNDING:
        most = f"{steps} draft steps give {steps + 1} tokens at most"
        return Judged("unfair", f"impossible: accept length {accept_length:.2f}{at}; {most}", star)
    if speedup <= accept_length:
        return Judged("unproven", NOTHING, star)
    beyond = 100 * (speedup / accept_length - 1)
    return Judged(
        "unfair",
        f"impossible: {speedup:.2f}x faster{at} with accept length {accept_length:.2f}, {beyond:.1f} % "
        "beyond it; a speculative round cannot be shorter than a plain step",
        star,
    )
