"""One candidate against one baseline, asked about on the command line: no page, the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from speclog.report import rows
from speclog.report.charts import concurrency
from speclog.report.details import intervals, none_clean
from speclog.report.findings import Findings
from speclog.report.kin import Kin
from speclog.report.model import Answer, Pair, Row, Section
from speclog.report.sides import Sides

if TYPE_CHECKING:
    import polars as pl

    from speclog.store import Store

POINTS = (
    "batch_size", "speedup", "speedup_lo", "speedup_hi", "interval_kind", "from", "change", "change_by",
    "certain", "refused",
)  # fmt: skip


class Consultation:
    """What the store says of the runs named; those of one side are taken as repeats of each other."""

    def __init__(self, store: Store, candidates: Sequence[str], baselines: Sequence[str]) -> None:
        known = rows.runs(store)
        mine, theirs = ([known[run_id] for run_id in ids] for ids in (candidates, baselines))
        sql = "SELECT verdict, reasons FROM comparison WHERE candidate = ? AND baseline = ?"
        verdict = store.rows(sql, [mine[0].run_id, theirs[0].run_id])
        pair = Pair(
            mine[0],
            theirs[0],
            str(verdict[0][0]) if verdict else "unproven",
            tuple(verdict[0][1] or ()) if verdict else (),
            None,
            vouched=False,
            n_confounders=0,
            n_unknown=0,
            candidate_repeats=tuple(mine[1:]),
            baseline_repeats=tuple(theirs[1:]),
        )
        sides = Sides(store)
        levels = intervals(sides, pair)
        pair = replace(pair, levels=levels, none_clean="" if levels else none_clean(sides, pair))
        self.found = Findings(store, sides, Kin(store, known, [mine[0]]), pair)
        self.section = Section(mine[0], pair, None, None)

    def steps(self, extra_steps: int) -> pl.DataFrame:
        """The speedup of 0, 1, ... draft steps (`analysis.whatif.best_steps`)."""
        return self.found.predicted(extra_steps)

    def concurrency(self) -> tuple[list[Row], Answer]:
        """A row a batch size in the columns `POINTS`, and where speculation stops paying."""
        _, answer = self.found.concurrency(self.section)
        crossings = {row["from_batch_size"]: row for row in answer.rows}
        points = concurrency.points(self.found.pair.levels, self.section.between)
        reasons = {level.batch_size: level.refused for level in self.found.pair.levels if level.refused}
        reasons |= {row["batch_size"]: row["refused"] for row in self.section.between}
        shown = {row["batch_size"] for row in points}
        refused = [
            {"batch_size": size, "refused": reason} for size, reason in reasons.items() if size not in shown
        ]
        made = []
        for row in sorted([*points, *refused], key=lambda row: row["batch_size"]):
            crossing = crossings.get(row["batch_size"], {})
            more = {"change": crossing.get("change"), "change_by": crossing.get("to_batch_size")}
            row = row | more | {"certain": crossing.get("certain")}
            made.append({name: row.get(name) for name in POINTS})
        return made, answer

    def draft(self) -> tuple[list[Row], Answer]:
        """A row a batch size: what break-even asks of accept length and of every position."""
        answer = self.found.draft()
        return list(answer.rows), answer

    def published(self) -> Answer | None:
        """The accept length beside published ones of the same model; None where none is known."""
        return self.found.published()
