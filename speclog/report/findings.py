"""What the advice on a candidate rests on: computed from its pair's windows, profiles and relatives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from speclog.report import advice, rows
from speclog.report.charts import concurrency, steps
from speclog.report.kin import Kin
from speclog.report.model import Absent, Answer, Chart, Level, Pair, Row, Run, Section, arm_of

if TYPE_CHECKING:
    import polars as pl

    from speclog.analysis.overhead import Overhead
    from speclog.analysis.side import Side
    from speclog.report.sides import Sides
    from speclog.store import Store


class Findings:
    """One section's pair with everything that is read once for it."""

    def __init__(self, store: Store, sides: Sides, kin: Kin, pair: Pair) -> None:
        self.store = store
        self.sides = sides
        self.kin = kin
        self.pair = pair
        self._summary: list[Row] | None = None
        self.profile = profile_of(store, pair.candidate, *pair.candidate_repeats)
        self.candidate, self.baseline = (sides.side(arm) for arm in pair.arms)

    def concurrency(self, section: Section) -> tuple[Chart | Absent, Answer]:
        """The speedup over batch size: measured sizes, sizes the baseline never ran, crossings of 1."""
        import polars as pl

        from speclog.analysis.concurrency import crossings, unequal

        section.between = plain(unequal(self.candidate, self.baseline))
        known = concurrency.points(self.pair.levels, section.between)
        names = ("batch_size", "speedup", "speedup_lo", "speedup_hi")
        frame = pl.DataFrame([{name: row[name] for name in names} for row in known]) if known else None
        found = [] if frame is None else plain(crossings(frame))
        chart = concurrency.chart(self.pair, section.between, found)
        return chart, advice.switch_off(self.pair, section.between, found)

    def steps(self, section: Section) -> tuple[Chart | Absent, Answer]:
        """Predicted speedup of fewer and more draft steps, and what runs with other steps measured."""
        if not self.profile.is_empty():
            section.steps = plain(self.predicted())
        measured = [
            (runs[-1], level, proven)
            for runs, proven in self._others().values()
            for level in self._levels(self.sides.side(arm_of(runs)))[:1]
        ]
        chart = steps.chart(self.pair, section.steps, measured)
        return chart, advice.better_steps(self.pair, section.steps, measured)

    def predicted(self, extra_steps: int = 2) -> pl.DataFrame:
        """The speedup of other draft steps (`analysis.whatif.best_steps`)."""
        from speclog.analysis.whatif import best_steps

        others = {count: self.sides.side(arm_of(runs)) for count, (runs, _) in self._others().items()}
        return best_steps(self.profile, self.candidate, self.baseline, others=others, extra_steps=extra_steps)

    def _others(self) -> dict[int, tuple[list[Run], bool]]:
        return _by_steps(self.kin.other_steps(self.pair.candidate))

    def _levels(self, side: Side) -> list[Level]:
        """Levels with a number of another candidate against this pair's baseline."""
        from speclog.analysis.breakeven import compare

        found = compare(side, self.baseline).filter(~_null("speedup"))
        return [rows.level(row) for row in plain(found)]

    def draft(self) -> Answer:
        """What break-even asks of the draft model."""
        from speclog.analysis.draft import needed
        from speclog.analysis.phases import usual
        from speclog.analysis.theory import acceptance_for
        from speclog.analysis.whatif import draft_of

        run, found = self.pair.candidate, []
        windows = usual(self.profile, "spec") if not self.profile.is_empty() else None
        for level in self.pair.levels:
            if run.topk != 1 or not run.steps or level.tau is None or level.tau_star is None:
                continue
            draft = None if windows is None else draft_of(windows.filter(batch_size=level.batch_size))
            survival = None if draft is None or isinstance(draft, str) else draft.survival.tolist()
            ends = (level.speedup_lo, level.speedup_hi)
            asked = needed(level.tau, level.tau_star, run.steps, survival, speedup=ends)
            if draft is None or isinstance(draft, str):  # all positions alike: what the accept length gives
                low, high = (end and acceptance_for(end, run.steps) for end in (level.tau_lo, level.tau_hi))
                found.append((level, asked, (low, high)))
            else:
                found.append((level, asked, draft.first))
        return advice.better_draft(self.pair, found)

    def published(self) -> Answer | None:
        """The accept length beside published ones of the same model and steps."""
        from speclog.analysis.golden import judge

        run, level = self.pair.candidate, self.pair.main_level
        if run.topk != 1 or not run.steps or not run.model or level is None or level.tau is None:
            return None
        return advice.published(judge(run.model, run.steps, level.tau), level)

    def routing(self, section: Section) -> Answer | None:
        """Expert loads beside the verify ratio, where the model's config is known and the run profiled."""
        from speclog.analysis.moe import experts_of, overlay

        facts = dict(
            self.store.rows(
                "SELECT name, value FROM fact WHERE run_id = ? AND starts_with(name, 'model.')",
                [self.pair.candidate.run_id],
            )
        )
        experts, tokens = experts_of(facts), self.pair.candidate.draft_tokens
        if experts is None or not tokens or self.profile.is_empty():
            return None
        ratios, over = self._verify_ratios(section.bill)
        return advice.routing(plain(overlay(experts, ratios, tokens)), over)

    def _verify_ratios(self, bill: Sequence[Row]) -> tuple[dict[int, Row], str]:
        """Verify over a plain step's forward; over the whole step where the baseline was not profiled."""
        exact = {row["batch_size"]: row for row in self.summary() if row["verify_ratio"]}
        if exact:
            return exact, "a plain step's forward"
        found = {
            row["batch_size"]: {f"verify_ratio{end}": row[f"tokens{end}"] for end in ("", "_lo", "_hi")}
            for row in bill
            if row["phase"] == "verify" and row["tokens"]
        }
        return found, "a whole plain step"

    def summary(self) -> list[Row]:
        """What the profiler saw of the candidate (`analysis.phases.summary`)."""
        from speclog.analysis.phases import summary

        if self.profile.is_empty():
            return []
        if self._summary is None:
            plain_run = profile_of(self.store, self.pair.baseline)
            self._summary = plain(summary(self.profile, None if plain_run.is_empty() else plain_run))
        return self._summary

    def profiling(self) -> Answer | None:
        """What profiling costs: by windows that take turns in this run, and against an unprofiled twin."""
        found: dict[str, Overhead] = {}
        found |= self._taking_turns()
        for twin, proven in self.kin.twins(self.pair.candidate)[:1]:
            cost = self._against(twin)
            if cost is not None:
                doubt = "" if proven else ", if all else is equal"
                found[f"against the run {twin.name}{doubt}, within-run"] = cost
        return advice.profiling(found)

    def _taking_turns(self) -> dict[str, Overhead]:
        import polars as pl

        from speclog.analysis.overhead import ab_overhead, fitted_overhead

        events = self.store.rows(
            "SELECT line_no, fields FROM event WHERE run_id = ? AND kind = 'profile_ab' ORDER BY line_no",
            [self.pair.candidate.run_id],
        )
        lines = [{"line_no": line} | json.loads(fields) for line, fields in events]
        needed = {"n_on", "n_off", "period_on_ms", "period_off_ms", "overhead_pct"}
        lines = [
            line
            for line in lines
            if all(isinstance(line.get(name), int | float) for name in needed) and line["period_off_ms"] > 0
        ]
        level = self.pair.main_level
        fitted = fitted_overhead(lines, level.batch_size if level is not None else None)
        if fitted is not None:
            return {f"by blocks that take turns in this run, at batch {fitted[1]}": fitted[0]}
        lines = [line for line in lines if not line.get("ci95_pct")]
        if not lines:
            return {}
        prefills = self.store.rows(
            "SELECT line_no FROM prefill_batch WHERE run_id = ?", [self.pair.candidate.run_id]
        )
        own = ab_overhead(pl.DataFrame(lines), [line for (line,) in prefills])
        return {} if own is None else {"by windows that take turns in this run": own}

    def _against(self, twin: Run) -> Overhead | None:
        from speclog.analysis.overhead import run_overhead

        level = self.pair.main_level
        if level is None:
            return None
        other = profile_of(self.store, twin)
        mine, theirs = (self.sides.windows(run.run_id) for run in (self.pair.candidate, twin))
        profiled, unprofiled = (theirs, mine) if not other.is_empty() else (mine, theirs)
        return run_overhead([profiled], [unprofiled], level.batch_size)

    def starts(self) -> Answer | None:
        """What starts of one server differ by, from every repeat of either side that the store holds."""
        from speclog.analysis.processes import process_scatter

        level = self.pair.main_level
        groups = [self.kin.repeats(run) for run in (self.pair.candidate, self.pair.baseline)]
        pairs = [
            (self.sides.side(arm_of([first])), self.sides.side(arm_of([second])))
            for group in groups
            for first, second in combinations(group, 2)
        ]
        scatter = process_scatter(pairs, level.batch_size) if level is not None else None
        if scatter is None:
            return advice.starts(self.pair, None)
        sd, compared = scatter  # k starts are compared in k (k - 1) / 2 pairs, and differ in k - 1 ways
        return advice.starts(self.pair, (sd, min(compared, sum(len(group) - 1 for group in groups))))

    def rest(self, section: Section) -> list[Answer]:
        """The other answers, in the order of the page."""
        answers = [self.draft(), self.published(), self.routing(section), advice.pace(self.summary())]
        answers += [self.starts(), self.profiling()]
        return [answer for answer in answers if answer is not None]


