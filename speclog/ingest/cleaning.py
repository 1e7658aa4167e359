"""Lines that do not begin as a server's do: wrappers, colours and carriage returns off, progress bars away.

Few such lines (a start-up's) are cleaned one by one, many (a wrapped log's) as columns, to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import polars as pl

from speclog.formats.block import Block, Places, block_of, constant, occurrences, rows_of
from speclog.formats.spec import load_kinds
from speclog.formats.wraps import ANSI, rust_wrap_pattern, unwrap
from speclog.ingest.lines import TAIL, drops, find_noise

_MAX_LINE = 1 << 20
_FEW = 4096
_HEAD = constant(b"[20")
_TEXT = pl.col("text")
_ANSI = re.compile(ANSI)
# A logger's line behind a progress bar that ended without a newline.
_GLUED = r"\][^\[]*(\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d.*)$"
_BEHIND_BAR = re.compile(_GLUED)


def clean(block: Block) -> Block:
    """The block with its odd lines cleaned; itself if it has none. Its lines must follow each other."""
    rows = _odd(block)
    if not len(rows):
        return block
    lines = block.slices(rows)
    left = [i for i, bar in enumerate(_are_bars(lines)) if not bar]
    if len(left) > _FEW:
        texts = [lines[i].decode("utf-8", "replace") for i in left]
        return _replaced(block, rows, list(cleaned_columns(rows[left], texts).iter_rows()))
    stays = np.ones(block.height, np.bool_)
    stays[rows] = False
    pairs = []
    for row, raw in zip(rows[left].tolist(), (lines[i] for i in left), strict=True):
        found = _known(raw) if len(raw) < _SHORT else _cleaned_bytes(raw)
        if found is None:
            stays[row] = True
        else:
            pairs += [(row, text) for text in found]
    if pairs:
        return _replaced(block, np.flatnonzero(~stays), pairs)
    return block.only(stays)


def _cleaned_bytes(raw: bytes) -> list[str] | None:
    """`cleaned` of a line; None where that is the line itself."""
    text = raw.decode("utf-8", "replace")
    found = cleaned(text)
    return None if len(found) == 1 and found[0] == text and "\ufffd" not in text else found


_SHORT = 512
_known = lru_cache(maxsize=4096)(_cleaned_bytes)


def _are_bars(lines: Sequence[bytes]) -> list[bool]:
    """Which lines are one progress bar and nothing else: as `cleaned` would find, but undecoded."""
    bars = [literal.encode() for literal in _bars()]
    return [
        any([bar in raw for bar in bars])  # noqa: C419 - a generator takes three times as long
        and raw.find(b"\r", 1) < 0
        and _MAYBE_HIDDEN_BYTES.search(raw) is None
        for raw in lines
    ]


# A byte order mark begins with EF.
_MAYBE_HIDDEN_BYTES = re.compile(rb'\[20|["{\x1b\xef]')


def _odd(block: Block) -> Places:
    """Lines that do not begin ``[20``, or hold a carriage return, a colour, or bytes that are not UTF-8."""
    if not block.height:
        return block.starts
    odd = _HEAD.differs(rows_of(block.data, block.starts, 1)) != 0
    size = int(block.ends[-1])
    every = np.frombuffer(block.data, np.uint8, size)
    for byte in b"\r\x1b":
        odd[np.searchsorted(block.ends, occurrences(block.data, byte, size))] = True
    if size and every.max() >= 128 and not _is_utf8(block.data[:size]):
        odd[np.searchsorted(block.ends, np.flatnonzero(every >= 128))] = True
    return np.flatnonzero(odd)


def _is_utf8(data: bytes | bytearray) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _replaced(block: Block, rows: Places, pairs: Sequence[tuple[int, str]]) -> Block:
    """The block with the lines ``rows`` replaced by those of ``pairs`` (row, text): none, one or several."""
    parts: list[bytes] = []
    numbers: list[Places] = []
    following = iter([*pairs, (-1, "")])
    row, text = next(following)
    start = 0
    for odd in [*rows.tolist(), block.height]:
        if odd > start:
            parts.append(bytes(block.data[block.starts[start] : block.ends[odd - 1]]))
            numbers.append(block.numbers[start:odd])
        while row == odd:
            parts.append(text.encode("utf-8", "replace"))
            numbers.append(block.numbers[odd : odd + 1])
            row, text = next(following)
        start = odd + 1
    none = np.empty(0, np.int64)
    return block_of(b"".join(part + b"\n" for part in parts), np.concatenate([none, *numbers]))


@cache
def _bars() -> tuple[str, ...]:
    return tuple(literal for kind in load_kinds() for literal in kind.drop_bare)


@cache
def _bar() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, _bars())))


@cache
def _wrap() -> re.Pattern[str]:
    return re.compile(rust_wrap_pattern())


def cleaned(text: str) -> list[str]:
    """The lines that a line is when cut at its carriage returns, clean; bars, noise and gaps left out."""
    parts = text.rstrip("\r").split("\r") if "\r" in text else [text]
    if len(parts) > 1:
        parts = [part for part in parts if part]
    has_bar, wrap = _bar().search, _wrap().sub
    if not _MAYBE_HIDDEN.search(text):  # nothing but bars, and lines of programs that are no server
        return [wrap("", part, 1) for part in parts if not has_bar(part)]
    return [line for part in parts if (line := _cleaned_part(part)) is not None]


_MAYBE_HIDDEN = re.compile(r'\[20|["{\x1b\ufeff]')


def _cleaned_part(part: str) -> str | None:
    if find_noise(part) is not None:
        return None
    line = _ANSI.sub("", part) if "\x1b" in part else part
    if line.startswith("[20"):
        return line
    has_bar = _bar().search
    if has_bar(line) and (glued := _BEHIND_BAR.search(line)):
        line = glued[1]
    line = _wrap().sub("", line, count=1)
    if not line.startswith("[20") and _suspicious(line):
        line = unwrap(line[:_MAX_LINE])
    return line if line.startswith("[20") or not has_bar(line) else None


_QUOTED = re.compile(r'\s*"')


def _suspicious(line: str) -> bool:
    """Whether a line may hide a log line: a JSON string or object, a byte order mark, a tag before it."""
    return "[20" in line or line.startswith(("{", "\ufeff")) or _QUOTED.match(line) is not None


def cleaned_columns(rows: Places, texts: Sequence[str]) -> pl.DataFrame:
    """`cleaned` for many lines at once: columns row, text."""
    frame = pl.DataFrame({"row": rows, "text": pl.Series(texts, dtype=pl.String)})
    if frame["text"].str.contains("\r", literal=True).any():
        parts = _TEXT.str.strip_chars_end("\r").str.split("\r")
        some = parts.list.eval(pl.element().filter(pl.element() != ""))
        parts = pl.when(parts.list.len() > 1).then(some).otherwise(parts)
        frame = frame.with_columns(parts).explode("text").drop_nulls()
    noise = pl.any_horizontal(_TEXT.str.tail(TAIL).str.contains(text, literal=True) for text in drops())
    frame = frame.filter(~noise).with_columns(_TEXT.str.replace_all(ANSI, ""))
    odd = ~frame["text"].str.starts_with("[20")
    return _unwrapped(frame, odd) if odd.any() else frame


def _unwrapped(frame: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    places = odd.arg_true()
    lines = frame["text"].gather(places).to_frame()
    bars = pl.any_horizontal(_TEXT.str.contains(literal, literal=True) for literal in _bars())
    lines = lines.with_columns(
        pl.when(bars & _TEXT.str.contains(_GLUED)).then(_TEXT.str.extract(_GLUED)).otherwise(_TEXT)
    )
    lines = lines.with_columns(_TEXT.str.replace(rust_wrap_pattern(), ""))
    hidden = (
        _TEXT.str.starts_with("{")
        | _TEXT.str.starts_with("\ufeff")
        | _TEXT.str.contains(r'^\s*"')
        | _TEXT.str.contains("[20", literal=True)
    )
    still = lines.select(~_TEXT.str.starts_with("[20") & hidden).to_series()
    text = lines["text"]
    if still.any():
        slow = [unwrap(line[:_MAX_LINE]) for line in text.filter(still).to_list()]
        text = text.scatter(still.arg_true(), slow)
    gone = text.to_frame().select(bars & ~_TEXT.str.starts_with("[20")).to_series()
    frame = frame.with_columns(frame["text"].scatter(places, text))
    keep = pl.repeat(True, frame.height, eager=True).scatter(places.filter(gone), False)
    return frame.filter(keep) if gone.any() else frame
