"""Is a run slower than it was? Its speed against earlier runs of the same configuration.

Speed is tau / round time (tokens a request and ms), at equal batch size and context. A run has regressed at
a batch size when the whole interval of ``speed now / speed before`` lies below ``1 - threshold``. The
threshold is there because two processes of one server differ by about a per cent, which a within-run interval
does not know.

The same configuration: the same treatment, server arguments, workload, GPUs and topology, all known. What
else differs (versions, driver, variables) is what a regression may come from: it is listed, not excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from speclog.analysis.common import common_sizes, together
from speclog.analysis.contrast import contrast
from speclog.analysis.design import Records
from speclog.analysis.missing import CONSEQUENCES
from speclog.analysis.side import Side
from speclog.analysis.worth import Span, span

THRESHOLD = 0.02
HARDWARE = ("fact.gpu.", "fact.topology")
SUSPECTS = ("environment", "software")


@dataclass(frozen=True)
class Change:
    """Speed now over speed before at a batch size; ``why_not`` in place of numbers that cannot be had."""

    batch_size: int | None
    context: float | None = None
    ratio: Span | None = None
    regressed: bool = False
    why_not: str = ""


def changes(
    now: Side, before: Side, *, threshold: float = THRESHOLD, confidence: float = 0.95
) -> list[Change]:
    """One row a batch size that both have. Raises ValueError unless 0 <= threshold < 1."""
    if not 0 <= threshold < 1:
        raise ValueError("the threshold is a share from 0 up to below 1")
    sizes = common_sizes([now, before])
    if not sizes:
        return [Change(None, why_not="no batch size in common with clean windows")]
    return [_change(now, before, size, threshold, confidence) for size in sizes]


def _change(now: Side, before: Side, size: int, threshold: float, confidence: float) -> Change:
    read = together([now, before], size)
    if isinstance(read, str):
        return Change(size, why_not=read)
    ratio = span(contrast(read.arms, (1, -1), confidence=confidence, quantity="speed"), read.kind, confidence)
    return Change(size, read.context, ratio, ratio.high < 1 - threshold)


def suspects(records: Records, now: str, before: str) -> list[str] | None:
    """What differs between two runs of one configuration, sorted; None when they are not of one.

    Consequences (graphs ran, how many arguments a version has) are not listed.
    """
    apart = records.difference(now, before)
    settled = {name for name in apart.unknown if not name.startswith(CONSEQUENCES)}
    causes = {name for name in apart.confounders if not name.startswith(CONSEQUENCES)}
    fixed = {name for name in causes if records.classes[name] not in SUSPECTS or name.startswith(HARDWARE)}
    return None if apart.treatment or settled or fixed else sorted(causes)


def earlier(
    records: Records, run_id: str, started: Iterable[tuple[str, datetime | None]]
) -> tuple[list[str], list[str]]:
    """The runs before this one to hold it against, newest first, and what changed since.

    The newest earlier run of the same configuration and its repeats. ``started``: (run_id, start) of the runs
    that may be taken. Both lists are empty where there is none.
    """
    times = {other: at for other, at in started if at is not None}
    mine = times.get(run_id)
    if mine is None:
        return [], []
    order = sorted((other for other, at in times.items() if at < mine), key=lambda one: (times[one], one))
    for other in reversed(order):
        changed = suspects(records, run_id, other)
        if changed is not None:
            return [other, *reversed(records.like(other, order))], changed
    return [], []


def worst(found: Sequence[Change]) -> Change | None:
    """The change with the smallest ratio; None where none has a number."""
    numbered = [one for one in found if one.ratio is not None]
    return min(numbered, key=lambda one: one.ratio.value if one.ratio else 0.0) if numbered else None
