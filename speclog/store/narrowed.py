"""The raw lines of a few runs of a big store, found by their times.

A run's rows lie together, but its id does not say where: among ids that are hashes every part of a table
holds smaller and greater ones, so a filter by id reads the column of every run, and of all columns what
stands at their heads. Times grow along the table, and DuckDB knows the first and last of each part (of each
file of a lake): a filter by the times at which the runs printed skips all other parts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from speclog.errors import SpeclogError

if TYPE_CHECKING:
    from speclog.store.handle import Store

TABLES = ("raw_decode_window", "raw_prefill_batch")
BIG = 1_000_000
"""Decode windows of a store from which looking for times first pays."""


@contextmanager
def lines_of(store: Store, run_ids: Sequence[str]) -> Iterator[None]:
    """Within the block, `TABLES` are tables of this connection with the rows of these runs only.

    Views and macros look names up among temporary objects first. In a store that is not `BIG` nothing is
    done. Raises StoreError when the store fails.
    """
    windows = store.rows("SELECT CAST(coalesce(sum(n_windows), 0) AS BIGINT) FROM window_count")[0][0]
    if windows < BIG or not run_ids:
        yield
        return
    made: list[str] = []
    with store.holding():
        try:
            for table in TABLES:
                store.script(f"CREATE OR REPLACE TEMP TABLE narrowed AS {_rows_of(store, table, run_ids)}")
                store.script(f"ALTER TABLE temp.narrowed RENAME TO {table}")
                made.append(table)
            yield
        finally:
            with contextlib.suppress(SpeclogError):  # a connection that was lost holds nothing to drop
                for table in made:
                    store.script(f"DROP TABLE temp.{table}")


def _rows_of(store: Store, table: str, run_ids: Sequence[str]) -> str:
    """A query for the rows of runs that names the times between which they lie."""
    some = "run_id IN (SELECT unnest(getvariable('speclog_lines_of')))"
    store.rows("SET VARIABLE speclog_lines_of = CAST(? AS VARCHAR[])", [list(run_ids)])
    spans = store.rows(
        "SELECT CAST(min(ts) AS VARCHAR), CAST(max(ts) AS VARCHAR), count(*) > count(ts) "
        f"FROM {table} WHERE {some} GROUP BY run_id"
    )
    known = [f"ts BETWEEN TIMESTAMP '{first}' AND TIMESTAMP '{last}'" for first, last, _ in spans if first]
    if any(lacks_time for _, _, lacks_time in spans):
        known.append("ts IS NULL")
    return f"SELECT * FROM {table} WHERE {some} AND ({' OR '.join(known) or 'false'})"
