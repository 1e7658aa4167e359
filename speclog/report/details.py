"""What only a detailed section needs: intervals, factors, curves, phases, windows, and their charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from speclog.report import advice, billed, rows, sources, terms
from speclog.report.charts import acceptance, break_even, context, timeline
from speclog.report.findings import Findings, plain, pooled
from speclog.report.kin import Kin
from speclog.report.model import Absent, Chart, Level, Pair, Row, Run, Section
from speclog.report.sources import sourced

if TYPE_CHECKING:
    from speclog.report.sides import Sides
    from speclog.store import Store


JUDGED = 4
"""Pairs of a section, fairest first, whose intervals are worked out; of further ones the point estimates."""


def detailed(store: Store, sides: Sides, kin: Kin, sections: Sequence[Section], judged: int) -> None:
    """Fill in the intervals, repeats and factors of the pairs that sections show.

    ``judged``: of how many of all pairs of a section, fairest first, intervals are worked out for their row.
    """
    factors = rows.factors(store, [pair for section in sections for pair in section.shown])
    looked_at = [pair for section in sections for pair in (*section.shown, *section.pairs[:judged])]
    sides.read([run_id for pair in looked_at if pair.main_level for run_id in pair.ids])
    for section in sections:
        made = {}
        for shown in section.shown:
            pair = pooled(shown, kin)
            levels = intervals(sides, pair)
            said = "" if levels else none_clean(sides, pair)
            found = factors.get(pair.ids, ())
            made[pair.ids] = replace(pair, levels=levels, factors=found, none_clean=said)
        section.chosen = made[section.chosen.ids] if section.chosen else None
        section.fair = made[section.fair.ids] if section.fair else None
        section.naive = made[section.naive.ids] if section.naive else None
        section.maybe = made[section.maybe.ids] if section.maybe else None
        section.pairs = [
            made.get(pair.ids) or (_judged(sides, pair) if place < judged else pair)
            for place, pair in enumerate(section.pairs)
        ]


def judge_brief(sides: Sides, sections: Sequence[Section]) -> None:
    """Work out the intervals of sections that have a row only: of the pair asked for and of the fair one."""
    shown = [pair for s in sections for pair in (s.chosen, s.fair) if pair is not None and pair.main_level]
    sides.read([run_id for pair in shown for run_id in pair.ids])
    made = {pair.ids: _judged(sides, pair) for pair in shown}
    for section in sections:
        section.chosen = made.get(section.chosen.ids, section.chosen) if section.chosen else None
        section.fair = made.get(section.fair.ids, section.fair) if section.fair else None
        section.pairs = [made.get(pair.ids, pair) for pair in section.pairs]


def _judged(sides: Sides, pair: Pair) -> Pair:
    """A pair of which the page shows one row: with the intervals of its levels, not pooled."""
    return replace(pair, levels=intervals(sides, pair)) if pair.main_level else pair


def intervals(sides: Sides, pair: Pair) -> tuple[Level, ...]:
    """The levels of a pair with their intervals, each side with its repeats."""
    points = {level.batch_size: level for level in pair.levels}
    levels = [rows.level(row, points.get(row["batch_size"])) for row in plain(sides.compared(*pair.arms))]
    return tuple(sorted(levels, key=lambda level: level.batch_size))


def none_clean(sides: Sides, pair: Pair) -> str:
    """Why the candidate has no clean window, by what its windows are left out for."""
    runs = (pair.candidate, *pair.candidate_repeats)
    out = Counter(why for run in runs for why in sides.windows(run.run_id)["excluded"].to_list() if why)
    reasons = ", ".join(f"{why} {n}" for why, n in out.most_common())
    return f"no clean window of the candidate, {out.total()} are left out ({reasons})" if out else ""


def draw(store: Store, sides: Sides, kin: Kin, section: Section) -> None:
    """Make the charts and the advice of a section, for the fair pair or else the pair asked for."""
    pair = section.fair or section.maybe or section.chosen
    if pair is None:
        return
    found = Findings(store, sides, kin, pair)
    speedups, switch_off = found.concurrency(section)
    predicted, better_steps = found.steps(section)
    lines = sources.of_runs("*", "level_line", [pair.candidate, pair.baseline])
    counted, left_out = _histograms(store, pair.candidate)
    histogram = [sum(column) for column in zip(*counted, strict=True)]
    windows = None if sum(histogram) else sides.windows(pair.candidate.run_id)
    accepted = acceptance.chart(
        pair.candidate,
        histogram,
        windows,
        _survived(counted),
        left_out,
    )
    columns, view = (
        ("steps, acc_hist", "profile_window") if sum(histogram) else ("tau, excluded", "decode_window")
    )
    acceptances = sources.of_runs(f"line_no, {columns}", view, [pair.candidate])
    section.charts = [
        sourced(_on_terms(pair, break_even.chart(pair)), "f-tau-star", sources.of_pair(pair)),
        sourced(_on_terms(pair, speedups), "f-switch-off", sources.whatif(pair, "--ask", "concurrency")),
        sourced(_on_terms(pair, context.chart(pair, _curve(sides, pair))), "f-context", lines),
        _on_terms(pair, billed.chart(section, sides, pair, found.profile)),
        sourced(_on_terms(pair, predicted), "f-what-if", sources.whatif(pair)),
        sourced(accepted, "f-tau", acceptances),
        _timeline(sides, pair.candidate, "candidate"),
        _timeline(sides, pair.baseline, "baseline"),
    ]
    answers = [advice.lost(section), better_steps, switch_off, *found.rest(section)]
    section.advice = [
        one if one.why_not else replace(one, source=sources.advised(pair, one.key)) for one in answers
    ]


def _on_terms(pair: Pair, shown: Chart | Absent) -> Chart | Absent:
    """A chart of both sides whose answer says on which terms it is one: a picture leaves its page."""
    if isinstance(shown, Absent):
        return shown
    return replace(shown, title=terms.with_terms(pair, shown.title))


def _timeline(sides: Sides, run: Run, side: str) -> Chart | Absent:
    columns = ("line_no", "ts", "running_req", "gen_tok_s", "round_ms", "tau", "excluded")
    chart = timeline.chart(run, side, sides.windows(run.run_id).select(columns))
    return sourced(chart, "f-clean", sources.of_runs(", ".join(columns), "decode_window", [run]))


def _curve(sides: Sides, pair: Pair) -> list[Row]:
    sizes = [level.batch_size for level in pair.levels if level.speedup is not None]
    return [{**row, "batch_size": size} for size in sizes for row in plain(sides.curve(*pair.arms, size))]


def _histograms(store: Store, run: Run) -> tuple[list[list[int]], int]:
    """Request-rounds by accepted drafts, a row a profiled window in log order, all equally long.

    Of a run that changes its steps the windows with those most rounds had; also how many others there are: a
    position that was not drafted was not refused.
    """
    found = store.rows(
        "SELECT steps, acc_hist FROM profile_window WHERE run_id = ? AND kind = 'spec' "
        "AND NOT same_rounds AND acc_hist IS NOT NULL AND NOT coalesce(warmup, false) "
        "ORDER BY source_index, line_no",
        [run.run_id],
    )
    rounds: Counter[int] = Counter()
    for steps, counts in found:
        rounds[steps or 0] += sum(counts)
    most = max(rounds, key=lambda steps: (rounds[steps], steps), default=0)
    kept = [counts for steps, counts in found if (steps or 0) == most]
    longest = max(map(len, kept), default=0)
    return [[*row, *[0] * (longest - len(row))] for row in kept], len(found) - len(kept)


def _survived(counted: Sequence[Sequence[int]]) -> list[Row]:
    """The interval of each position's survival over the windows it was counted in."""
    import numpy as np

    from speclog.analysis.window_mean import ratio, spans

    if not sum(map(sum, counted)):
        return []
    table = np.array(counted, dtype=float)
    at_least = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    ones = np.ones(len(table))
    found = [ratio(100 * survived, at_least[:, 0], ones) for survived in at_least.T]
    return [spans("survival_pct", one, 100.0) for one in found]
