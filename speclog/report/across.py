"""Runs of another engine: what a report leaves out, and the pairs it shows where they were asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from speclog.analysis import engines
from speclog.report import naming, rows
from speclog.report.model import Pair, Row, Run, Section

if TYPE_CHECKING:
    from speclog.store import Store

_LEVELS = "SELECT * FROM level_pair_of('wanted_pair') ORDER BY candidate, baseline, batch_size"


def pairs(
    store: Store, known: Mapping[str, Run], candidates: Sequence[Run], baselines: Iterable[str]
) -> dict[str, list[Pair]]:
    """The pairs of candidates with baselines (run_ids) of another engine; the least different first.

    Both may speculate, or neither: whatever was asked for.
    """
    asked = [known[run_id] for run_id in baselines]
    found: list[Row] = []
    for engine in sorted({run.engine for run in candidates}):
        mine = [run.run_id for run in candidates if run.engine == engine]
        theirs = [run.run_id for run in asked if run.engine != engine]
        found += engines.compare_as_asked(store, mine, theirs) if theirs else []
    levels = defaultdict(list)
    with store.holding():
        rows.want_pairs(store, [(row["candidate"], row["baseline"]) for row in found])
        for row in rows.query(store, _LEVELS):
            levels[row["candidate"], row["baseline"]].append(rows.level(row))
    made: dict[str, list[Pair]] = defaultdict(list)
    for row in found:
        ids = row["candidate"], row["baseline"]
        made[ids[0]].append(
            Pair(
                candidate=known[ids[0]],
                baseline=known[ids[1]],
                verdict=row["verdict"],
                reasons=rows.harmless(tuple(row["reasons"])),
                contract_hash=row["contract_hash"],
                vouched=bool(row["vouched"]),
                n_confounders=row["n_confounders"],
                n_unknown=row["n_unknown"],
                caveats=rows.harmless(tuple(row["caveats"])),
                levels=tuple(levels[ids]),
            )
        )
    return {
        candidate: sorted(mine, key=lambda pair: (pair.n_confounders, pair.n_unknown, pair.baseline.name))
        for candidate, mine in made.items()
    }


def notes(
    sections: Sequence[Section], baselines: Sequence[Run], named: bool, cross_engine: bool
) -> list[str]:
    """What the page says at its top about engines: what was compared across them, or left out.

    ``baselines`` are the runs asked for; ``named``: by name, so that each counts. Else (by the word
    ``baseline``) only those that serve a candidate's model.
    """
    if cross_engine:
        return _compared(sections)
    mine: dict[str | None, set[str]] = defaultdict(set)  # engines of the candidates, by model
    for section in sections:
        mine[None if named else section.run.model].add(section.run.engine)
    shown = []
    for run in baselines:
        others = mine.get(None if named else run.model, set()) - {run.engine}
        if others:
            shown.append(f"{run.name} ({run.engine}) for candidates of {naming.join(sorted(others))}")
    if not shown:
        return []
    return [
        f"Left out: {naming.several(shown)}; {engines.WHY}. "
        f"--vs NAME {engines.OPTION} compares anyway, and says so."
    ]


def _compared(sections: Sequence[Section]) -> list[str]:
    apart = [pair for section in sections for pair in section.shown if pair.across]
    if not apart:
        return []
    shown = [f"{_named(pair.candidate)} with {_named(pair.baseline)}" for pair in apart]
    return [
        f"Compared across engines, as asked for by {engines.OPTION}: {naming.several(shown)}. "
        f"{engines.WHY.capitalize()}, so no number of such a pair is a result."
    ]


def _named(run: Run) -> str:
    return f"{run.name} ({run.engine})"
