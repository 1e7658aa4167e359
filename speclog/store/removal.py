"""Taking runs out of sight and bringing them back. Nothing is deleted: `gc` does that, later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from speclog.errors import UsageError

if TYPE_CHECKING:
    from speclog.store.handle import Store

# The newest row of every run whose newest row says 'removed'.
_REMOVED = """
SELECT * EXCLUDE (place) FROM (
    SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY ingested_at DESC, ingest_id DESC) AS place
    FROM raw_ingest
) WHERE place = 1 AND status = 'removed'
"""


def remove(store: Store, run_ids: Sequence[str]) -> int:
    """Hide runs from every view; return how many. `restore` undoes it until `gc` has collected them."""
    return _follow_up(store, "current_ingest", "removed", run_ids)


def restore(store: Store, run_ids: Sequence[str]) -> int:
    """Show removed runs again; return how many."""
    return _follow_up(store, f"({_REMOVED})", "complete", run_ids)


def removed_runs(store: Store) -> list[tuple[str, str, datetime]]:
    """Return (run_id, name, removed_at UTC) of what `restore` can bring back, newest removal first."""
    sql = (
        "SELECT i.run_id, r.name, i.ingested_at "
        f"FROM ({_REMOVED}) AS i JOIN raw_run AS r USING (ingest_id) ORDER BY i.ingested_at DESC, i.run_id"
    )
    return [(str(run_id), str(name), at) for run_id, name, at in store.rows(sql)]


def resolve_removed(store: Store, text: str) -> list[str]:
    """Return the removed runs that ``text`` names: an id, the start of one (four characters), or a name.

    Raises UsageError when there is none.
    """
    found = [
        run_id
        for run_id, name, _ in removed_runs(store)
        if text in (run_id, name) or (len(text) >= 4 and run_id.startswith(text))
    ]
    if not found:
        raise UsageError(f"{text}: no removed run has this id or name; `speclog runs restore` lists them")
    return found


def _follow_up(store: Store, source: str, status: str, run_ids: Sequence[str]) -> int:
    """Append the newest row of each run once more, with another status.

    A clock that runs behind the one that ingested must not put the new row before the old one.
    """
    if not run_ids:
        return 0
    listed = ", ".join("?" for _ in run_ids)
    chosen = f"FROM {source} AS i WHERE run_id IN ({listed})"
    now = datetime.now(UTC).replace(tzinfo=None)
    newer = "greatest(CAST(? AS TIMESTAMP), ingested_at + INTERVAL 1 MICROSECOND)"

    def write() -> int:
        count = store.rows(f"SELECT count(*) {chosen}", list(run_ids))[0][0]
        store.rows(
            f"INSERT INTO raw_ingest BY NAME "
            f"SELECT i.* REPLACE ({newer} AS ingested_at, CAST(? AS VARCHAR) AS status) {chosen}",
            [now, status, *run_ids],
        )
        return int(count)

    return store.transaction(write) or 0
