"""Lines that do not begin as a server's do: wrappers, colours and carriage returns off, progress bars away.

Few such lines (a start-up's) are cleaned one by one, many (a wrapped log's) as columns, to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from speclog.formats.block import Places
from speclog.formats.spec import drops, load_kinds
from speclog.formats.wraps import ANSI, rust_wrap_pattern, unwrap
from speclog.ingest.lines import TAIL, find_noise

if TYPE_CHECKING:
    import polars as pl

_MAX_LINE = 1 << 20
# What a file holds between its start and the place of a writer that does not append, once it was truncated.
_GAP = r"\x00+"
_NULS = re.compile(_GAP)
_ANSI = re.compile(ANSI)
# A logger's line behind a progress bar that ended without a newline.
_GLUED = r"\][^\[]*(\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d.*)$"
_BEHIND_BAR = re.compile(_GLUED)
# What Ray puts behind a line that several processes printed.
_RAY_MARK, _RAY_TAIL = "x across cluster]", r"(?:\^?\[[\[\d;]{1,8}m)? \[repeated \d+x across cluster\].*$"
_REPEATED = re.compile(_RAY_TAIL)


@cache
def bar_literals() -> tuple[str, ...]:
    """Literals of progress bars."""
    return tuple(literal for kind in load_kinds() for literal in kind.drop_bare)


@cache
def _bar() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, bar_literals())))


@cache
def _wrap() -> re.Pattern[str]:
    return re.compile(rust_wrap_pattern())


def cleaned(text: str) -> list[str]:
    """The lines that a line is when cut at carriage returns and NULs, clean; bars, noise, gaps left out."""
    if "\0" in text:
        text = _NULS.sub("\r", text)
    parts = text.rstrip("\r").split("\r") if "\r" in text else [text]
    if len(parts) > 1:
        parts = [part for part in parts if part]
    has_bar, wrap = _bar().search, _wrap().sub
    if not _MAYBE_HIDDEN.search(text):  # nothing but bars, and lines of programs that are no server
        return [wrap("", part, 1) for part in parts if not has_bar(part)]
    return [line for part in parts for line in _cleaned_part(part)]


_MAYBE_HIDDEN = re.compile(r'\[20|["{\x1b\ufeff]')


def _cleaned_part(part: str) -> list[str]:
    if find_noise(part) is not None:
        return []
    line = _ANSI.sub("", part) if "\x1b" in part else part
    if line.startswith("[20"):
        return [line]
    if _RAY_MARK in line:
        line = _REPEATED.sub("", line)
    line = _wrap().sub("", line, count=1)
    if not line.startswith("[20") and _suspicious(line):
        return _hidden_lines(line)
    return [] if _bar().search(line) and not line.startswith("[20") else [line]


def _hidden_lines(text: str) -> list[str]:
    """The lines that a JSON string, or a line that only looks odd, holds: a string may hold several."""
    line = unwrap(text[:_MAX_LINE])
    if not line.isascii():
        line = line.encode("utf-8", "replace").decode()  # JSON can name halves of characters
    if "\n" in line:
        return [found for part in line.split("\n") for found in cleaned(part)]
    has_bar = _bar().search(line) is not None
    if line != text and ("\r" in line or has_bar):
        return cleaned(line)
    if has_bar and not line.startswith("[20"):
        glued = _BEHIND_BAR.search(line)
        return [glued[1]] if glued else []
    return [line]


_QUOTED = re.compile(r'\s*"')


def _suspicious(line: str) -> bool:
    """Whether a line may hide a log line: a JSON string or object, a byte order mark, a tag before it."""
    return "[20" in line or line.startswith(("{", "\ufeff")) or _QUOTED.match(line) is not None


def cleaned_columns(rows: Places, texts: Sequence[str]) -> pl.DataFrame:
    """`cleaned` for many lines at once: columns row, text."""
    import polars as pl

    text = pl.col("text")
    frame = pl.DataFrame({"row": rows, "text": pl.Series(texts, dtype=pl.String)})
    if frame["text"].str.contains("\0", literal=True).any():
        frame = frame.with_columns(text.str.replace_all(_GAP, "\r"))
    if frame["text"].str.contains("\r", literal=True).any():
        parts = text.str.strip_chars_end("\r").str.split("\r")
        some = parts.list.eval(pl.element().filter(pl.element() != ""))
        parts = pl.when(parts.list.len() > 1).then(some).otherwise(parts)
        frame = frame.with_columns(parts).explode("text").drop_nulls()
    noise = pl.any_horizontal(text.str.tail(TAIL).str.contains(drop, literal=True) for drop in drops())
    frame = frame.filter(~noise).with_columns(text.str.replace_all(ANSI, ""))
    odd = ~frame["text"].str.starts_with("[20")
    return _unwrapped(frame, odd) if odd.any() else frame


def _unwrapped(frame: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    import polars as pl

    line = pl.col("text")
    places = odd.arg_true()
    lines = frame["text"].gather(places).to_frame()
    if lines["text"].str.contains(_RAY_MARK, literal=True).any():
        lines = lines.with_columns(line.str.replace(_RAY_TAIL, ""))
    lines = lines.with_columns(line.str.replace(rust_wrap_pattern(), ""))
    hidden = (
        line.str.starts_with("{")
        | line.str.starts_with("\ufeff")
        | line.str.contains(r'^\s*"')
        | line.str.contains("[20", literal=True)
    )
    still = lines.select(~line.str.starts_with("[20") & hidden).to_series()
    text = lines["text"]
    if still.any():
        hidden_in = map(_hidden_lines, text.filter(still).to_list())
        slow = ["\r".join(found) if found else None for found in hidden_in]
        text = text.scatter(still.arg_true(), slow)
    bars = pl.any_horizontal(line.str.contains(literal, literal=True) for literal in bar_literals())
    gone = text.to_frame().select(line.is_null() | (bars & ~line.str.starts_with("[20"))).to_series()
    frame = frame.with_columns(frame["text"].scatter(places, text))
    keep = pl.repeat(True, frame.height, eager=True).scatter(places.filter(gone), False)
    frame = frame.filter(keep) if gone.any() else frame
    return frame.with_columns(line.str.split("\r")).explode("text") if still.any() else frame
