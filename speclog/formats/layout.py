"""How one line of shape "pieces" is laid out, learnt from it: constant text and typed values in turn.

A log prints such lines in very few layouts. All lines that have one - every constant byte in its place, every
value of its type between - are read together as arrays; the proof that a line has it is that reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speclog.formats.block import PAD, Block, Constant, Mask, Places, Words, constant, rows_of
from speclog.formats.digits import DIGITS, decimals, whole_numbers, wide_decimals
from speclog.formats.prefix import STAMP, head_pattern, ranks
from speclog.formats.spec import Kind
from speclog.formats.stamps import times

RANKS = {"DP": "dp_rank", "PP": "pp_rank", "TP": "tp_rank", "EP": "ep_rank"}
_MICROS = "micros"
_LONGEST = PAD // 2
_HEAD = re.compile(head_pattern())
_WHOLE = re.compile(rf"\d{{1,{DIGITS}}}")
_DECIMAL = re.compile(r"\d{1,8}(?:\.(\d{1,6}))?")
_ITERATION = re.compile(rf" \[({_WHOLE.pattern})\]")

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the text before it: column, type (int, float, bool), digits behind its point."""

    before: bytes
    name: str
    type: str
    fraction: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """``[YYYY-mm-dd HH:MM:SS``, values with the text before each, and the text ``behind`` the last.

    ``constants`` are columns that the constant text gives: ranks.
    """

    kind: Kind
    values: tuple[Value, ...]
    behind: bytes
    constants: tuple[tuple[str, int], ...]

    @property
    def key(self) -> tuple[str, tuple[Value, ...], bytes]:
        """What tells it from other layouts."""
        return self.kind.name, self.values, self.behind


def learn(line: str, kind: Kind) -> Layout | None:
    """The layout of a line of a kind; None where only the engine can read it."""
    head = _HEAD.match(line)
    if head is None or not line.startswith("[20") or len(line) > _LONGEST or not line.isascii():
        return None
    found = list(_tokens(line, head, kind))
    values = tuple(token for token in found if isinstance(token, Value))
    names = {value.name for value in values}
    if len(values) == len(found) or len(names) < len(values) or not {*kind.required} <= names:
        return None
    behind = b"".join(token for token in found if isinstance(token, bytes))
    numbers = ranks(head["tags"])
    constants = tuple((column, numbers[tag]) for tag, column in RANKS.items() if tag in numbers)
    return Layout(kind, values, behind, constants)


@lru_cache(maxsize=256)
def _checks(layout: Layout) -> tuple[Constant, ...]:
    """The constant text in words: up to the first value from the line's start, then each ending a row."""
    first, *others = [value.before for value in layout.values]
    head = constant(b"[" + bytes(STAMP - 1) + first, free=range(1, STAMP))
    return (head, *(constant(text, at=-len(text) % 8) for text in (*others, layout.behind)))


def _tokens(line: str, head: re.Match[str], kind: Kind) -> Iterator[Value | bytes]:
    """The values of a line and the text behind the last; a line that has no layout gives no such text."""
    at = STAMP
    if head["frac"]:
        yield Value(line[STAMP : head.start("frac")].encode(), _MICROS, "int")
        at = head.end("frac")
    start = next((s for s in kind.starts if line.startswith(s, head.end())), None)
    if start is None:
        return
    body = head.end() + len(start)
    iteration = _ITERATION.match(line, body)
    if iteration:
        yield Value(line[at : iteration.start(1)].encode(), "iteration", "int")
        at, body = iteration.end(1), iteration.end()
    if line.startswith((", ", ". "), body):
        yield from _pieces(line[at : body + 2], line[body + 2 :], kind)


def _pieces(text: str, rest: str, kind: Kind) -> Iterator[Value | bytes]:
    pieces = rest.rstrip(", ")
    for piece in pieces.split(", "):
        found = _value(piece, kind)
        if found is None:
            return
        before, value, behind = found
        text += before
        if value is not None:
            yield Value(text.encode(), *value)
            text = ""
        text += behind + ", "
    yield (text[:-2] + rest[len(pieces) :]).encode()


def _value(piece: str, kind: Kind) -> tuple[str, tuple[str, str, int] | None, str] | None:
    """Text before a piece's value; its name, type and fraction (None: a constant ``nan``); text behind it."""
    key, colon, text = piece.partition(": ")
    declared = kind.by_key.get(key)
    if not colon or declared is None:
        return None
    sign = "%" if declared.type == "percent" and text.endswith("%") else ""
    bare = text.removesuffix(sign)
    if declared.type in {"float", "percent"}:
        if bare == "nan":
            return f"{key}: nan", None, sign
        decimal = _DECIMAL.fullmatch(bare)
        return decimal and (f"{key}: ", (declared.name, "float", len(decimal[1] or "")), sign)
    fits = _WHOLE.fullmatch(bare) if declared.type == "int" else declared.type == "bool" and bare in _BOOLS
    return (f"{key}: ", (declared.name, declared.type, 0), "") if fits else None


_BOOLS = {"True", "False"}


def read(layout: Layout, block: Block, rows: Places) -> tuple[Places, Columns]:
    """(the rows that have the layout, their columns). ``ts`` is in microseconds since 1970, log time."""
    first, *checks = _checks(layout)
    heads = rows_of(block.data, block.starts[rows], len(first.words))
    some = first.differs(heads) == 0
    if not some.all():
        rows, heads = rows[some], heads[some]
    if not len(rows):
        return rows, {}
    ts, fine = times(heads)
    columns: Columns = {"ts": ts}
    at = block.starts[rows] + (STAMP + len(layout.values[0].before))
    text = rows_of(block.data, at, 1)[:, 0]
    differs = np.zeros(len(rows), np.uint64)
    following = [*(value.before for value in layout.values[1:]), layout.behind]
    for value, check, behind in zip(layout.values, checks, following, strict=True):
        columns[value.name], length, good = _read_value(block, at, text, value)
        fine &= good
        at += length
        if value.name == _MICROS:
            ts += columns.pop(_MICROS) * 10 ** (6 - np.minimum(length, 6))
        n = len(check.words)
        found = rows_of(block.data, at - (-len(behind) % 8), n + 1)
        differs |= check.differs(found) if n else differs
        at += len(behind)
        text = found[:, n].copy()
    fine &= (differs == 0) & (at == block.ends[rows])
    if fine.all():
        return rows, columns
    return rows[fine], {name: column[fine] for name, column in columns.items()}


def _read_value(block: Block, at: Places, text: Words, value: Value) -> tuple[NDArray[Any], Places, Mask]:
    """(values, their lengths, which are there): ``text`` is the word at each place ``at``."""
    if value.type == "bool":
        true, false = (text & _FOUR) == _TRUE, (text & _FIVE) == _FALSE
        return true, 5 - true.astype(np.int64), true | false
    if not value.fraction:
        number, length, good = whole_numbers(text)
        return number.astype(np.float64 if value.type == "float" else np.int64), length, good
    numbers, length, good = decimals(text, value.fraction)
    if not good.all():
        wide = np.flatnonzero(~good)
        numbers[wide], length[wide], good[wide] = wide_decimals(block, at[wide], value.fraction)
    return numbers, length, good


_FOUR, _FIVE = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFF)
_TRUE, _FALSE = (np.uint64(int.from_bytes(text, "little")) for text in (b"True", b"False"))
