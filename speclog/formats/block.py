"""Lines of bytes as arrays: where each begins and ends, and the eight bytes at any place.

The eight bytes are one little-endian word, so one comparison checks eight characters of every line at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PAD = 4096
"""Bytes behind the lines, so that reading past the end of a short line stays inside the buffer."""

NUL, NEWLINE, RETURN = 0, 10, 13

Places = NDArray[np.int64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines in a padded buffer: line i is ``data[starts[i]:ends[i]]``, number ``numbers[i]`` of its file.

    Numbers may have gaps (lines were dropped) and repeat (a line was cut at carriage returns).
    """

    data: bytes | bytearray
    starts: Places
    ends: Places
    numbers: Places

    @property
    def height(self) -> int:
        """How many lines it has."""
        return len(self.starts)

    def text(self, i: int) -> str:
        """Line i; bytes that are not UTF-8 become U+FFFD."""
        return self.data[self.starts[i] : self.ends[i]].decode("utf-8", "replace")

    def slices(self, rows: Places) -> list[bytes]:
        """The bytes of some lines."""
        data = self.data
        places = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        if isinstance(data, bytearray):
            return [bytes(data[start:end]) for start, end in places]
        return [data[start:end] for start, end in places]

    def only(self, rows: Places | Mask) -> Block:
        """Some of the lines, in the same buffer."""
        return Block(self.data, self.starts[rows], self.ends[rows], self.numbers[rows])

    def pieces(self, start: int, stop: int) -> Iterator[memoryview]:
        """The bytes of lines ``start`` up to ``stop``: as few pieces as there are gaps, no newline behind."""
        if start >= stop:
            return
        gaps = np.flatnonzero(self.starts[start + 1 : stop] != self.ends[start : stop - 1] + 1) + start
        view = memoryview(self.data)
        for first, last in zip([start, *(gaps + 1).tolist()], [*gaps.tolist(), stop - 1], strict=True):
            yield view[self.starts[first] : self.ends[last]]


def padded(data: bytes) -> bytes:
    """Bytes with room behind them."""
    return data + bytes(PAD)


def bounds(data: bytes | bytearray, size: int) -> tuple[Places, Places]:
    """Starts and ends of the lines in the first ``size`` bytes; the last may lack its newline."""
    return _bounds(np.flatnonzero(np.frombuffer(data, np.uint8, size) == NEWLINE), size)


def bounds_and_breaks(data: bytes | bytearray, size: int) -> tuple[Places, Places, Places]:
    """`bounds`, and where carriage returns and NULs break lines: they are gone through once for all."""
    text = np.frombuffer(data, np.uint8, size)
    places = np.flatnonzero(text <= RETURN)  # hardly any other byte below is ever in a log
    found = text[places]
    newline = found == NEWLINE
    if newline.all():
        return *_bounds(places, size), places[:0]
    return *_bounds(places[newline], size), places[(found == RETURN) | (found == NUL)]


def _bounds(newline: Places, size: int) -> tuple[Places, Places]:
    if size and (not len(newline) or newline[-1] != size - 1):
        newline = np.append(newline, size)
    starts = np.empty_like(newline)
    starts[:1] = 0
    np.add(newline[:-1], 1, out=starts[1:])
    return starts, newline


def occurrences(data: bytes | bytearray, byte: int, size: int) -> Places:
    """Where a byte stands in the first ``size`` bytes: one after the other while there are few."""
    found: list[int] = []
    find = data.find
    at = find(byte, 0, size)
    for _ in range(_FEW):
        if at < 0:
            return np.array(found, np.int64)
        found.append(at)
        at = find(byte, at + 1, size)
    return np.flatnonzero(np.frombuffer(data, np.uint8, size) == byte)


_FEW = 1000


def block_of(data: bytes, numbers: Places) -> Block:
    """Lines, each with its newline (the last may lack it), as a block."""
    room = padded(data)
    starts, ends = bounds(room, len(data))
    return Block(room, starts, ends, numbers)


def rows_of(data: bytes | bytearray, places: Places, n: int) -> Words:
    """``n`` words from each place on, one row a place; one copy of many bytes costs what one word does."""
    windows = np.ndarray(shape=(len(data) - 8 * n + 1,), dtype=f"V{8 * n}", buffer=data, strides=(1,))
    return windows[places].view("<u8").reshape(-1, n)


@dataclass(frozen=True, slots=True)
class Constant:
    """Text that must stand in certain bytes of a row of words, as values and masks of those words."""

    words: tuple[np.uint64, ...]
    masks: tuple[np.uint64, ...]

    def differs(self, rows: Words) -> Words:
        """Zero for the rows in which it stands."""
        found = (rows[:, 0] ^ self.words[0]) & self.masks[0]
        for i in range(1, len(self.words)):
            found |= (rows[:, i] ^ self.words[i]) & self.masks[i]
        return found

    def stands(self, rows: Words) -> Mask:
        """In which rows it stands; quicker than `differs` where that is all one asks."""
        found = self._stands(rows, 0)
        for i in range(1, len(self.words)):
            found &= self._stands(rows, i)
        return found

    def _stands(self, rows: Words, i: int) -> Mask:
        shown: Words = rows[:, i] if self.masks[i] == _ALL else rows[:, i] & self.masks[i]
        return np.equal(shown, self.words[i])


_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def constant(text: bytes, at: int = 0, free: range = range(0)) -> Constant:
    """A text standing ``at`` bytes into a row, whose bytes ``free`` (places in the row) may be any."""
    n = -(-(at + len(text)) // 8)
    where = [at <= i < at + len(text) and i not in free for i in range(8 * n)]
    shown = bytes(at) + text + bytes(8)
    words = bytes(c if is_set else 0 for c, is_set in zip(shown, where, strict=False))
    masks = bytes(0xFF * is_set for is_set in where)
    return Constant(*(tuple(map(np.uint64, np.frombuffer(b, "<u8"))) for b in (words, masks)))
