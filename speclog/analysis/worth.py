"""What a confounder is worth: its effect on round time in each arm, and whether both arms gain alike.

Gain of a setting in an arm: ``t_without / t_with``, both at one batch size and context; x1.41 means the round
takes 1 / 1.41 of the time with the setting. Interaction: ``gain_candidate / gain_baseline``; 1 means that the
setting helps both arms alike. Everything here is measured; the adjusted comparison alone is an estimate, made
where the fourth cell is missing, and rests on the assumption that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speclog.analysis.common import Together, common_sizes, together
from speclog.analysis.contrast import contrast
from speclog.analysis.equivalence import equivalence_p
from speclog.analysis.estimate import Estimate
from speclog.analysis.side import Side

ALPHA = 0.05


@dataclass(frozen=True)
class Span:
    """An estimate with its interval and what kind of interval it is."""

    value: float
    low: float
    high: float
    kind: str

    @property
    def tie(self) -> bool:
        """Whether the interval holds 1: no difference is shown."""
        return self.low <= 1 <= self.high


@dataclass(frozen=True)
class Effect:
    """What a setting is worth to one arm at a batch size and context."""

    gain: Span
    batch_size: int
    context: float
    without_ms: float
    with_ms: float


@dataclass(frozen=True)
class Acceptance:
    """Does the setting change the accept length? Ratio with / without, and the equivalence test's verdict."""

    ratio: Span
    delta: float
    p: float

    @property
    def equivalent(self) -> bool:
        """Whether "it does not" may be said: two one-sided tests at 5 %."""
        return self.p < ALPHA


@dataclass(frozen=True)
class Adjusted:
    """An estimate, never a verdict: the candidate under the other setting, where nobody ran it.

    ``round_ms`` and ``speedup`` hold if the candidate gained as much as the baseline did; ``if_no_gain`` is
    the speedup if it gained nothing, ``needed_gain`` what it must gain at least to draw level.
    """

    round_ms: Span
    speedup: Span
    if_no_gain: float
    needed_gain: float


def span(estimate: Estimate, kind: str, confidence: float = 0.95) -> Span:
    """An estimate's value and percentile interval."""
    return Span(estimate.value, *estimate.interval(confidence), kind)


def effect(without: Side, with_it: Side, batch_size: int, *, confidence: float = 0.95) -> Effect | str:
    """What a setting is worth to one arm: runs without it against runs with it; or why it cannot be said."""
    read = together([without, with_it], batch_size)
    if isinstance(read, str):
        return read
    gain = contrast(read.arms, (1, -1), confidence=confidence)
    times = (arm.round_ms for arm in read.arms)
    return Effect(span(gain, read.kind, confidence), batch_size, read.context, *times)


def interaction(cells: Sequence[Side], batch_size: int, *, confidence: float = 0.95) -> Span | str:
    """Gain of the candidate over gain of the baseline, or why it cannot be said.

    ``cells``: baseline without the setting, baseline with it, candidate without, candidate with. Above 1 the
    candidate gains more. Raises ValueError when there are not four.
    """
    if len(cells) != 4:
        raise ValueError("an interaction needs four cells")
    read = together(cells, batch_size)
    if isinstance(read, str):
        return read
    return span(contrast(read.arms, (-1, 1, 1, -1), confidence=confidence), read.kind, confidence)


def acceptance(
    without: Side, with_it: Side, batch_size: int, *, delta: float = 0.02, confidence: float = 0.95
) -> Acceptance | str:
    """Whether a setting changes the accept length: equivalence within ``delta``, by two one-sided tests."""
    read = together([without, with_it], batch_size)
    if isinstance(read, str):
        return read
    ratio = contrast(read.arms, (-1, 1), confidence=confidence, quantity="tau")
    return Acceptance(span(ratio, read.kind, confidence), delta, equivalence_p(ratio, delta))


def adjusted(
    candidate: Side, without: Side, with_it: Side, batch_size: int, *, confidence: float = 0.95
) -> Adjusted | str:
    """The candidate under a setting that only the baseline was run with; or why it cannot be estimated.

    ``candidate`` ran without the setting, the baseline without and with it. If both gain alike, the
    candidate's speedup over the baseline with the setting is the one without it: ``tau * t_without /
    t_candidate``.
    """
    read = together([candidate, without, with_it], batch_size)
    if isinstance(read, str):
        return read
    round_ms = contrast(read.arms, (1, -1, 1), confidence=confidence)
    return Adjusted(
        span(round_ms, read.kind, confidence),
        _alike(read, confidence),
        read.arms[0].tau / read.arms[1].tau * read.arms[2].round_ms / read.arms[0].round_ms,
        read.arms[0].round_ms / read.arms[2].round_ms * read.arms[1].tau / read.arms[0].tau,
    )


def _alike(read: Together, confidence: float) -> Span:
    speedup = contrast(read.arms[:2], (1, -1), confidence=confidence, quantity="speed")
    return span(speedup, read.kind, confidence)


def smallest_common_size(sides: Sequence[Side]) -> int | None:
    """The batch size at which sides are compared when nothing else is asked: the smallest they share."""
    return next(iter(common_sizes(sides)), None)
