"""Regressions of candidates: slower than a fair baseline, or slower than the same configuration was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from speclog.report.model import Row, arm_of

if TYPE_CHECKING:
    from speclog.analysis.design import Records
    from speclog.analysis.regression import Change
    from speclog.analysis.side import Side
    from speclog.report.check import Checked
    from speclog.report.model import Run
    from speclog.store import Store

MOST = 4
"""Repeats of a side that are pooled; more would only take longer."""
LOOKED_AT = 60
"""Earlier runs of a model that are looked through, newest first."""


class _Windows:
    """Arms of runs, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: dict[tuple[str, ...], Side] = {}

    def side(self, run_ids: Sequence[str]) -> Side:
        from speclog.analysis.side import Side
        from speclog.analysis.windows import load

        key = tuple(run_ids)
        if key not in self._made:
            found = load(self._store, run_ids)
            self._made[key] = Side([found[run_id] for run_id in run_ids])
        return self._made[key]


def regressions(
    store: Store,
    found: Sequence[Checked],
    repeats: Mapping[str, Sequence[str]],
    *,
    before: Sequence[str] | None,
    threshold: float,
) -> dict[str, list[Row]]:
    """By candidate: a row a batch size against its baseline, and one against the earlier runs.

    ``repeats``: by candidate, its baseline and that one's repeats (run_ids). Against a baseline both sides
    are pooled with their repeats, as in a report; against earlier runs a candidate stands alone, for it may
    be the start that became slower.

    Keys: ``against`` ('baseline' or 'earlier'), ``candidate_names`` (whose windows are pooled),
    ``run_names``, ``batch_size``, ``context``, ``ratio``, ``low``, ``high``, ``kind``, ``regressed``,
    ``since`` (factors that changed), ``why_not``.
    """
    from speclog.analysis import design
    from speclog.report import rows
    from speclog.report.kin import Kin

    windows, runs = _Windows(store), rows.runs(store)
    kin = Kin(store, runs, [runs[one.candidate] for one in found if one.effective_verdict == "fair"])
    known = {one.candidate: _candidates(store, one.candidate, before) for one in found}
    records = design.load(store, [run_id for one, others in known.items() for run_id in (one, *others)])
    return {
        one.candidate: [
            *_against_baseline(
                windows,
                one,
                kin.repeats(runs[one.candidate]),
                [runs[run_id] for run_id in repeats.get(one.candidate) or [one.baseline]],
            ),
            *_against_earlier(windows, *_earlier(records, one, known[one.candidate], before), one, threshold),
        ]
        for one in found
    }


def _row(
    against: str, names: Sequence[str], run_names: Sequence[str], change: Change, since: Sequence[str] = ()
) -> Row:
    ratio = asdict(change.ratio) if change.ratio else {"value": None, "low": None, "high": None, "kind": None}
    return {
        "against": against,
        "candidate_names": list(names),
        "run_names": list(run_names),
        "batch_size": change.batch_size,
        "context": change.context,
        "ratio": ratio.pop("value"),
        **ratio,
        "regressed": change.regressed,
        "since": list(since),
        "why_not": change.why_not,
    }


def _against_baseline(
    windows: _Windows, one: Checked, candidates: Sequence[Run], baselines: Sequence[Run]
) -> list[Row]:
    """A fair comparison that is lost beyond its interval; an unfair or unproven one has no number."""
    from speclog.analysis.regression import Change, changes

    sides = candidates[:MOST], baselines[:MOST]
    mine, theirs = ([run.name for run in side] for side in sides)
    if one.effective_verdict != "fair":
        why = f"the comparison is {one.effective_verdict}: its number is no result"
        return [_row("baseline", mine, theirs, Change(None, why_not=why))]
    found = changes(*(windows.side(arm_of(side)) for side in sides), threshold=0.0)
    return [_row("baseline", mine, theirs, change) for change in found]


def _against_earlier(
    windows: _Windows, names: Mapping[str, str], since: list[str], why: str, one: Checked, threshold: float
) -> list[Row]:
    from speclog.analysis import regression

    mine = [one.candidate_name]
    if why:
        return [_row("earlier", mine, [], regression.Change(None, why_not=why))]
    sides = windows.side([one.candidate]), windows.side(list(names)[:MOST])
    found = regression.changes(*sides, threshold=threshold)
    return [_row("earlier", mine, list(names.values())[:MOST], change, since) for change in found]


def _earlier(
    records: Records, one: Checked, known: dict[str, Row], before: Sequence[str] | None
) -> tuple[dict[str, str], list[str], str]:
    """Earlier runs (names by run_id), what changed since, and why there are none."""
    from speclog.analysis import regression

    if before is not None:
        return _named(records, one, known)
    started = [(run_id, row["started_at"]) for run_id, row in known.items()]
    chosen, since = regression.earlier(records, one.candidate, started)
    if not chosen:
        return {}, [], "no earlier run in the store is known to be of the same configuration"
    return {run_id: known[run_id]["name"] for run_id in chosen}, since, ""


def _named(records: Records, one: Checked, known: dict[str, Row]) -> tuple[dict[str, str], list[str], str]:
    from speclog.analysis import regression

    others = {run_id: row["name"] for run_id, row in known.items() if run_id != one.candidate}
    changed = [regression.suspects(records, one.candidate, run_id) for run_id in others]
    if not others:
        return {}, [], "it is itself the run to hold it against"
    if any(names is None for names in changed):
        return {}, [], "the runs named are not known to be of the same configuration"
    return others, sorted({name for names in changed for name in names or []}), ""


def _candidates(store: Store, candidate: str, before: Sequence[str] | None) -> dict[str, Row]:
    """Runs that may be earlier ones, newest first, the candidate included."""
    sql = """
        SELECT o.run_id, o.name, o.started_at
        FROM run AS o JOIN run AS c ON c.run_id = ? AND o.engine = c.engine
        WHERE o.served AND o.model IS NOT DISTINCT FROM c.model
            AND (o.run_id = c.run_id OR CASE WHEN ? IS NULL THEN o.started_at < c.started_at
                AND o.speculative IS NOT DISTINCT FROM c.speculative ELSE list_contains(?, o.run_id) END)
        ORDER BY o.started_at DESC NULLS LAST, o.run_id LIMIT ?
    """
    some = None if before is None else list(before)
    names, found = store.result(sql, [candidate, some, some, LOOKED_AT])
    return {row[0]: dict(zip(names, row, strict=True)) for row in found}
