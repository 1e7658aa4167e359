"""Chunks of bytes to frames of the lines worth reading: noise dropped first, the rest cleaned.

A frame has ``line_no`` (1-based, in the file) and ``text`` (no wrapper, no colour, no carriage return). Lines
that a declaration marks as droppable noise (access lines: 96 % of a real log) are only counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import polars as pl

from speclog.formats.spec import load_kinds
from speclog.formats.wraps import ANSI, rust_wrap_pattern, unwrap

_MAX_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class Lines:
    """What a chunk holds: its kept lines, how many lines it had, and the noise that was only counted."""

    frame: pl.DataFrame
    count: int
    dropped: int
    replaced: bool  # some bytes were not UTF-8


def read_lines(data: bytes, first_line: int) -> Lines:
    """Lines of a chunk that ends at a line's end; ``first_line`` is the number of its first line."""
    if not data:
        return Lines(_empty(), 0, 0, False)
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    try:
        frame, replaced = _scan(data, first_line), False
    except pl.exceptions.ComputeError:
        frame, replaced = _scan(data.decode("utf-8", "replace").encode(), first_line), True
    return Lines(_clean(frame), count, count - frame.height, replaced)


def _empty() -> pl.DataFrame:
    return pl.DataFrame(schema={"line_no": pl.Int64, "text": pl.String})


def _scan(data: bytes, first_line: int) -> pl.DataFrame:
    lines = pl.scan_lines(data, name="text", row_index_name="line_no", row_index_offset=first_line)
    text = pl.col("text")
    for literal in _drops():
        lines = lines.filter(~text.str.contains(literal, literal=True))
    return lines.with_columns(pl.col("line_no").cast(pl.Int64)).collect(engine="in-memory")


@cache
def _drops() -> tuple[str, ...]:
    return tuple(kind.drop for kind in load_kinds() if kind.drop)


def _clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Cut at carriage returns, then take off wrappers from the lines that have any."""
    text = pl.col("text")
    if frame.select(text.str.contains("\r", literal=True).any()).item():
        frame = (
            frame.with_columns(text.str.strip_chars_end("\r").str.split("\r"))
            .explode("text")
            .with_columns(text.fill_null(""))
        )
    odd = frame.select(~text.str.starts_with("[20")).to_series()
    colour = frame.select(text.str.contains("\x1b", literal=True)).to_series()
    if colour.any():
        frame = frame.with_columns(text.str.replace_all(ANSI, ""))
    return _unwrap(frame, odd) if odd.any() else frame


def _unwrap(frame: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    """Wrappers off by columns; what then still looks odd, line by line."""
    text = pl.col("text")
    mask = pl.lit(odd)
    frame = frame.with_columns(pl.when(mask).then(text.str.replace(rust_wrap_pattern(), "")).otherwise(text))
    still = frame.select(mask & ~text.str.starts_with("[20") & _suspicious(text)).to_series()
    if not still.any():
        return frame
    slow = [unwrap(line[:_MAX_LINE]) for line in frame.filter(still)["text"].to_list()]
    return frame.with_columns(frame["text"].scatter(still.arg_true(), slow))


def _suspicious(text: pl.Expr) -> pl.Expr:
    """Lines that may hide a log line: a JSON string or object, a byte order mark, a tag before a bracket."""
    return (
        text.str.starts_with("{")
        | text.str.starts_with("\ufeff")
        | text.str.contains(r'^\s*"')
        | text.str.contains("[20", literal=True)
    )


def last_timestamp(data: bytes) -> str | None:
    """The timestamp of the last line of a chunk that has one, as printed (``2026-01-29 01:16:05``)."""
    tail = data[-65536:].decode("utf-8", "replace")
    found = re.findall(r"(?:^|[\n\r ])\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", tail)
    return found[-1] if found else None
