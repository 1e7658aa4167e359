"""The bill of a candidate's phases: profiled rounds against the baseline's step at the same context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from speclog.report import sources
from speclog.report.charts import bill
from speclog.report.findings import plain
from speclog.report.model import Absent, Chart, Level, Pair, Section

if TYPE_CHECKING:
    import polars as pl

    from speclog.report.sides import Sides

CONFIDENCE = 0.95
EVERYWHERE = (0.0, float("inf"))


def chart(section: Section, sides: Sides, pair: Pair, profile: pl.DataFrame) -> Chart | Absent:
    """Fill in ``section.bill``, and draw it: each phase in tokens of the baseline's step.

    ``profile``: the candidate's rows of view ``profile_window``. The step is read at the context of the
    profiled rounds; where that is none that both arms cover, the rounds at such contexts alone are billed.
    """
    from speclog.analysis.phases import bill as phase_bill
    from speclog.analysis.phases import comparable, contexts

    if profile.is_empty():
        return bill.chart(pair, section.bill)
    levels = {level.batch_size: level for level in pair.levels if level.t_base_ms is not None}
    kept = comparable(profile, {size: _span(level) for size, level in levels.items()})
    whole = len(kept) == len(comparable(profile, dict.fromkeys(levels, EVERYWHERE)))
    at = contexts(kept)
    steps, ends = _steps(sides, pair, levels, at)
    rows = plain(phase_bill(kept, steps, ends))
    section.bill = [
        {**row, "context": at.get(row["batch_size"])} for row in rows if row["tokens"] is not None
    ]
    printed = ("*", "phase") if whole else ("*, seq / bs AS context", "profile_window")
    drawn = bill.chart(pair, section.bill, elsewhere=kept.is_empty() and not whole)
    return sources.sourced(
        drawn, "f-phases", sources.of_runs(*printed, [pair.candidate, *pair.candidate_repeats])
    )


def _span(level: Level) -> tuple[float, float]:
    """The contexts that both arms cover."""
    low, high = level.context_from, level.context_to
    return EVERYWHERE if low is None or high is None else (low, high)


def _steps(
    sides: Sides, pair: Pair, levels: Mapping[int, Level], contexts: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, tuple[float, float]]]:
    """The baseline's step in ms by batch size, at a context where it is given, and its interval."""
    from speclog.analysis.estimate import pair_at
    from speclog.analysis.matching import match

    both = [sides.side(arm) for arm in pair.arms]
    steps: dict[int, float] = {}
    ends: dict[int, tuple[float, float]] = {}
    for size, level in levels.items():
        matched = match(both[0], both[1], size) if size in contexts else ""
        known = None if isinstance(matched, str) else pair_at(matched, contexts[size], CONFIDENCE)
        if known is not None:
            steps[size], ends[size] = known.t_base_ms.value, known.t_base_ms.interval(CONFIDENCE)
        elif level.t_base_ms is not None:
            steps[size] = level.t_base_ms
            if level.t_base_ms_lo is not None and level.t_base_ms_hi is not None:
                ends[size] = level.t_base_ms_lo, level.t_base_ms_hi
    return steps, ends
