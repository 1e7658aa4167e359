"""Chunks of bytes to frames of the lines worth reading: noise dropped first, the rest cleaned.

A frame has ``line_no`` (0-based, in the chunk) and ``text`` (no wrapper, no colour, no carriage return).
Lines that a declaration marks as droppable noise (access lines: 96 % of a real log) are only counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import polars as pl

from speclog.formats.spec import load_kinds
from speclog.formats.wraps import ANSI, rust_wrap_pattern, unwrap

_MAX_LINE = 1 << 20
_TEXT = pl.col("text")


@dataclass(frozen=True, slots=True)
class Lines:
    """What a chunk holds: its kept lines and how many lines it had.

    ``verbatim``: the frame holds every line just as it is in the bytes. ``replaced``: some were not UTF-8.
    """

    frame: pl.DataFrame
    count: int
    verbatim: bool
    replaced: bool


def read_lines(data: bytes) -> Lines:
    """Lines of a chunk of whole lines."""
    try:
        every, replaced = fast_lines(data), False
    except (pl.exceptions.ComputeError, AttributeError):  # not UTF-8, or a polars without that reader
        every, replaced = plain_lines(data), True
    kept = without_noise(every) if _is_noisy(data) else every
    clean = _clean(kept, returns=b"\r" in data, colours=b"\x1b" in data)
    verbatim = clean is every and not replaced
    return Lines(clean.with_columns(pl.col("line_no").cast(pl.Int64)), every.height, verbatim, replaced)


def without_noise(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame without the lines that a declaration drops by a literal."""
    for literal in _drops():
        noise = frame["text"].str.contains(literal, literal=True)
        frame = frame.filter(~noise) if noise.any() else frame
    return frame


def _is_noisy(data: bytes) -> bool:
    """Whether samples of a chunk hold droppable noise; if not, it is looked for when batch lines are out."""
    middle = len(data) // 2
    samples = (data[:_SAMPLE], data[middle : middle + _SAMPLE], data[-_SAMPLE:])
    return any(literal.encode() in sample for literal in _drops() for sample in samples)


_SAMPLE = 1 << 14


def fast_lines(data: bytes) -> pl.DataFrame:
    """All lines, split by polars. Raises ComputeError where the bytes are not UTF-8."""
    if not data:
        return pl.DataFrame(schema={"line_no": pl.Int64, "text": pl.String})
    return pl.scan_lines(data, name="text", row_index_name="line_no").collect(engine="in-memory")


def plain_lines(data: bytes) -> pl.DataFrame:
    """All lines, split by Python; bytes that are not UTF-8 become U+FFFD."""
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    text = pl.Series("text", [line.removesuffix("\r") for line in lines], dtype=pl.String)
    return text.to_frame().with_row_index("line_no")


@cache
def _drops() -> tuple[str, ...]:
    return tuple(kind.drop for kind in load_kinds() if kind.drop)


@cache
def _bars() -> tuple[str, ...]:
    return tuple(literal for kind in load_kinds() for literal in kind.drop_bare)


def _clean(frame: pl.DataFrame, *, returns: bool, colours: bool) -> pl.DataFrame:
    """Cut at carriage returns; colours, wrappers and progress bars off; the same frame if there are none."""
    if returns:
        parts = _TEXT.str.strip_chars_end("\r").str.split("\r")
        frame = frame.with_columns(parts).explode("text").with_columns(_TEXT.fill_null(""))
    if colours:
        frame = frame.with_columns(_TEXT.str.replace_all(ANSI, ""))
    odd = ~frame["text"].str.starts_with("[20")
    return _unwrap(frame, odd) if odd.any() else frame


def _unwrap(frame: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    """Wrappers off by columns; what then still looks odd, line by line; bars away."""
    places = odd.arg_true()
    lines = frame["text"].gather(places).to_frame()
    bars = pl.any_horizontal(_TEXT.str.contains(literal, literal=True) for literal in _bars())
    lines = lines.with_columns(
        pl.when(bars & _TEXT.str.contains(_GLUED)).then(_TEXT.str.extract(_GLUED)).otherwise(_TEXT)
    )
    lines = lines.with_columns(_TEXT.str.replace(rust_wrap_pattern(), ""))
    still = lines.select(~_TEXT.str.starts_with("[20") & _suspicious()).to_series()
    text = lines["text"]
    if still.any():
        slow = [unwrap(line[:_MAX_LINE]) for line in text.filter(still).to_list()]
        text = text.scatter(still.arg_true(), slow)
    gone = text.to_frame().select(bars & ~_TEXT.str.starts_with("[20")).to_series()
    frame = frame.with_columns(frame["text"].scatter(places, text))
    return frame.filter(~_mask(frame.height, places.filter(gone))) if gone.any() else frame


# A logger's line behind a progress bar that ended without a newline.
_GLUED = r"\][^\[]*(\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d.*)$"


def _mask(height: int, places: pl.Series) -> pl.Series:
    return pl.repeat(False, height, eager=True).scatter(places, True)


def _suspicious() -> pl.Expr:
    """Lines that may hide a log line: a JSON string or object, a byte order mark, a tag before a bracket."""
    return (
        _TEXT.str.starts_with("{")
        | _TEXT.str.starts_with("\ufeff")
        | _TEXT.str.contains(r'^\s*"')
        | _TEXT.str.contains("[20", literal=True)
    )


def last_timestamp(data: bytes) -> str | None:
    """The timestamp of the last line of a chunk that has one, as printed (``2026-01-29 01:16:05``)."""
    tail = data[-8192:].decode("utf-8", "replace")
    found = re.findall(r"(?:^|[\n\r ])\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", tail)
    return found[-1] if found else None
