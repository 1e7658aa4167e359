"""One decode round on its way from the worker's entry to a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Marks in stream order; consecutive differences and the gap to the next round's START add up to the cycle.
START, DRAFTED, VERIFY, VERIFIED, ACCEPTED, END = range(6)

# The parts that a round's time is split into, in stream order. `pre` and `post` stand for everything
# before and after the target's forward where a worker has no draft or verify method to tell more.
PARTS = ("pre", "draft", "vprep", "verify", "accept", "post", "extend")


class Round:
    """A round: the marks, and what was known when it ran."""

    __slots__ = (
        "accepted",
        "bs",
        "context",
        "draft_tokens",
        "extended",
        "graphs",
        "host_ms",
        "kind",
        "marks",
        "next",
        "resolved",
        "steps",
        "t_host",
        "t_wall",
        "tag",
        "topk",
    )

    def __init__(self, kind: str, bs: int, t_host: float, t_wall: float) -> None:
        self.kind = kind
        self.bs = bs
        self.t_host = t_host
        """perf_counter at entry, in seconds."""
        self.t_wall = t_wall
        """Unix time at entry, in seconds."""
        self.marks: list[Any] = [None] * 6
        self.host_ms: float = 0.0
        """Host time from entry to return, in ms."""
        self.steps = self.topk = self.draft_tokens = 0
        self.extended = False
        """Whether the re-extend ran."""
        self.graphs: tuple[bool | None, bool | None, bool | None] = (None, None, None)
        """Ran as a CUDA graph: verify (or the forward), draft, re-extend; None where it cannot be known."""
        self.accepted: list[int] | None = None
        """Drafts accepted per request, without the bonus token."""
        self.context: int | None = None
        """Tokens of all requests before this round."""
        self.resolved = False
        """Whether the scheduler has processed the round's result."""
        self.next: Round | None = None
        """The round that followed at once with the same batch size, if one did."""
        self.tag: Any = None
        """The batch's number where results cannot carry the round (0.4.x)."""


def parts_ms(round_: Round, ms: Callable[[Any, Any], float], drafts: bool) -> dict[str, float]:
    """Split a finished round into `fwd` (all of it) and the parts of `PARTS` that its marks allow, in ms.

    `drafts` says whether the worker has a draft method: if it has, a round without a draft mark did not draft
    (adaptive, 0 steps) and the time before the forward is preparation.
    """
    start, drafted, verify, verified, accepted, end = round_.marks
    parts = {"fwd": ms(start, end)}
    if round_.kind != "spec" or verify is None or verified is None:
        return parts
    if drafted is not None:
        parts["draft"] = ms(start, drafted)
        parts["vprep"] = ms(drafted, verify)
    else:
        parts["vprep" if drafts else "pre"] = ms(start, verify)
    parts["verify"] = ms(verify, verified)
    if accepted is None:
        parts["post"] = ms(verified, end)
    elif round_.extended:
        parts["accept"] = ms(verified, accepted)
        parts["extend"] = ms(accepted, end)
    else:
        parts["accept"] = ms(verified, end)
    return parts
