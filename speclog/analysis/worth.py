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
    without: Span
    with_it: Span

    @property
    def without_ms(self) -> float:
        """Round time without the setting."""
        return self.without.value

    @property
    def with_ms(self) -> float:
        """Round time with the setting."""
        return self.with_it.value


@dataclass(frozen=True)
class Reading:
    """One arm at a batch size and context: round time in ms, and throughput in tok/s over its DP ranks."""

    batch_size: int
    context: float
    round_ms: Span
    tok_s: Span


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

    ``round_ms`` and ``speedup`` hold if the candidate gained as much as the baseline did; ``no_gain`` is the
    speedup if it gained nothing, ``needed`` what it must gain at least to draw level.
    """

    round_ms: Span
    speedup: Span
    no_gain: Span
    needed: Span

    @property
    def if_no_gain(self) -> float:
        """The speedup if the candidate gained nothing."""
        return self.no_gain.value

    @property
    def needed_gain(self) -> float:
        """What the candidate must gain to draw level."""
        return self.needed.value


def span(estimate: Estimate, kind: str, confidence: float = 0.95) -> Span:
    """An estimate's value and percentile interval."""
    return Span(estimate.value, *estimate.interval(confidence), kind)


def effect(without: Side, with_it: Side, batch_size: int, *, confidence: float = 0.95) -> Effect | str:
    """What a setting is worth to one arm: runs without it against runs with it; or why it cannot be said."""
    read = together([without, with_it], batch_size)
    if isinstance(read, str):
        return read
    gain = contrast(read.arms, (1, -1), confidence=confidence)
    times = (span(contrast([arm], [1], confidence=confidence), kind, confidence)
             for arm, kind in zip(read.arms, read.kinds, strict=True))  # fmt: skip
    return Effect(span(gain, read.kind, confidence), batch_size, read.context, *times)


def readings(cells: Sequence[Side], batch_size: int, *, confidence: float = 0.95) -> list[Reading] | str:
    """Round time and throughput of each cell at the context all share, or why they cannot be said.

    Throughput: ``b * tau / t`` of a data-parallel rank, times the ranks (docs/break-even.md).
    """
    read = together(cells, batch_size)
    if isinstance(read, str):
        return read
    made = []
    for arm, part, kind in zip(read.arms, read.parts, read.kinds, strict=True):
        ms = span(contrast([arm], [1], confidence=confidence), kind, confidence)
        speed = span(contrast([arm], [1], confidence=confidence, quantity="speed"), kind, confidence)
        scale = 1000.0 * batch_size * part.ranks
        tok_s = Span(scale * speed.value, scale * speed.low, scale * speed.high, kind)
        made.append(Reading(batch_size, read.context, ms, tok_s))
    return made


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
        _faster(read, (1, -1, 0), confidence),
        _faster(read, (1, 0, -1), confidence),
        _faster(read, (-1, 0, 1), confidence),
    )


def _faster(read: Together, weights: Sequence[float], confidence: float) -> Span:
    """The product of the arms' speeds by weights; an arm that weighs nothing does not count."""
    counted = [weight for weight in weights if weight]
    arms = [arm for arm, weight in zip(read.arms, weights, strict=True) if weight]
    speedup = contrast(arms, counted, confidence=confidence, quantity="speed")
    return span(speedup, read.kind, confidence)


def smallest_common_size(sides: Sequence[Side]) -> int | None:
    """The batch size at which sides are compared when nothing else is asked: the smallest they share."""
    return next(iter(common_sizes(sides)), None)
