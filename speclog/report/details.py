"""What only a detailed section needs: intervals, factors, curves, phases, windows, and their charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from speclog.report import rows
from speclog.report.charts import acceptance, bill, break_even, concurrency, context, steps, timeline
from speclog.report.model import Absent, Chart, Level, Pair, Row, Run, Section

if TYPE_CHECKING:
    import polars as pl

    from speclog.analysis.side import Side
    from speclog.store import Store


class Sides:
    """Windows and statistics of runs, each read and resampled once a page."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._windows: dict[str, pl.DataFrame] = {}
        self._sides: dict[tuple[str, ...], Side] = {}

    def windows(self, run: Run) -> pl.DataFrame:
        """The decode windows of a run (view ``decode_window``), in log order."""
        if run.run_id not in self._windows:
            sql = "SELECT * FROM decode_window WHERE run_id = ? ORDER BY source_index, line_no"
            self._windows[run.run_id] = self._store.frame(sql, [run.run_id])
        return self._windows[run.run_id]

    def side(self, runs: Sequence[Run]) -> Side:
        """One arm: the run and its repeats."""
        from speclog.analysis.side import Side

        key = tuple(run.run_id for run in runs)
        if key not in self._sides:
            self._sides[key] = Side([self.windows(run) for run in runs])
        return self._sides[key]


def detailed(store: Store, sides: Sides, sections: Sequence[Section]) -> None:
    """Fill in the intervals and factors of the pairs that sections show."""
    factors = rows.factors(store, [pair for section in sections for pair in section.shown])
    for section in sections:
        made = {
            pair.key: replace(pair, levels=_intervals(sides, pair), factors=factors.get(pair.key, ()))
            for pair in section.shown
        }
        section.chosen = made[section.chosen.key] if section.chosen else None
        section.fair = made[section.fair.key] if section.fair else None
        section.naive = made[section.naive.key] if section.naive else None
        section.maybe = made[section.maybe.key] if section.maybe else None
        section.pairs = [made.get(pair.key, pair) for pair in section.pairs]


def _intervals(sides: Sides, pair: Pair) -> tuple[Level, ...]:
    from speclog.analysis.breakeven import compare

    points = {level.batch_size: level for level in pair.levels}
    found = compare(sides.side([pair.candidate]), sides.side([pair.baseline]))
    levels = [
        rows.level(rows.harmless_row(row), points.get(row["batch_size"]))
        for row in found.iter_rows(named=True)
    ]
    return tuple(sorted(levels, key=lambda level: level.batch_size))


def draw(store: Store, sides: Sides, section: Section) -> None:
    """Make the charts of a section, for the fair pair or else the pair asked for."""
    pair = section.fair or section.maybe or section.chosen
    if pair is None:
        return
    profile = _profile(store, pair.candidate)
    section.charts = [
        break_even.chart(pair),
        concurrency.chart(pair),
        context.chart(pair, _curve(sides, pair)),
        _bill(section, pair, profile),
        _steps(sides, section, pair, profile),
        acceptance.chart(pair.candidate, _histogram(store, pair.candidate)),
        timeline.chart(pair.candidate, "candidate", _rows(sides.windows(pair.candidate))),
        timeline.chart(pair.baseline, "baseline", _rows(sides.windows(pair.baseline))),
    ]


def _rows(frame: pl.DataFrame) -> list[Row]:
    return [rows.harmless_row(row) for row in frame.iter_rows(named=True)]


def _curve(sides: Sides, pair: Pair) -> list[Row]:
    from speclog.analysis.context import curve

    arms = sides.side([pair.candidate]), sides.side([pair.baseline])
    sizes = [level.batch_size for level in pair.levels if level.speedup is not None]
    return [{**row, "batch_size": size} for size in sizes for row in _rows(curve(*arms, size))]


def _profile(store: Store, run: Run) -> pl.DataFrame:
    return store.frame("SELECT * FROM profile_window WHERE run_id = ? ORDER BY line_no", [run.run_id])


def _bill(section: Section, pair: Pair, profile: pl.DataFrame) -> Chart | Absent:
    """Phases of the candidate's profiled rounds, in tokens of the baseline's step at the same batch size."""
    from speclog.analysis.phases import bill as phase_bill

    steps = {level.batch_size: level.t_base_ms for level in pair.levels if level.t_base_ms is not None}
    if not profile.is_empty():
        section.bill = [row for row in _rows(phase_bill(profile, steps)) if row["tokens"] is not None]
    return bill.chart(pair, section.bill)


def _steps(sides: Sides, section: Section, pair: Pair, profile: pl.DataFrame) -> Chart | Absent:
    """Predicted speedup of fewer and more draft steps, from the acceptance histogram of the profile."""
    from speclog.analysis.whatif import best_steps

    if profile.is_empty():
        return steps.chart(pair, [])
    found = best_steps(profile, sides.side([pair.candidate]), sides.side([pair.baseline]))
    section.steps = _rows(found)
    return steps.chart(pair, section.steps)


def _histogram(store: Store, run: Run) -> Sequence[int]:
    found = store.rows(
        "SELECT acc_hist FROM profile_window WHERE run_id = ? AND kind = 'spec' AND acc_hist IS NOT NULL "
        "AND NOT coalesce(warmup, false)",
        [run.run_id],
    )
    longest = max((len(row[0]) for row in found), default=0)
    return [sum(row[0][i] for row in found if i < len(row[0])) for i in range(longest)]
