"""Taking runs out of sight and bringing them back. Nothing is deleted: `gc` does that, later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from speclog.errors import UsageError
from speclog.store import naming

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
    return [(run_id, name, at) for run_id, name, at, _ in _removed(store)]


def resolve_removed(store: Store, text: str) -> list[str]:
    """Return the removed runs that ``text`` names, as `speclog.runs.resolve` does for those in sight.

    Raises UsageError when there is none, or when several ids start so.
    """
    removed = [(run_id, name, tag) for run_id, name, _, tag in _removed(store)]
    if found := naming.matches(text, removed):
        return found
    if several := len(naming.with_prefix(text, removed)):
        raise UsageError(f"{text}: {several} removed runs have an id that starts so; type more of it")
    raise UsageError(f"{text}: no removed run has this id, name or tag; `speclog runs restore` lists them")


def _removed(store: Store) -> list[tuple[str, str, datetime, str | None]]:
    """Removed runs with their names and tags; a log that was followed has several rows in raw_run."""
    sql = (
        "SELECT i.run_id, max_by(r.name, coalesce(r.last_line, 0)), i.ingested_at, max(a.value) "
        f"FROM ({_REMOVED}) AS i JOIN raw_run AS r USING (ingest_id) "
        "LEFT JOIN annotation AS a ON a.run_id = i.run_id AND a.key = 'tag' "
        "GROUP BY i.run_id, i.ingested_at ORDER BY i.ingested_at DESC, i.run_id"
    )
    return [(str(run_id), str(name), at, tag) for run_id, name, at, tag in store.rows(sql)]


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
