"""What only a detailed section needs: intervals, factors, curves, phases, windows, and their charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from speclog.report import rows
from speclog.report.charts import acceptance, bill, break_even, concurrency, context, timeline
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
    pair = section.fair or section.chosen
    if pair is None:
        return
    section.charts = [
        break_even.chart(pair),
        concurrency.chart(pair),
        context.chart(pair, _curve(sides, pair)),
        _bill(store, section, pair),
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


def _bill(store: Store, section: Section, pair: Pair) -> Chart | Absent:
    """Phases of the candidate's profiled rounds, in tokens of the baseline's step at the same batch size."""
    steps = {level.batch_size: level.t_base_ms for level in pair.levels if level.t_base_ms is not None}
    sql = """
        SELECT CAST(round(bs) AS INTEGER) AS batch_size, phase, avg(ms) AS ms
        FROM (
            SELECT * FROM profile_window
            WHERE run_id = ? AND kind = 'spec' AND NOT coalesce(warmup, false) AND coalesce(part, 0) = 0
        )
        UNPIVOT (ms FOR phase IN (draft_ms, vprep_ms, verify_ms, accept_ms, extend_ms, gap_ms))
        GROUP BY ALL ORDER BY ALL
    """
    found = [row for row in rows.query(store, sql, [pair.candidate.run_id]) if row["batch_size"] in steps]
    totals = {size: sum(row["ms"] for row in found if row["batch_size"] == size) for size in steps}
    section.bill = [
        {
            **row,
            "phase": row["phase"].removesuffix("_ms"),
            "tokens": row["ms"] / steps[row["batch_size"]],
            "share_pct": 100 * row["ms"] / totals[row["batch_size"]],
        }
        for row in found
    ]
    return bill.chart(pair, section.bill)


def _histogram(store: Store, run: Run) -> Sequence[int]:
    found = store.rows(
        "SELECT acc_hist FROM profile_window WHERE run_id = ? AND kind = 'spec' AND acc_hist IS NOT NULL "
        "AND NOT coalesce(warmup, false)",
        [run.run_id],
    )
    longest = max((len(row[0]) for row in found), default=0)
    return [sum(row[0][i] for row in found if i < len(row[0])) for i in range(longest)]
