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
    several = {lines[i] for i in left}
    if len(several) > _FEW:
        texts = [lines[i].decode("utf-8", "replace") for i in left]
        return _replaced(block, rows, list(cleaned_columns(rows[left], texts).iter_rows()))
    known = {raw: _remembered(raw) if len(raw) < _SHORT else _cleaned_bytes(raw) for raw in several}
    stays = np.ones(block.height, np.bool_)
    stays[rows] = False
    stays[rows[[i for i in left if known[lines[i]] is None]]] = True
    changed = [i for i in left if known[lines[i]]]
    if not changed:
        return block.only(stays)
    parts = [(row, known[lines[i]] or []) for row, i in zip(rows[changed].tolist(), changed, strict=True)]
    pairs = [(row, text) for row, texts in parts for text in texts]
    return _replaced(block, np.flatnonzero(~stays), pairs)


def _cleaned_bytes(raw: bytes) -> list[str] | None:
    """`cleaned` of a line; None where that is the line itself."""
    text = raw.decode("utf-8", "replace")
    found = cleaned(text)
    return None if len(found) == 1 and found[0] == text and "\ufffd" not in text else found


_SHORT = 512
_remembered = lru_cache(maxsize=4096)(_cleaned_bytes)


def _are_bars(lines: Sequence[bytes]) -> list[bool]:
    """Which lines are one progress bar and nothing else: as `cleaned` would find, but undecoded."""
    bars = tuple(literal.encode() for literal in _bars())
    return [_holds_one_of(bars, raw) and not _may_hide(raw) for raw in lines]


def _holds_one_of(bars: tuple[bytes, ...], raw: bytes) -> bool:
    for bar in bars:  # noqa: SIM110 - a generator takes three times as long
        if bar in raw:
            return True
    return False


def _may_hide(raw: bytes) -> bool:
    """Whether a bar may not be all there is: `_MAYBE_HIDDEN`, or another line behind a carriage return."""
    return raw.find(b"\r", 1) >= 0 or b"[20" in raw or len(raw.translate(None, _BEFORE_HIDDEN)) < len(raw)


_BEFORE_HIDDEN = b'"{\x1b\xef'  # a byte order mark begins with EF


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
    order: list[int] = []
    following = iter([*pairs, (-1, "")])
    row, text = next(following)
    start = 0
    for odd in [*rows.tolist(), block.height]:
        if odd > start:
            parts.append(bytes(block.data[block.starts[start] : block.ends[odd - 1]]))
            order.extend(range(start, odd))
        while row == odd:
            parts.append(text.encode("utf-8", "replace"))
            order.append(odd)
            row, text = next(following)
        start = odd + 1
    numbers = block.numbers[np.array(order, np.int64)]
    return block_of(b"".join(part + b"\n" for part in parts), numbers)


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
