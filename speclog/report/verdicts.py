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

_FASTEST = """
    SELECT
        candidate,
        arg_min(baseline, create_sort_key(
            common_size, 'ASC NULLS LAST', baseline_tok_s, 'DESC NULLS LAST', baseline, 'DESC NULLS LAST'
        )) AS baseline
    FROM asked GROUP BY candidate
"""
_ALL_OF_SOME = """
SELECT candidate, baseline, place FROM judged
WHERE same_model AND candidate IN (SELECT unnest(getvariable('speclog_some')))
"""
# The fairest of each kind, so that the first of a kind (a proven pair with a number, say) is always there.
_MOST_OF_SOME = f"""
WITH asked AS MATERIALIZED ({_ALL_OF_SOME.replace("candidate, baseline, place", "*")}),
named AS (SELECT * FROM asked WHERE baseline IN (SELECT unnest(getvariable('speclog_named')))),
fastest AS ({_FASTEST}),
fairest AS (
    SELECT candidate, unnest(min(place, {{n}})) AS place FROM asked GROUP BY candidate, verdict, measured
    UNION
    SELECT candidate, unnest(min(place, {{n}})) AS place FROM named GROUP BY candidate, verdict, measured
)
SELECT candidate, baseline, place FROM asked JOIN fairest USING (candidate, place)
UNION
SELECT candidate, baseline, place FROM asked JOIN fastest USING (candidate, baseline)
"""  # noqa: S608
_FEW_OF_ALL = f"""
WITH asked AS (
    SELECT * FROM judged
    WHERE same_model AND baseline IN (SELECT unnest(getvariable('speclog_some')))
),
fastest AS ({_FASTEST}),
fairest AS (
    SELECT candidate, unnest(min(place, {{n}})) AS place FROM asked GROUP BY candidate
)
SELECT candidate, baseline, place FROM asked JOIN fairest USING (candidate, place)
UNION
SELECT candidate, baseline, place FROM asked JOIN fastest USING (candidate, baseline)
"""  # noqa: S608
_WORDED = """
SELECT v.* FROM comparison_of('wanted_pair') AS v JOIN wanted_pair AS w USING (candidate, baseline)
ORDER BY v.candidate, w.place
"""
_LEVELS = "SELECT * FROM level_pair_of('wanted_pair') ORDER BY candidate, baseline, batch_size"


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
        return self._pairs(_FEW_OF_ALL.format(n=n), sorted(baselines))

    def of(self, candidates: Sequence[Run], most: int | None, named: Iterable[str]) -> dict[str, list[Pair]]:
        """The pairs of some candidates, fairest first, by candidate.

        All, or of each verdict with and without numbers the ``most`` fairest, as many with the ``named``
        baselines, and that with the fastest.
        """
        self._store.rows("SET VARIABLE speclog_named = CAST(? AS VARCHAR[])", [sorted(named)])
        which = _ALL_OF_SOME if most is None else _MOST_OF_SOME.format(n=most)
        return self._pairs(which, [run.run_id for run in candidates])

    def count(self) -> dict[str, int]:
        """How many pairs each candidate has."""
        return dict(
            self._store.rows("SELECT candidate, count(*) FROM judged WHERE same_model GROUP BY candidate")
        )

    def _pairs(self, which: str, some: Sequence[str]) -> dict[str, list[Pair]]:
        self._store.rows("SET VARIABLE speclog_some = CAST(? AS VARCHAR[])", [list(some)])
        self._store.script(f"CREATE OR REPLACE TEMP TABLE wanted_pair AS {which}")
        found = rows.query(self._store, _WORDED)
        levels: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows.query(self._store, _LEVELS):
            levels[row["candidate"], row["baseline"]].append(row)
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
