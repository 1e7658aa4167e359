"""Which baseline a candidate is compared with: the fairest in the store, and the one a person would take.

A person takes the best number in the drawer: the fastest run without speculation of the same model. When
that is not the fairest, both are shown, for the conclusion may turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from speclog.store import Store

Row = Mapping[str, Any]
_ORDER = {"fair": 0, "unproven": 1, "unfair": 2}


@dataclass(frozen=True)
class Choice:
    """The baseline of one candidate.

    ``row``: the comparison (view ``comparison``), None when nothing can be compared. ``repeats``:
    run_ids of baselines that are the same experiment, this one first. ``naive``: the comparison with the
    fastest baseline, None when that is the chosen one or a repeat of it. ``note``: what was done, in words.
    """

    candidate: str
    row: Row | None
    repeats: tuple[str, ...] = ()
    naive: Row | None = None
    note: str = ""


def choose(rows: Iterable[Row], speeds: Mapping[tuple[str, int], float]) -> dict[str, Choice]:
    """Choose a baseline for every candidate among ``rows`` (view ``comparison`` and more).

    ``speeds``: tok/s by (run_id, batch size). Ranked by verdict, by having a batch size in
    common, by number of confounders, by number of unknowns; then the newest run, then the run_id, so that
    the order of ingestion does not matter.
    """
    by_candidate: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_candidate[row["candidate"]].append(row)
    sizes: dict[str, set[int]] = defaultdict(set)
    for run_id, size in speeds:
        sizes[run_id].add(size)
    return {candidate: _choose(candidate, found, speeds, sizes) for candidate, found in by_candidate.items()}


def _choose(
    candidate: str,
    rows: Sequence[Row],
    speeds: Mapping[tuple[str, int], float],
    sizes: Mapping[str, set[int]],
) -> Choice:
    usable = [row for row in rows if row["same_model"]]
    if not usable:
        return Choice(candidate, None, note="no run without speculation in the store serves this model")
    mine = sizes.get(candidate, set())

    def rank(row: Row) -> tuple[Any, ...]:
        apart = not mine & sizes.get(row["baseline"], set())
        counts = (row["n_confounders"], row["n_unknown"])
        return (_ORDER[row["verdict"]], apart, *counts, -row["started"], row["baseline"])

    ranked = sorted(usable, key=rank)
    first = ranked[0]
    repeats = [row["baseline"] for row in ranked if first["verdict"] == "fair" == row["verdict"]
               and row["contract_hash"] == first["contract_hash"]] or [first["baseline"]]  # fmt: skip
    naive = _naive(ranked, speeds, mine)
    if naive is not None and naive["baseline"] in repeats:
        naive = None
    return Choice(candidate, first, tuple(repeats), naive, _note(ranked, repeats, rank))


def _naive(rows: Sequence[Row], speeds: Mapping[tuple[str, int], float], mine: set[int]) -> Row | None:
    """The fastest at the smallest batch size that the candidate has too."""
    best = [
        (-size, speeds[row["baseline"], size], row["baseline"], place)
        for place, row in enumerate(rows)
        for size in mine
        if speeds.get((row["baseline"], size)) is not None
    ]
    return rows[max(best)[3]] if best else None


def _note(ranked: Sequence[Row], repeats: Sequence[str], rank: Any) -> str:
    first = ranked[0]
    if len(repeats) > 1:
        return f"{len(repeats)} runs of the same configuration, pooled as repeats"
    alike = [row for row in ranked[1:] if rank(row)[:4] == rank(first)[:4]]
    if alike:
        return f"the newest of {len(alike) + 1} equally {first['verdict']} ones"
    return f"the only {first['verdict']} one" if first["verdict"] == "fair" else "the least different one"


def load(
    store: Store, *, candidates: Sequence[str] | None = None, baselines: Sequence[str] | None = None
) -> dict[str, Choice]:
    """Choose from the store: all speculative runs that served unless ``candidates`` (run_ids) says which,
    among all plain runs unless ``baselines`` does.
    """
    sql = """
        SELECT
            c.* , coalesce(a.model = b.model, true) AS same_model,
            coalesce(epoch(b.started_at), 0) AS started
        FROM comparison AS c
        JOIN run AS a ON a.run_id = c.candidate
        JOIN run AS b ON b.run_id = c.baseline
        WHERE a.served AND (? IS NULL OR list_contains(?, c.candidate))
            AND (? IS NULL OR list_contains(?, c.baseline))
    """
    some = None if candidates is None else list(candidates)
    plain = None if baselines is None else list(baselines)
    columns, rows = store.result(sql, [some, some, plain, plain])
    return choose((dict(zip(columns, row, strict=True)) for row in rows), speeds(store))


def speeds(store: Store) -> dict[tuple[str, int], float]:
    """Median tok/s by run and batch size, from windows without a prefill, all DP ranks together."""
    sql = """
        SELECT run_id, batch_size, sum(tok_s) FROM (
            SELECT i.run_id, d.running_req AS batch_size, d.dp_rank, median(d.gen_tok_s) AS tok_s
            FROM raw_decode_window AS d JOIN current_ingest AS i USING (ingest_id)
            WHERE d.running_req > 0 AND d.prefills_since = 0 AND d.gen_tok_s > 0
                AND coalesce(d.pp_rank, 0) = 0
                AND NOT coalesce(d.warmup, false)
            GROUP BY ALL HAVING count(*) >= 2
        ) GROUP BY ALL
    """
    return {(run_id, size): speed for run_id, size, speed in store.rows(sql)}
