"""The verdicts of candidates against baselines, fairest first; pairs are made only where somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from speclog.report import rows
from speclog.report.model import Pair, Row, Run
from speclog.report.points import Points

if TYPE_CHECKING:
    import polars as pl

    from speclog.store import Store

_SQL = "SELECT * FROM comparison WHERE candidate IN (SELECT unnest(?)) AND baseline IN (SELECT unnest(?))"
ORDER = {"fair": 0, "unproven": 1, "unfair": 2}


class Verdicts:
    """View ``comparison`` for some candidates and baselines, kept as a frame: it may be 100,000 pairs."""

    def __init__(
        self, store: Store, known: Mapping[str, Run], candidates: Iterable[str], baselines: Iterable[str]
    ) -> None:
        self._known = known
        self._points = Points(store)
        self._frame = self._ranked(store.frame(_SQL, [sorted(candidates), sorted(baselines)]))

    @property
    def points(self) -> Points:
        """Levels and point estimates of the store's runs."""
        return self._points

    def _ranked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Pairs whose runs may serve the same model, fairest first."""
        import polars as pl

        model = {run_id: run.model for run_id, run in self._known.items()}
        mine, theirs = (
            pl.col(side).replace_strict(model, default=None, return_dtype=pl.String)
            for side in ("candidate", "baseline")
        )
        place = pl.col("verdict").replace_strict(ORDER, default=3, return_dtype=pl.Int8)
        return frame.filter((mine == theirs).fill_null(value=True)).sort(
            place, "n_confounders", "n_unknown", "baseline_name", "baseline", nulls_last=True
        )

    def fairest(self, n: int, baselines: Iterable[str]) -> dict[str, list[Pair]]:
        """The ``n`` fairest pairs of each candidate with some of the baselines, by candidate."""
        import polars as pl

        chosen = self._frame.filter(pl.col("baseline").is_in(list(baselines)))
        found: dict[str, list[Pair]] = {}
        for row in chosen.group_by("candidate", maintain_order=True).head(n).iter_rows(named=True):
            found.setdefault(row["candidate"], []).append(self._pair(row))
        return found

    def of(self, candidate: Run) -> list[Pair]:
        """All pairs of one candidate, fairest first."""
        import polars as pl

        chosen = self._frame.filter(pl.col("candidate") == candidate.run_id)
        return [self._pair(row) for row in chosen.iter_rows(named=True)]

    def _pair(self, row: Row) -> Pair:
        row = rows.harmless_row(row)
        candidate, baseline = self._known[row["candidate"]], self._known[row["baseline"]]
        return Pair(
            candidate=candidate,
            baseline=baseline,
            verdict=row["verdict"],
            reasons=tuple(row["reasons"] or ()),
            contract_hash=row["contract_hash"],
            vouched=bool(row["vouched"]),
            n_confounders=row["n_confounders"],
            n_unknown=row["n_unknown"],
            caveats=tuple(row.get("caveats") or ()),
            levels=tuple(rows.level(level) for level in self._points.pair(candidate, baseline)),
        )
