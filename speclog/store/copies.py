"""Copies of a log that end earlier than the one the store holds: an older copy, or one that was cut.

A log that grew replaces its run; what is only the beginning of it does not. An ingest is such a beginning
when it has fewer lines (or as many and fewer bytes) and its batches and profile windows, in their order, are
the first of those that the run is seen through. Places count, not line numbers: a copy may lack access lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speclog.store.handle import Store

# What tells one row from another; not times, whose zone may be known to one of the two readings only, nor
# what a second line adds, which a cut may have taken.
_TOLD = {
    "raw_decode_window": "dp_rank, running_req, token, gen_tok_s, queue_req",
    "raw_prefill_batch": "dp_rank, new_seq, new_token, cached_token, queue_req",
    "raw_profile_window": "kind, rank, win, n, cycle_ms",
}


@dataclass(frozen=True, slots=True)
class Longer:
    """The ingest that a run is seen through, which has more of the log than one that arrives."""

    ingest_id: str
    lines: int


def longer(store: Store, run_id: str, lines: int | None, size: int | None, *, but: str = "") -> Longer | None:
    """What the store shows of a run, if that has more lines or, of as many, more bytes."""
    found = store.rows(
        "SELECT ingest_id, lines FROM current_ingest "
        "WHERE run_id = ? AND (lines, bytes) > (CAST(? AS BIGINT), CAST(? AS BIGINT))",
        [run_id, lines, size],
    )
    return Longer(*found[0]) if found else None


def begins(store: Store, copy: str, last_line: int, stored: str) -> bool:
    """Whether what was written of ingest ``copy`` is how ingest ``stored`` begins.

    The copy's last line (of its first file) may be half a line and does not count.
    """
    return not any(_differing(store, table, copy, last_line, stored) for table in _TOLD)


def _differing(store: Store, table: str, copy: str, last_line: int, stored: str) -> int:
    placed = (
        f"SELECT source_index, line_no, {_TOLD[table]}, "
        "row_number() OVER (PARTITION BY source_index ORDER BY line_no) AS place "
        f"FROM {table} WHERE ingest_id = ?"
    )
    told = f"source_index, place, {_TOLD[table]}"
    sql = (
        f"SELECT count(*) FROM (SELECT {told} FROM ({placed}) WHERE source_index > 0 OR line_no < ? "
        f"EXCEPT SELECT {told} FROM ({placed}))"
    )
    return int(store.rows(sql, [copy, last_line, stored])[0][0])


def forget(store: Store, ingest_id: str) -> None:
    """Take back, within its transaction, the rows that were written of an ingest."""
    for table in (*_TOLD, "raw_decode_detail", "raw_event", "raw_server_arg"):
        store.rows(f"DELETE FROM {table} WHERE ingest_id = ?", [ingest_id])


def in_words(found: Longer, lines: int) -> str:
    """What a person is told of a copy that was not taken."""
    return f"older copy: the store has {found.lines} lines of this run, this has {lines}; kept"
