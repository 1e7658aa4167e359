"""Which baseline a candidate is compared with: the fairest in the store, and the one a person would take.

A person takes the best number in the drawer: the fastest run without speculation of the same model. When
that is not the fairest, both are shown, for the conclusion may turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from speclog.store import Store

Row = Mapping[str, Any]

# All verdicts asked for, ranked within each candidate by the database: a store of 1,000 runs has 250,000.
_JUDGE = """
CREATE OR REPLACE TEMP TABLE judged AS
WITH arm AS MATERIALIZED (
    SELECT run_id, model, speculative, served, started_at FROM run
),
speed AS MATERIALIZED (
    SELECT l.run_id, l.batch_size, l.tok_s, a.speculative
    FROM level_count AS l JOIN arm AS a USING (run_id) WHERE l.n_clean >= 2
),
common AS (
    SELECT c.run_id AS candidate, b.run_id AS baseline, min(c.batch_size) AS batch_size
    FROM speed AS c JOIN speed AS b ON b.batch_size = c.batch_size AND c.speculative AND NOT b.speculative
    GROUP BY c.run_id, b.run_id
),
part AS MATERIALIZED (
    SELECT l.run_id, l.batch_size, l.context_min, l.context_max, a.speculative
    FROM level_line AS l JOIN arm AS a USING (run_id) WHERE l.n >= 2
),
matched AS (
    SELECT DISTINCT c.run_id AS candidate, b.run_id AS baseline
    FROM part AS c JOIN part AS b
        ON b.batch_size = c.batch_size AND c.speculative AND NOT b.speculative
        AND c.context_min <= b.context_max AND b.context_min <= c.context_max
)
SELECT
    v.*,
    coalesce(a.model = b.model, true) AS same_model,
    o.candidate IS NOT NULL AS measured,
    m.batch_size AS common_size,
    s.tok_s AS baseline_tok_s,
    row_number() OVER (
        PARTITION BY v.candidate
        ORDER BY
            coalesce(a.model = b.model, true) DESC,
            list_position(['fair', 'unproven', 'unfair'], v.verdict), o.candidate IS NULL, v.n_confounders,
            v.n_unknown,
            b.started_at DESC NULLS LAST, v.baseline
    ) AS place
FROM comparison AS v
JOIN arm AS a ON a.run_id = v.candidate
JOIN arm AS b ON b.run_id = v.baseline
LEFT JOIN common AS m ON m.candidate = v.candidate AND m.baseline = v.baseline
LEFT JOIN matched AS o ON o.candidate = v.candidate AND o.baseline = v.baseline
LEFT JOIN speed AS s ON s.run_id = v.baseline AND s.batch_size = m.batch_size
WHERE a.served {only}
"""
_ONLY = "AND list_contains(getvariable('speclog_{side}'), v.{side})"

_CHOOSE = """
WITH asked AS (
    SELECT
        candidate, baseline, same_model, verdict, contract_hash, place,
        count(*) OVER (
            PARTITION BY candidate, same_model, verdict, measured, n_confounders, n_unknown
        ) AS alike,
        row_number() OVER (PARTITION BY candidate ORDER BY place) AS rank,
        row_number() OVER (
            PARTITION BY candidate
            ORDER BY same_model DESC, common_size NULLS LAST, baseline_tok_s DESC NULLS LAST, baseline DESC
        ) AS naive_rank
    FROM judged WHERE ? IS NULL OR list_contains(?, baseline)
),
repeat AS (
    SELECT f.candidate, list(r.baseline ORDER BY r.place) AS repeats
    FROM asked AS f JOIN asked AS r
        ON r.candidate = f.candidate AND r.contract_hash = f.contract_hash
        AND r.verdict = 'fair' AND r.same_model
    WHERE f.rank = 1 AND f.verdict = 'fair' AND f.same_model
    GROUP BY f.candidate
)
SELECT j.* EXCLUDE (place), a.alike, a.rank, a.naive_rank, coalesce(r.repeats, []) AS repeats
FROM asked AS a
JOIN judged AS j ON j.candidate = a.candidate AND j.baseline = a.baseline
LEFT JOIN repeat AS r ON r.candidate = a.candidate
WHERE a.rank = 1 OR a.naive_rank = 1
ORDER BY a.candidate, a.rank
"""


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


def judge(
    store: Store, *, candidates: Sequence[str] | None = None, baselines: Sequence[str] | None = None
) -> None:
    """Rank the verdicts on ``candidates`` (run_ids; None: all speculative runs) that served, against
    ``baselines`` (None: all plain runs), in a temporary table ``judged`` of this connection.

    Columns: those of view ``comparison``, same_model (False: known to serve different ones), measured (both
    have clean windows at a common batch size and context), common_size (the smallest batch size with two
    clean windows on both sides, at whatever contexts), baseline_tok_s there, place (1: the fairest of the
    candidate). Fairest first: by model, verdict, measured, number of confounders, of unknowns; then the
    newest run, then the run_id, so that the order of ingestion does not matter.
    """
    only = ""
    for side, ids in (("candidate", candidates), ("baseline", baselines)):
        if ids is not None:
            store.rows(f"SET VARIABLE speclog_{side} = CAST(? AS VARCHAR[])", [list(ids)])
            only += _ONLY.format(side=side)
    store.script(_JUDGE.format(only=only))


def choices(store: Store, baselines: Sequence[str] | None = None) -> dict[str, Choice]:
    """Choose a baseline for every candidate of the last `judge`, among ``baselines`` (None: all judged)."""
    some = None if baselines is None else list(baselines)
    names, rows = store.result(_CHOOSE, [some, some])
    found: dict[str, list[Row]] = {}
    for values in rows:
        row = dict(zip(names, values, strict=True))
        found.setdefault(row["candidate"], []).append(row)
    return {candidate: _choice(candidate, mine) for candidate, mine in found.items()}


def _choice(candidate: str, rows: Sequence[Row]) -> Choice:
    first = rows[0]
    if not first["same_model"]:
        return Choice(candidate, None, note="no run without speculation in the store serves this model")
    repeats = tuple(first["repeats"]) or (first["baseline"],)
    fastest = next((row for row in rows if row["naive_rank"] == 1 and row["common_size"] is not None), None)
    naive = None if fastest is None or fastest["baseline"] in repeats else fastest
    return Choice(candidate, first, repeats, naive, _note(first, repeats))


def _note(first: Row, repeats: Sequence[str]) -> str:
    if len(repeats) > 1:
        return f"{len(repeats)} runs of the same configuration, pooled as repeats"
    if first["alike"] > 1:
        return f"the newest of {first['alike']} equally {first['verdict']} ones"
    return f"the only {first['verdict']} one" if first["verdict"] == "fair" else "the least different one"


def load(
    store: Store, *, candidates: Sequence[str] | None = None, baselines: Sequence[str] | None = None
) -> dict[str, Choice]:
    """Judge and choose at once: see `judge` and `choices`."""
    with store.holding():
        judge(store, candidates=candidates, baselines=baselines)
        return choices(store)
