"""Lines as times and what they say: what many lines say alike is decoded, recognised and taken apart once.

Ranks, restarts and crash loops print the same text again and again at another time: it is looked up by its
bytes. The memories are bounded; what is not in them is read anew, to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import numpy as np

from speclog.formats.block import Block, Mask, Places, constant, rows_of
from speclog.formats.engine import Hope, Record, Understood, understand
from speclog.formats.known import LONGEST, MOST, Key, Keys, Memory
from speclog.formats.prefix import STAMP, Prefix, plain_prefix, split_prefix
from speclog.formats.spec import batch_heads, batch_kinds, drops
from speclog.formats.stamps import times

T = TypeVar("T")

NO_TIME = int(np.iinfo(np.int64).min)
"""The time, in microseconds since 1970, of a line without one: numpy's NaT."""


@dataclass(slots=True, eq=False)
class Text:
    """What a line says behind time and rank: ``raw`` as printed, ``message`` without a level in front.

    ``found``: its kind and fields, None for one nobody declared. ``noise``: to be dropped. ``batch``: what
    only batch lines begin with stands in it.
    """

    raw: str
    message: str
    found: Understood | None
    noise: bool
    batch: bool
    blank: bool


@dataclass(slots=True, eq=False)
class Said:
    """What a line says and who says it: all of it but the time.

    ``timed``: it begins with its time, ``[YYYY-mm-dd HH:MM:SS``, and ``head`` follows; else the line begins
    with ``head``. ``style`` is the prefix's, '' without one.
    """

    timed: bool
    head: bytes
    rank: str
    style: str
    text: Text

    def line(self, ts: datetime | None) -> str:
        """The line that says it at a time."""
        stamp = f"[{ts:%Y-%m-%d %H:%M:%S}" if self.timed else ""
        return stamp + self.head.decode() + self.text.raw

    def record(self, ts: datetime | None) -> Record:
        """The record of a line that says it at a time; its text must be of a kind."""
        assert self.text.found is not None
        return self.text.found.record(Prefix(ts, self.rank, "", self.style))


@dataclass(slots=True)
class Lines:
    """Lines in columns: numbers, times, and which of the different ``said`` each of them says."""

    numbers: Places
    micros: Places
    codes: Places
    said: Sequence[Said] = field(default_factory=list)

    @property
    def height(self) -> int:
        """How many lines they are."""
        return len(self.numbers)

    def times(self) -> list[datetime | None]:
        """When each was printed, by the log's clock."""
        found: list[datetime | None] = self.micros.view("M8[us]").tolist()
        return found

    def which(self, test: Callable[[Said], bool]) -> Mask:
        """Which lines say something of a kind."""
        return np.fromiter(map(test, self.said), np.bool_, len(self.said))[self.codes]

    def only(self, places: Places | Mask) -> Lines:
        """Some of the lines."""
        return Lines(self.numbers[places], self.micros[places], self.codes[places], self.said)

    def line(self, place: int) -> str:
        """One of them as it was printed."""
        said: Said = self.said[self.codes[place]]
        ts: Any = self.micros[place].view("M8[us]").item()
        return said.line(ts)

    def whole(self) -> list[tuple[int, str]]:
        """(number, line) of each."""
        return [(number, self.line(place)) for place, number in enumerate(self.numbers.tolist())]


def joined(parts: Sequence[Lines]) -> Lines:
    """Lines of consecutive blocks."""
    if len(parts) == 1:
        return parts[0]
    places: dict[Said, int] = {}
    codes = [_NONE]
    for part in parts:
        own = [places.setdefault(said, len(places)) for said in part.said]
        codes.append(np.array(own, np.int64)[part.codes] if own else part.codes)
    numbers = np.concatenate([_NONE, *(part.numbers for part in parts)])
    micros = np.concatenate([_NONE, *(part.micros for part in parts)])
    return Lines(numbers, micros, np.concatenate(codes), list(places))


_NONE = np.empty(0, np.int64)
_HEAD = constant(b"[2")
_EPOCH, _MICRO = datetime(1970, 1, 1), timedelta(microseconds=1)


