"""Collecting what no view shows any more, and compacting what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from speclog.store import engine, schema, summaries

if TYPE_CHECKING:
    from speclog.store.handle import Store

ORPHAN_AGE = timedelta(days=1)
"""Parquet files nobody refers to go only when older: a live writer's uncommitted files look the same."""

# An ingest is dead when its run is seen through another one, or through none. It died when the run's newest
# row was written.
_DEAD = """
SELECT i.ingest_id, i.run_id, i.run_id IN (SELECT run_id FROM current_ingest) AS superseded,
    max(n.died_at) AS died_at
FROM raw_ingest AS i
JOIN (SELECT run_id, max(ingested_at) AS died_at FROM raw_ingest GROUP BY run_id) AS n USING (run_id)
WHERE i.ingest_id NOT IN (SELECT ingest_id FROM current_ingest)
GROUP BY i.ingest_id, i.run_id
"""


@dataclass
class Collected:
    """What a collection did (or, as a dry run, would do)."""

    superseded_ingests: int = 0
    removed_runs: int = 0
    rows: int = 0
    kept_young: int = 0
    """Dead ingests that were left because they died too recently."""
    bytes_before: int | None = None
    bytes_after: int | None = None
    lake: dict[str, int] = field(default_factory=dict)
    """Of a lake: snapshots expired, files merged away, old and orphaned files deleted."""


def collect(store: Store, *, older_than: timedelta, dry_run: bool = False) -> Collected:
    """Delete what died more than ``older_than`` ago, sum up runs that are not (`summaries`), then compact.

    With ``dry_run`` only count.

    Raises StoreError when the store fails; the deletion is one transaction, the compaction changes no row.
    """
    done = Collected(bytes_before=store.size())
    cutoff = datetime.now(UTC).replace(tzinfo=None) - older_than
    if dry_run:
        _count(store, cutoff, done)
        done.bytes_after = done.bytes_before
        return done
    store.transaction(lambda: _delete(store, cutoff, done))
    store.transaction(lambda: summaries.write(store), committed=engine.never)
    if store.is_lake:
        _compact_lake(store, older_than, done)
    else:
        store.maintain("CHECKPOINT")
    done.bytes_after = store.size()
    return done


def _count(store: Store, cutoff: datetime, done: Collected) -> list[str]:
    """Fill in what is dead; return the ingest_ids old enough to go."""
    dead = store.rows(_DEAD)
    old = [row for row in dead if row[3] <= cutoff]
    done.kept_young = len(dead) - len(old)
    done.superseded_ingests = sum(1 for row in old if row[2])
    done.removed_runs = len({row[1] for row in old if not row[2]})
    ids = [row[0] for row in old]
    done.rows = sum(
        store.rows(f"SELECT count(*) FROM {table} WHERE list_contains(?, ingest_id)", [ids])[0][0]
        for table in _fact_tables(store)
        if ids
    )
    return ids


def _delete(store: Store, cutoff: datetime, done: Collected) -> None:
    ids = _count(store, cutoff, done)
    if not ids:
        return
    runs = {
        row[0] for row in store.rows("SELECT run_id FROM raw_ingest WHERE list_contains(?, ingest_id)", [ids])
    }
    for table in _fact_tables(store):
        store.rows(f"DELETE FROM {table} WHERE list_contains(?, ingest_id)", [ids])
    left = {row[0] for row in store.rows("SELECT run_id FROM raw_ingest")}
    if gone := sorted(runs - left):
        store.rows("DELETE FROM raw_annotation WHERE list_contains(?, run_id)", [gone])


def _fact_tables(store: Store) -> list[str]:
    """The raw tables that hold an ingest_id."""
    sql = "SELECT table_name FROM information_schema.columns WHERE column_name = 'ingest_id'"
    have = {row[0] for row in store.rows(sql)}
    return [item.name for item in schema.definitions() if item.part == "tables" and item.name in have]


def _compact_lake(store: Store, older_than: timedelta, done: Collected) -> None:
    lake = engine.LAKE
    now = datetime.now(UTC)
    before, orphans = now - older_than, now - max(older_than, ORPHAN_AGE)
    store.maintain(f"CALL ducklake_flush_inlined_data('{lake}')")
    files = _data_files(store)
    store.maintain(f"CALL ducklake_rewrite_data_files('{lake}')")
    store.maintain(f"CALL ducklake_merge_adjacent_files('{lake}')")
    done.lake["files_merged"] = max(files - _data_files(store), 0)
    for key, function, limit in (
        ("snapshots_expired", "ducklake_expire_snapshots", before),
        ("old_files_deleted", "ducklake_cleanup_old_files", before),
        ("orphans_deleted", "ducklake_delete_orphaned_files", orphans),
    ):
        call = f"{function}('{lake}', older_than => TIMESTAMPTZ '{limit.isoformat()}')"
        done.lake[key] = int(store.maintain(f"SELECT count(*) FROM {call}")[0][0])


def _data_files(store: Store) -> int:
    rows = store.rows(f"SELECT sum(file_count) FROM ducklake_table_info('{engine.LAKE}')")
    return int(rows[0][0] or 0)
