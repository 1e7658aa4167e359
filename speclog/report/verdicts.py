"""The verdicts of candidates against baselines, fairest first; pairs are made only where somebody looks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from speclog.analysis import baseline
from speclog.report import rows
from speclog.report.model import Pair, Row, Run

if TYPE_CHECKING:
    from speclog.store import Store

_WANTED = "SELECT * FROM judged WHERE same_model AND {which}"
_OF_SOME = "list_contains(?, candidate)"
_FEW = """
(candidate, baseline) IN (
    SELECT (candidate, baseline) FROM judged WHERE same_model AND list_contains(?, baseline)
    QUALIFY row_number() OVER (PARTITION BY candidate ORDER BY place) <= ? OR row_number() OVER (
        PARTITION BY candidate ORDER BY common_size NULLS LAST, baseline_tok_s DESC NULLS LAST, baseline DESC
    ) = 1
)
"""


class Verdicts:
    """View ``comparison`` for some candidates and baselines, ranked once (`baseline.judge`)."""

    def __init__(
        self, store: Store, known: Mapping[str, Run], candidates: Iterable[str], baselines: Iterable[str]
    ) -> None:
        self._known = known
        self._store = store
        baseline.judge(store, candidates=sorted(candidates), baselines=sorted(baselines))

    def choices(self, baselines: Iterable[str]) -> dict[str, baseline.Choice]:
        """The baseline of each candidate among some of the judged ones."""
        return baseline.choices(self._store, sorted(baselines))

    def fairest(self, n: int, baselines: Iterable[str]) -> dict[str, list[Pair]]:
        """The ``n`` fairest pairs of each candidate with some of the baselines, and that with the fastest."""
        return self._pairs(_FEW, [sorted(baselines), n])

    def of(self, candidates: Sequence[Run]) -> dict[str, list[Pair]]:
        """All pairs of some candidates, fairest first, by candidate."""
        return self._pairs(_OF_SOME, [[run.run_id for run in candidates]])

    def _pairs(self, which: str, params: Sequence[object]) -> dict[str, list[Pair]]:
        found = rows.query(self._store, f"{_WANTED.format(which=which)} ORDER BY candidate, place", params)
        levels = _levels(self._store, [(row["candidate"], row["baseline"]) for row in found])
        made: dict[str, list[Pair]] = defaultdict(list)
        for row in found:
            made[row["candidate"]].append(self._pair(row, levels[row["candidate"], row["baseline"]]))
        return made

    def _pair(self, row: Row, levels: Sequence[Row]) -> Pair:
        return Pair(
            candidate=self._known[row["candidate"]],
            baseline=self._known[row["baseline"]],
            verdict=row["verdict"],
            reasons=tuple(row["reasons"] or ()),
            contract_hash=row["contract_hash"],
            vouched=bool(row["vouched"]),
            n_confounders=row["n_confounders"],
            n_unknown=row["n_unknown"],
            caveats=tuple(row["caveats"] or ()),
            levels=tuple(rows.level(level) for level in levels),
        )


def _levels(store: Store, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Row]]:
    """Point estimates of pairs of run_ids (`level_pair_of`), one row a batch size, in order."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    store.rows("SET VARIABLE speclog_mine = CAST(? AS VARCHAR[])", [[mine for mine, _ in pairs]])
    store.rows("SET VARIABLE speclog_theirs = CAST(? AS VARCHAR[])", [[theirs for _, theirs in pairs]])
    store.script(
        "CREATE OR REPLACE TEMP TABLE wanted_pair AS SELECT "
        "unnest(getvariable('speclog_mine')) AS candidate, unnest(getvariable('speclog_theirs')) AS baseline"
    )
    sql = "SELECT * FROM level_pair_of('wanted_pair') ORDER BY candidate, baseline, batch_size"
    for row in rows.query(store, sql):
        found[row["candidate"], row["baseline"]].append(row)
    return found
