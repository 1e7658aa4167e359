"""Rows of a long log, held back until a table has a row group of them.

What comes in smaller pieces DuckDB packs when the transaction ends, on one core and with nothing else left to
do; a whole row group it packs at once, beside the reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from speclog.store.rows import Rows

if TYPE_CHECKING:
    from speclog.ingest.build import Frames

ROW_GROUP = 122_880
"""Rows of a row group (DuckDB's default)."""
MOST_BYTES = 32 << 20
"""What is held of a table at most: messages can be long."""


class Pile:
    """Rows by table that are yet to be written, in the order they came in."""

    def __init__(self) -> None:
        self._held: dict[str, list[Rows]] = {}

    def add(self, frames: Frames, *, last: bool = False) -> Frames:
        """Take rows; those of tables that have enough by now, of all if these are the ``last``."""
        for table, rows in frames.items():
            self._held.setdefault(table, []).append(rows)
        full = [table for table, parts in self._held.items() if last or _fill(parts)]
        return {table: _joined(self._held.pop(table)) for table in full}


def _fill(parts: list[Rows]) -> bool:
    rows = sum(part.frame.height for part in parts)
    return rows >= ROW_GROUP or sum(part.frame.estimated_size() for part in parts) >= MOST_BYTES


def _joined(parts: list[Rows]) -> Rows:
    import polars as pl

    same = parts[0].same
    if all(part.same == same for part in parts):
        return Rows(pl.concat([part.frame for part in parts], how="diagonal_relaxed"), same)
    return Rows(pl.concat([part.whole() for part in parts], how="diagonal_relaxed"))