class TextReader:
    """Reads lines and remembers what they say (safe to share among threads)."""

    def __init__(self, is_noise: Callable[[str], bool]) -> None:
        self.is_noise = is_noise
        self._memory: Memory[Said] = Memory()  # of what is said behind a time (mark 1) or without one (0)
        self._texts: dict[bytes, Text] = {}  # behind time and rank

    def read(self, block: Block, rows: Places) -> Lines:
        """Some lines of a block."""
        if not len(rows):
            return Lines(_NONE, _NONE, _NONE)
        starts, ends = block.starts[rows], block.ends[rows]
        micros, timed = _times(block, starts, ends)
        marks = timed.astype(np.int64)
        shelf = self._memory.shelf
        short = np.flatnonzero(ends - starts <= LONGEST)
        keys = Keys.of(block.data, (starts + STAMP * marks)[short], ends[short], marks[short])
        codes = np.full(len(rows), -1)
        codes[short] = shelf.find(keys)
        used, places = np.unique(codes, return_inverse=True)
        said = [shelf.values[i] for i in used.tolist() if i >= 0]
        codes = places - (len(used) - len(said))
        new = np.flatnonzero(codes < 0)
        if len(new):
            self._read_new(block.slices(rows[new]), timed[new].tolist(), new.tolist(), micros, codes, said)
        return Lines(block.numbers[rows], micros, codes, said)

    def _read_new(
        self, lines: Sequence[bytes], timed: list[bool], places: list[int], micros: Places, codes: Places,
        said: list[Said],
    ) -> None:  # fmt: skip
        """Read lines that are not remembered, into columns of more lines."""
        fresh: dict[Key, int] = {}
        met: list[tuple[Key, Said]] = []
        among = _Among(b"\n".join(lines)) if len(lines) > _FEW else None
        for line, has_time, place in zip(lines, timed, places, strict=True):
            key = (1, line[STAMP:]) if has_time else (0, line)
            code = fresh.get(key)
            if code is None:
                code = len(said)
                found, ts = self._new(line, among)
                said.append(found)
                if found.timed == has_time and (has_time or found.style == ""):
                    fresh[key] = code
                else:
                    micros[place] = NO_TIME if ts is None else (ts - _EPOCH) // _MICRO
            if key in fresh:
                met.append((key, said[code]))
            codes[place] = code
        self._memory.met(met)

    def _new(self, line: bytes, among: _Among | None) -> tuple[Said, datetime | None]:
        """What a line says, and when."""
        end = line.find(b"] ", STAMP, _FAR) + 2 if line[:2] == b"[2" else 0
        head = line[:end]
        prefix = plain_prefix(head.decode()) if end > 1 and head.isascii() else None
        if prefix is None:
            raw = line.decode("utf-8", "replace")
            prefix, message = split_prefix(raw)
            text = self._text(raw, raw, message, among)
            return Said(False, b"", prefix.rank, prefix.style, text), prefix.ts
        found = self._texts.get(line[end:])
        if found is None:
            raw = line[end:].decode("utf-8", "replace")
            whole = head.decode() + raw
            found = self._text(whole, raw, split_prefix(whole)[1], among)
            _remember(self._texts, line[end:], found)
        timed = prefix.ts is not None and line[STAMP : STAMP + 1] in _BEHIND_TIME
        return Said(timed, head[STAMP:] if timed else head, prefix.rank, prefix.style, found), prefix.ts

    def _text(self, line: str, raw: str, message: str, among: _Among | None) -> Text:
        return Text(
            raw,
            message,
            found=understand(message) if among is None or among.kinds.of(message) else None,
            noise=(among is None or among.noise) and self.is_noise(line),
            batch=(among is None or among.batch) and batch_heads().search(line) is not None,
            blank=not message or message.isspace(),
        )


class _Among:
    """What there may be among many lines: a literal that all of them together do not hold is in none."""

    def __init__(self, lines: bytes) -> None:
        self.kinds = Hope(lines)
        self.noise = any(literal.encode() in lines for literal in drops())
        self.batch = any(kind.starts[0].encode() in lines for kind in batch_kinds().values())


_FEW = 64  # lines that are not worth looking for every literal in all of them
_FAR = 120  # a plain prefix ends before
_BEHIND_TIME = (b" ", b"]")


def _times(block: Block, starts: Places, ends: Places) -> tuple[Places, Mask]:
    """(when lines were printed, whether they begin with a time and nothing finer) of lines of a block."""
    heads = rows_of(block.data, starts, 3)
    behind = heads.view(np.uint8).reshape(len(heads), -1)[:, STAMP]
    timed = _HEAD.stands(heads) & ((behind == ord(" ")) | (behind == ord("]"))) & (ends - starts > STAMP)
    micros = np.full(len(heads), NO_TIME)
    rows = np.flatnonzero(timed)
    if len(rows):
        found, good = times(heads[rows])
        micros[rows[good]] = found[good]
        timed[rows] = good
    return micros, timed


def _remember(known: dict[bytes, T], key: bytes, value: T) -> None:
    if len(key) < LONGEST:
        if len(known) >= MOST:
            known.clear()
        known[key] = value
