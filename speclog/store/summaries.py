"""Summaries of runs: what their decode windows add up to, kept so that questions about levels read no window.

A summary is written in the transaction of the ingest (`Store.insert` does it), by the same SQL that the views
use where there is none; so a missing or outdated one costs time and changes no number. Runs without a valid
summary: a very long log, a log that is being followed, one whose meaning an annotation changed, a store
written by a speclog with another method. `write` without ``run_ids`` makes up for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speclog.store.handle import Store

AT_ONCE = 200_000
"""Decode windows that an ingest sums up itself (about a second of work); more are only counted."""
AT_REFRESH = 1_000_000
"""Decode windows summed up when a newer speclog first writes to a store."""

_OPEN = """
CREATE OR REPLACE TEMP TABLE fresh_run AS
SELECT
    CAST(uuid() AS VARCHAR) AS summary_id, r.ingest_id, r.run_id, r.ingested_at, m.method, r.speculative,
    r.rounds_per_window, r.n_windows AS windows, r.n_accept AS accept_windows,
    CAST(now() AT TIME ZONE 'UTC' AS TIMESTAMP) AS summed_at, r.name
FROM open_run AS r CROSS JOIN level_method AS m
"""
_AMONG = "WHERE list_contains(getvariable('speclog_runs'), r.run_id)"

_SUM = """
CREATE OR REPLACE TEMP TABLE fresh_window AS SELECT * FROM level_window_of('fresh_run');
INSERT INTO raw_level BY NAME SELECT f.summary_id, f.ingest_id, s.* EXCLUDE (run)
FROM level_count_of('fresh_window') AS s JOIN fresh_run AS f USING (run_id);
INSERT INTO raw_level_line BY NAME SELECT f.summary_id, f.ingest_id, s.*
FROM level_line_of('fresh_window') AS s JOIN fresh_run AS f USING (run_id);
INSERT INTO raw_rank_level BY NAME SELECT f.summary_id, f.ingest_id, s.*
FROM rank_level_of('fresh_run') AS s JOIN fresh_run AS f USING (run_id);
DROP TABLE fresh_window
"""

_RECORD = """
INSERT INTO raw_summary BY NAME SELECT * EXCLUDE (name) FROM fresh_run;
DROP TABLE fresh_run
"""


def write(store: Store, run_ids: Sequence[str] | None = None, *, limit: int | None = None) -> int:
    """Sum up the runs that have no valid summary (or those among ``run_ids``); return how many.

    Belongs into a transaction. With more than ``limit`` decode windows in all, the runs are only counted.
    Raises StoreError when the store fails.
    """
    if run_ids is not None:
        store.rows("SET VARIABLE speclog_runs = CAST(? AS VARCHAR[])", [list(run_ids)])
    store.script(_OPEN + (_AMONG if run_ids is not None else ""))
    runs, windows = store.rows("SELECT count(*), CAST(coalesce(sum(windows), 0) AS BIGINT) FROM fresh_run")[0]
    small = limit is None or windows <= limit
    if not small:
        store.script("UPDATE fresh_run SET method = NULL")
    elif windows:
        store.script(_SUM)
    store.script(_RECORD)
    return int(runs) if small else 0
