"""Which windows of two arms may be compared: equal batch size, common contexts - or why none may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from speclog.analysis.side import Part, Side

MIN_WINDOWS = 2


@dataclass(frozen=True)
class Matched:
    """Two parts that share contexts (tokens a request)."""

    candidate: Part
    baseline: Part
    context_from: float
    context_to: float

    @property
    def context(self) -> float:
        """Middle of the common contexts, where the arms are compared."""
        return (self.context_from + self.context_to) / 2


def match(candidate: Side, baseline: Side, batch_size: int, *, mixed: bool | None = None) -> Matched | str:
    """The pair of parts to compare at a batch size, or why there is none (the words of view ``level_pair``).

    Of several pairs with common contexts: that whose smaller side has most windows, then the widest overlap;
    parts of unlike kinds (graphs, mixed lengths) meet only where nothing else is in common. ``mixed`` asks
    for batches of unequal or of equal requests.
    """
    mine, theirs = candidate.at(batch_size), baseline.at(batch_size)
    lacking = _lacking(mine, theirs, baseline, batch_size)
    if lacking:
        return lacking
    pairs = [
        Matched(c, b, max(c.context_min, b.context_min), min(c.context_max, b.context_max))
        for c in mine
        for b in theirs
        if mixed is None or c.mixed == b.mixed == mixed
    ]
    common = [pair for pair in pairs if pair.context_from <= pair.context_to]
    if not common:
        return _no_overlap(mine, theirs)
    best = min(common, key=_preference)
    return _unfit(best) or best


def _preference(pair: Matched) -> tuple[Any, ...]:
    c, b = pair.candidate, pair.baseline
    unlike = (c.eager, c.mixed) != (b.eager, b.mixed) or min(c.n, b.n) < MIN_WINDOWS
    return (unlike, -min(c.n, b.n), pair.context_from - pair.context_to, c.eager, b.eager, c.band, b.band)


NO_CONTEXT = (
    "the log of the {} prints no context lengths (#token): round times are compared at equal context only"
)


def _lacking(mine: list[Part], theirs: list[Part], baseline: Side, batch_size: int) -> str | None:
    if baseline.no_context:
        return NO_CONTEXT.format("baseline")
    if not baseline.batch_sizes:
        return "the baseline has no clean window at all"
    if not theirs:
        sizes = ", ".join(map(str, baseline.batch_sizes))
        return f"the baseline has no clean window at batch size {batch_size} (it has {sizes})"
    if not mine:
        return f"the candidate has no clean window at batch size {batch_size}"
    for name, parts in (("candidate", mine), ("baseline", theirs)):
        if sum(part.n for part in parts) < MIN_WINDOWS:
            return f"one clean window of the {name} at batch size {batch_size}: two are needed"
    return None


def _no_overlap(mine: list[Part], theirs: list[Part]) -> str:
    c, b = (max(parts, key=lambda part: part.n) for parts in (mine, theirs))
    return (
        f"no common context: candidate {c.context_min:.0f} to {c.context_max:.0f}, "
        f"baseline {b.context_min:.0f} to {b.context_max:.0f} tokens"
    )


def _unfit(pair: Matched) -> str | None:
    if min(pair.candidate.n, pair.baseline.n) < MIN_WINDOWS:
        return f"one clean window at the common context {pair.context:.0f} of one side: two are needed"
    if min(pair.candidate.at(pair.context), pair.baseline.at(pair.context)) <= 0:
        return "the fitted round time is not positive"
    return None
