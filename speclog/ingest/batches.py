"""One chunk of bytes as typed batch rows and remaining lines. Pure, so chunks can be read side by side."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache

import polars as pl

from speclog.formats.columns import read_columns
from speclog.formats.spec import Kind, load_kinds
from speclog.ingest.lines import last_timestamp, read_lines, without_noise


@dataclass(frozen=True, slots=True)
class Parsed:
    """A chunk read by itself. Line numbers count from 0 at its first line.

    ``typed``: batch rows by table. ``others``: all remaining kept lines. ``kept``: every kept line.
    ``raw``: the chunk's bytes if the kept lines are exactly these, else None.
    """

    size: int
    count: int
    kept: pl.DataFrame
    typed: dict[str, pl.DataFrame]
    others: pl.DataFrame
    raw: bytes | None
    tail_time: datetime | None
    replaced: bool
    binary: bool


@cache
def batch_kinds() -> dict[str, Kind]:
    """Kinds read as columns, by the table they go to."""
    return {kind.table: kind for kind in load_kinds() if kind.shape == "pieces"}


def parse_chunk(data: bytes) -> Parsed:
    """Read a chunk of whole lines."""
    lines = read_lines(data)
    typed, others = split_batches(lines.frame)
    quiet = without_noise(others)
    kept = lines.frame
    if quiet.height < others.height:
        noise = others["line_no"].filter(~others["line_no"].is_in(quiet["line_no"].implode()))
        kept = kept.filter(~pl.col("line_no").is_in(noise.implode()))
    stamp = last_timestamp(data)
    return Parsed(
        size=len(data),
        count=lines.count,
        kept=kept,
        typed=typed,
        others=quiet,
        raw=data if lines.verbatim and kept is lines.frame else None,
        tail_time=_time(stamp) if stamp else None,
        replaced=lines.replaced,
        binary=b"\0" in data[:65536],
    )


def split_batches(frame: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Kept lines as (typed batch rows by table, all other lines incl. batch lines that could not be read)."""
    typed: dict[str, pl.DataFrame] = {}
    unread: list[pl.DataFrame] = []
    others = frame
    for table, kind in batch_kinds().items():
        mask = others["text"].str.contains(kind.starts[0], literal=True)
        if not mask.any():
            continue
        lines = others.filter(mask)
        others = others.filter(~mask)
        rows = read_columns(lines, kind)
        if rows.height < lines.height:
            known = rows["line_no"] if rows.width else pl.Series([], dtype=pl.Int64)
            unread.append(lines.filter(~pl.col("line_no").is_in(known.implode())))
        if not rows.is_empty():
            typed[table] = rows
    if unread:
        others = pl.concat([others, *unread]).sort("line_no", maintain_order=True)
    return typed, others


def _time(stamp: str) -> datetime | None:
    """The time a stamp names; None for one that only looks like a time (31 February, year 0)."""
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None
