"""What an import takes: of each ingest that arrives, whether its run is seen through it from then on.

The table ``arriving`` of the connection holds the ingests that are taken, and the time by which each is
shown: views show the newest, and what is the whole of a log that the store has the beginning of must be that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speclog.store import copies

if TYPE_CHECKING:
    from speclog.store.handle import Store

_LOOKED_UP = """
CREATE OR REPLACE TEMP TABLE arriving AS
SELECT
    a.ingest_id, a.run_id, a.ingested_at, a.ingested_at AS shown_at, a.last_line,
    {{'lines': a.lines, 'bytes': a.bytes}} AS size, n.newest, coalesce(n.removed, false) AS removed,
    c.ingest_id AS stored, c.last_line AS stored_last, {{'lines': c.lines, 'bytes': c.bytes}} AS stored_size,
    coalesce(c.sha256 = a.sha256, false) AS read_anew,
    EXISTS (
        SELECT 1 FROM raw_ingest AS h
        WHERE h.run_id = a.run_id AND (
            h.ingest_id = a.ingest_id OR (h.sha256 = a.sha256 AND h.parser_version >= a.parser_version)
        )
    ) AS known
FROM {scan} AS a
LEFT JOIN (
    SELECT run_id, max(ingested_at) AS newest, max_by(status, (ingested_at, ingest_id)) = 'removed' AS removed
    FROM raw_ingest GROUP BY run_id
) AS n ON n.run_id = a.run_id
LEFT JOIN current_ingest AS c ON c.run_id = a.run_id
"""
_HIDDEN = "removed AND (known OR newest >= ingested_at)"


@dataclass
class Arrivals:
    """How many runs came, and why others were not taken."""

    runs: int
    removed: int
    """Someone took the run out of sight here (`speclog runs rm`), and it was not read since."""
    older: int = 0
    """The store shows a newer reading of the run, or more of its log."""


def look_up(store: Store, scan: str) -> Arrivals:
    """Make ``arriving``: the ingests of ``scan`` (a table function over raw_ingest's files) that may come."""
    store.script(_LOOKED_UP.format(scan=scan))
    runs, removed = store.rows(
        f"SELECT count(DISTINCT run_id), count(DISTINCT run_id) FILTER ({_HIDDEN}) FROM arriving"
    )[0]
    store.rows(f"DELETE FROM arriving WHERE known OR ({_HIDDEN})")
    return Arrivals(runs, removed)


def settle(store: Store, found: Arrivals) -> list[str]:
    """Once their rows are in the store: ingests to be taken back, which leave ``arriving``."""
    back = []
    for (ingest_id,) in store.rows("SELECT ingest_id FROM arriving WHERE stored IS NOT NULL"):
        if _is_shown(store, ingest_id):
            later = "greatest(ingested_at, newest + INTERVAL 1 MICROSECOND)"
            store.rows(f"UPDATE arriving SET shown_at = {later} WHERE ingest_id = ?", [ingest_id])
        else:
            back.append(ingest_id)
    store.rows("DELETE FROM arriving WHERE list_contains(?, ingest_id)", [back])
    found.older = len(back)
    return back


def _is_shown(store: Store, ingest_id: str) -> bool:
    last, stored, stored_last, fewer, more, anew, newer = store.rows(
        "SELECT last_line, stored, stored_last, size < stored_size, size > stored_size, read_anew, "
        "ingested_at > newest FROM arriving WHERE ingest_id = ?",
        [ingest_id],
    )[0]
    if fewer and copies.begins(store, ingest_id, last, stored):
        return False
    return bool(newer or anew or (more and copies.begins(store, stored, stored_last, ingest_id)))


def shown_at(table: str) -> str:
    """What replaces ``ingested_at`` of a row ``t`` of this table, its ingest being ``e`` of ``arriving``."""
    if table == "raw_ingest":
        return "e.shown_at"
    return "CASE WHEN t.ingested_at = e.ingested_at THEN e.shown_at ELSE t.ingested_at END"


def left_out(found: Arrivals) -> Sequence[str]:
    """In words, of the runs that did not come: those that a person may miss."""
    told = []
    if found.removed:
        told.append(f"{found.removed} of them removed (`speclog runs restore` brings them back)")
    if found.older:
        told.append(f"{found.older} of them in an older reading or with less of the log")
    return told
