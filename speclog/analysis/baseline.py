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

# All verdicts asked for, ranked within each candidate by the database: a store of 1,000 runs has 250,000, of
# which a page words a few hundred. So runs are numbers here (by the order that breaks ties), without texts.
_ASKED = """
CREATE OR REPLACE TEMP TABLE asked_pair AS
SELECT p.candidate, p.baseline
FROM compared_pair AS p JOIN arm AS c ON c.run_id = p.candidate
WHERE c.served {only}
"""
_ONLY = "AND p.{side} IN (SELECT unnest(getvariable('speclog_{side}')))"
_JUDGE = """
CREATE OR REPLACE TEMP TABLE judged AS
WITH numbered AS MATERIALIZED (
    SELECT
        run_id, model, speculative, row_number() OVER (ORDER BY started_at DESC NULLS LAST, run_id) AS no
    FROM run
    WHERE run_id IN (SELECT candidate FROM asked_pair UNION SELECT baseline FROM asked_pair)
),
speed AS MATERIALIZED (
    SELECT a.no, l.batch_size, l.tok_s, a.speculative
    FROM level_count AS l JOIN numbered AS a USING (run_id) WHERE l.n_clean >= 2
),
common AS (
    SELECT c.no AS c_no, b.no AS b_no, min(c.batch_size) AS batch_size
    FROM speed AS c JOIN speed AS b ON b.batch_size = c.batch_size AND c.speculative AND NOT b.speculative
    GROUP BY c.no, b.no
),
part AS MATERIALIZED (
    SELECT a.no, l.batch_size, l.context_min, l.context_max, a.speculative
    FROM level_line AS l JOIN numbered AS a USING (run_id) WHERE l.n >= 2
),
matched AS (
    SELECT DISTINCT c.no AS c_no, b.no AS b_no
    FROM part AS c JOIN part AS b
        ON b.batch_size = c.batch_size AND c.speculative AND NOT b.speculative
        AND c.context_min <= b.context_max AND b.context_min <= c.context_max
),
verdict AS (
    SELECT
        a.no AS c_no, b.no AS b_no, v.candidate, v.baseline, v.verdict, v.n_confounders, v.n_unknown,
        v.contract_hash, coalesce(a.model = b.model, true) AS same_model
    FROM comparison_of('asked_pair') AS v
    JOIN numbered AS a ON a.run_id = v.candidate
    JOIN numbered AS b ON b.run_id = v.baseline
)
SELECT
    v.* EXCLUDE (c_no, b_no),
    o.c_no IS NOT NULL AS measured,
    m.batch_size AS common_size,
    s.tok_s AS baseline_tok_s,
    -- One number, what decides first in its highest digits: to rank 250,000 rows takes a third of a second.
    (
        (
            CASE v.same_model WHEN true THEN 0 ELSE 6 END
            + CASE v.verdict WHEN 'fair' THEN 0 WHEN 'unproven' THEN 2 ELSE 4 END
            + CASE WHEN o.c_no IS NULL THEN 1 ELSE 0 END
        ) * (1::BIGINT << 56)
        + least(v.n_confounders, 65535) * (1::BIGINT << 40)
        + least(v.n_unknown, 65535) * (1::BIGINT << 24)
        + v.b_no
    ) AS place
FROM verdict AS v
LEFT JOIN common AS m ON m.c_no = v.c_no AND m.b_no = v.b_no
LEFT JOIN matched AS o ON o.c_no = v.c_no AND o.b_no = v.b_no
LEFT JOIN speed AS s ON s.no = v.b_no AND s.batch_size = m.batch_size
"""

_CHOSEN = """
CREATE OR REPLACE TEMP TABLE chosen AS
WITH asked AS (
    SELECT * FROM judged
    WHERE getvariable('speclog_among') IS NULL OR baseline IN (SELECT unnest(getvariable('speclog_among')))
),
fairest AS (
    SELECT a.*
    FROM asked AS a JOIN (SELECT candidate, min(place) AS place FROM asked GROUP BY candidate) AS f
        USING (candidate, place)
),
fastest AS (
    SELECT
        candidate,
        arg_min(baseline, create_sort_key(
            same_model, 'DESC NULLS LAST', common_size, 'ASC NULLS LAST', baseline_tok_s, 'DESC NULLS LAST',
            baseline, 'DESC NULLS LAST'
        )) AS baseline
    FROM asked GROUP BY candidate
),
alike AS (
    SELECT a.candidate, count(*) AS n
    FROM asked AS a JOIN fairest AS f
        USING (candidate, same_model, verdict, measured, n_confounders, n_unknown)
    GROUP BY a.candidate
),
repeat AS (
    SELECT f.candidate, list(r.baseline ORDER BY r.place) AS repeats
    FROM fairest AS f JOIN asked AS r
        ON r.candidate = f.candidate AND r.contract_hash = f.contract_hash
        AND r.verdict = 'fair' AND r.same_model
    WHERE f.verdict = 'fair' AND f.same_model
    GROUP BY f.candidate
)
SELECT
    f.*, n.n AS alike, f.baseline = s.baseline AS is_fastest, true AS is_fairest,
    coalesce(r.repeats, []) AS repeats
FROM fairest AS f
JOIN alike AS n ON n.candidate = f.candidate
JOIN fastest AS s ON s.candidate = f.candidate
LEFT JOIN repeat AS r ON r.candidate = f.candidate
UNION ALL BY NAME
SELECT a.*, true AS is_fastest, false AS is_fairest
FROM asked AS a
JOIN fastest AS s ON s.candidate = a.candidate AND s.baseline = a.baseline
JOIN fairest AS f ON f.candidate = a.candidate AND f.baseline <> a.baseline
"""
_WORDED = """
SELECT v.candidate_name, v.baseline_name, v.n_entailed, v.reasons, v.caveats, v.vouched, c.*
FROM chosen AS c
LEFT JOIN comparison_of('chosen') AS v ON v.candidate = c.candidate AND v.baseline = c.baseline
ORDER BY c.candidate, c.is_fairest DESC
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

    Columns: those of view ``comparison`` that are no text and no name, same_model (False: known to serve
    different ones), measured (both have clean windows at a common batch size and context), common_size (the
    smallest batch size with two clean windows on both sides, at whatever contexts), baseline_tok_s there,
    place (the smaller, the fairer; no two of a candidate alike): by model, verdict, measured, number of
    confounders, of unknowns; then the newest run, then the run_id, so that the order of ingestion does not
    matter.
    """
    only = ""
    for side, ids in (("candidate", candidates), ("baseline", baselines)):
        if ids is not None:
            store.rows(f"SET VARIABLE speclog_{side} = CAST(? AS VARCHAR[])", [list(ids)])
            only += _ONLY.format(side=side)
    store.script(_ASKED.format(only=only))
    store.script(_JUDGE)


def choices(store: Store, baselines: Sequence[str] | None = None) -> dict[str, Choice]:
    """Choose a baseline for every candidate of the last `judge`, among ``baselines`` (None: all judged)."""
    some = None if baselines is None else list(baselines)
    store.rows("SET VARIABLE speclog_among = CAST(? AS VARCHAR[])", [some])
    store.script(_CHOSEN)
    names, rows = store.result(_WORDED)
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
    fastest = next((row for row in rows if row["is_fastest"] and row["common_size"] is not None), None)
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
