"""A log in stretches to be read side by side: those of a file by their places, of a stream one by one."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from threading import Lock

from speclog.ingest.lines import BLANKS, blank_lines_at_end
from speclog.ingest.sources import Pool, blocks, stretches

Buffer = tuple[bytearray, int]
"""A padded buffer and how many bytes of whole lines are in it."""
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines from a byte of the log on, ``blanks`` blank ones right before them (at most `BLANKS`).

    ``stop``: the byte behind them, if those that are not taken can be had again; None if they cannot.
    """

    start: int
    buffers: Iterable[Buffer]
    blanks: int
    stop: int | None = None


class StreamStretches:
    """Stretches of a stream (safe to share among threads); each is read when it is taken."""

    def __init__(self, buffers: Iterator[Buffer], size: int) -> None:
        self._groups = stretches(buffers, size)
        self._lock = Lock()
        self._start = self._blanks = 0

    def take(self) -> Stretch | None:
        """The next stretch; None at the end."""
        with self._lock:
            group = next(self._groups, None)
            if group is None:
                return None
            found = Stretch(self._start, group, self._blanks)
            for data, size in group:
                self._start += size
                self._blanks = blank_lines_at_end(data, size, self._blanks)
            return found

    def give_back(self, stretch: Stretch, taken: int) -> None:
        """Nothing is given back: who takes a stretch reads it to its end."""


class FileStretches:
    """Stretches of a file (safe to share among threads); each is read while it is parsed, block by block.

    ``size``: how long one is to be, by the byte that it begins at.
    """

    def __init__(self, file: io.FileIO, pool: Pool, size: Callable[[int], int]) -> None:
        self._fd, self._pool, self._size = file.fileno(), pool, size
        self._end = os.fstat(self._fd).st_size
        self._left: list[tuple[int, int]] = []  # given back, the first of the file on top
        self._next: int | None = 0
        self._lock = Lock()

    def take(self) -> Stretch | None:
        """The next stretch; None at the end. Those given back are next."""
        with self._lock:
            if self._left:
                start, stop = heappop(self._left)
            elif self._next is not None:
                start = self._next
                stop = self._line_end(start + self._size(start))
                self._next = None if stop == _TO_THE_END else stop
            else:
                return None
        tail = os.pread(self._fd, min(start, 2 * BLANKS + 2), max(start - 2 * BLANKS - 2, 0))
        blanks = blank_lines_at_end(bytearray(tail), len(tail), 0)
        return Stretch(start, blocks(_Part(self._fd, start, stop), self._pool), blanks, stop)

    def give_back(self, stretch: Stretch, taken: int) -> None:
        """Have what is behind the first ``taken`` bytes of a stretch taken again."""
        assert stretch.stop is not None
        if taken and stretch.start + taken < min(stretch.stop, self._end):
            with self._lock:
                heappush(self._left, (stretch.start + taken, stretch.stop))

    def _line_end(self, at: int) -> int:
        """The byte behind the line that a byte lies in; `_TO_THE_END` of the last stretch, which may grow."""
        while at < self._end:
            piece = os.pread(self._fd, _PIECE, at)
            found = piece.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(piece)
            if not piece:
                break
        return _TO_THE_END


_TO_THE_END = 1 << 62


class _Part(io.RawIOBase):
    """Some bytes of a file, read by their place: the file's own place stays."""

    def __init__(self, fd: int, start: int, stop: int) -> None:
        self._fd, self._at, self._stop = fd, start, stop

    def readinto(self, view: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; how many bytes that were, 0 at the end."""
        got = os.preadv(self._fd, [view[: self._stop - self._at]], self._at)
        self._at += got
        return got
