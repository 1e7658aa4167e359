"""Bytes to the lines worth reading: droppable noise (access lines: 96 % of a real log) is only counted.

Most noise ends alike, so how far from a line's end its literal stands is learnt, and one comparison there
drops it; `Sieve.is_noise` decides about every line that this lets through.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from speclog.formats.block import (
    NEWLINE,
    RETURN,
    Block,
    Constant,
    Mask,
    Places,
    bounds_and_breaks,
    constant,
    rows_of,
)
from speclog.formats.spec import drops

TAIL = 64
"""A line is noise if its literal begins this near its end: not if another line is glued behind it."""
BLANKS = 64
"""Blank lines in a row that are kept; what stands between more of them does not belong together."""
_SAMPLE = 1 << 14
_MAX_TAILS = 16


@dataclass(frozen=True, slots=True)
class Sifted:
    """What is left of some lines: ``block`` if none was dropped, else ``data``; and their ``numbers``.

    ``places``: where the kept lines began in the bytes.
    """

    count: int
    numbers: Places
    places: Places
    block: Block | None = None
    data: bytes = b""


@dataclass
class Sieve:
    """Drops noise; learns from what it drops (safe to share among threads)."""

    tails: dict[tuple[str, int], Constant] = field(default_factory=dict)

    def is_noise(self, text: str) -> bool:
        """Whether a line is droppable noise."""
        found = find_noise(text)
        if found is not None and text.isascii():
            self._learn(*found)
        return found is not None

    def _learn(self, literal: str, distance: int) -> None:
        known = (literal, distance) in self.tails
        if not known and len(self.tails) < _MAX_TAILS and distance <= TAIL:
            self.tails[literal, distance] = constant(literal.encode())

    def sift(self, data: bytearray, size: int, first: int = 0, blanks: int = 0) -> Sifted:
        """Drop what is noise from the lines in the first ``size`` bytes of a padded buffer.

        ``first`` is the number of its first line; ``blanks`` how many blank lines stand right before it. Of
        blank lines in a row the first `BLANKS` are kept.
        """
        starts, ends, breaks = bounds_and_breaks(data, size)
        places = starts
        if len(breaks) and _hold_line_ends(np.frombuffer(data, np.uint8), breaks):
            text = data[:size].replace(b"\r\n", b"\n")
            data = text + bytes(len(data) - len(text))
            size = len(text)
            starts, ends, breaks = bounds_and_breaks(data, size)
        count = len(starts)
        blank = _blank_too_long(starts, ends, blanks)
        if self._look(data, size):
            left = self._unlike_noise(data, starts, ends)
            left[np.searchsorted(ends, breaks)] = (
                True  # what stands before a carriage return or a NUL may be no noise
            )
        elif blank is None:
            numbers = np.arange(first, first + count)
            return Sifted(count, numbers, places, Block(data, starts, ends, numbers))
        else:
            left = np.ones(count, np.bool_)
        if blank is not None:
            left &= ~blank
        rows = np.flatnonzero(left)
        numbers = rows + first
        if len(rows) == count:
            return Sifted(count, numbers, places, Block(data, starts, ends, numbers))
        return Sifted(count, numbers, places[rows], None, _copied(data, starts, ends, rows))

    def _look(self, data: bytearray, size: int) -> bool:
        """Whether samples of a buffer hold noise; where it stands in its line is learnt from one."""
        for literal in drops():
            text = literal.encode()
            for start in (0, size // 2, max(size - _SAMPLE, 0)):
                at = data.find(text, start, min(start + _SAMPLE, size))
                if at >= 0:
                    end = data.find(b"\n", at, size)
                    self._learn(literal, (end if end >= 0 else size) - at)
                    return True
        return False

    def _unlike_noise(self, data: bytearray, starts: Places, ends: Places) -> Mask:
        left = np.ones(len(starts), np.bool_)
        rows: Places | None = None
        for (_, distance), check in list(self.tails.items()):
            first, last = (starts, ends) if rows is None else (starts[rows], ends[rows])
            places = last - distance  # below 0 in the first line: then somewhere in the padding
            noise = check.stands(rows_of(data, places, len(check.words)))
            noise &= places >= first
            if rows is None:
                np.logical_not(noise, out=left)
            else:
                left[rows[noise]] = False
            rows = np.flatnonzero(left)
        return left


def _hold_line_ends(text: NDArray[np.uint8], breaks: Places) -> bool:
    """Whether a newline stands right behind a carriage return."""
    return bool(((text[breaks] == RETURN) & (text[breaks + 1] == NEWLINE)).any())


def _blank_too_long(starts: Places, ends: Places, before: int) -> Mask | None:
    """Which lines are blank and have at least `BLANKS` blank lines right before them; None if none is."""
    blank = starts == ends
    if np.count_nonzero(blank) + before <= BLANKS:
        return None
    rows = np.arange(len(blank))
    last_text = np.maximum.accumulate(np.where(blank, -1 - before, rows))
    found: Mask = blank & (rows - last_text > BLANKS)
    return found if found.any() else None


def blank_lines_at_end(data: bytearray, size: int, before: int) -> int:
    """How many blank lines stand right before what follows a buffer's lines, at most `BLANKS`."""
    tail = bytes(data[max(size - 2 * BLANKS - 2, 0) : size])
    text = tail.rstrip(b"\r\n")
    found = tail.count(b"\n", len(text))
    if len(tail) == size and not text:
        return min(before + found, BLANKS)
    return min(max(found - bool(text), 0), BLANKS)


def _copied(data: bytearray, starts: Places, ends: Places, rows: Places) -> bytes:
    """Some lines, one behind the other, each with its newline: copied in as few pieces as they have gaps."""
    if not len(rows):
        return b""
    gaps = np.flatnonzero(np.diff(rows) != 1)
    first = starts[rows[np.concatenate([[0], gaps + 1])]].tolist()
    last = (ends[rows[np.concatenate([gaps, [len(rows) - 1]])]] + 1).tolist()
    with memoryview(data) as view:
        text = b"".join([view[a:b] for a, b in zip(first, last, strict=True)])
    # The last line of a log may lack its newline; a byte of the padding stands there.
    return text if text.endswith(b"\n") else text[:-1] + b"\n"


def find_noise(text: str) -> tuple[str, int] | None:
    """(literal, how far from the line's end it begins) of droppable noise; None for any other line."""
    for literal in drops():
        at = text.rfind(literal)
        if at >= 0 and len(text) - at <= TAIL:
            return literal, len(text) - at
    return None