def pooled(pair: Pair, kin: Kin) -> Pair:
    """A fair pair with the repeats of both sides; other pairs stay as they are.

    What is not proven to be equal is not pooled.
    """
    if pair.verdict != "fair":
        return pair
    mine, theirs = (tuple(kin.repeats(run)[1:]) for run in (pair.candidate, pair.baseline))
    return replace(pair, candidate_repeats=mine, baseline_repeats=theirs)


def profile_of(store: Store, *runs: Run) -> pl.DataFrame:
    """The profile windows of runs (view ``profile_window``), each round's once, in log order."""
    sql = (
        "SELECT * FROM profile_window WHERE list_contains(?, run_id) AND NOT same_rounds "
        "ORDER BY run_id, source_index, line_no"
    )
    return store.frame(sql, [[run.run_id for run in runs]])


def plain(frame: pl.DataFrame) -> list[Row]:
    """The rows of a frame as harmless dicts; only texts (and lists of them) can do harm."""
    import polars as pl

    kinds = frame.schema.items()
    texts = [name for name, kind in kinds if isinstance(kind, pl.String | pl.List | pl.Struct | pl.Array)]
    found = frame.to_dicts()
    for row in found:
        for name in texts:
            row[name] = rows.harmless(row[name])
    return found


def _by_steps(others: Sequence[tuple[Run, bool]]) -> dict[int, tuple[list[Run], bool]]:
    """Runs by their steps: all starts that are proven to be the same server, else the newest run alone."""
    found: dict[int, tuple[list[Run], bool]] = {}
    for run, proven in others:
        runs, sure = found.get(run.steps or 0, ([], False))
        if proven or not sure:
            found[run.steps or 0] = ([*runs, run] if proven and sure else [run], proven)
    return dict(sorted(found.items()))


def _null(column: str) -> pl.Expr:
    import polars as pl

    return pl.col(column).is_null()
