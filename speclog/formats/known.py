"""Lines that were met before, found by their bytes: all lines of a block at once.

A key is 32 bytes a row, its last row filled up with zeros. A hash says which key it may be; it is that one
only if every byte is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from speclog.formats.block import Places, Words, padded, rows_of

T = TypeVar("T")
Key = tuple[int, bytes]
"""A mark, 0 or 1, and bytes."""

LONGEST = 512
"""Bytes of the longest key that is remembered."""
MOST = 8192
"""How many keys are remembered; then they are forgotten."""
_WORTH_IT = 1.05
"""How many times as many keys make a new shelf: making one costs what reading its lines again does."""
_WORDS = 4
_ROW = 8 * _WORDS
_HALF = np.uint64(32)


def _factors(n: int) -> Words:
    """Odd numbers without a pattern (splitmix64: Steele, Lea, Flood, 2014)."""
    z = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31)) | np.uint64(1)


_FACTORS = _factors(LONGEST // 8 + _WORDS).reshape(-1, _WORDS)
_MASKS = np.frombuffer(b"".join(b"\xff" * n + bytes(_ROW - n) for n in range(_ROW + 1)), "<u8")
_MASKS = _MASKS.reshape(-1, _WORDS)


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys, the longest first: ``order`` are the places they were given in, ``rows[k]`` the k-th rows."""

    order: Places
    lengths: Places
    marks: Places
    rows: list[Words]
    hashes: Words

    @classmethod
    def of(cls, data: bytes | bytearray, starts: Places, ends: Places, marks: Places) -> Keys:
        """The keys ``data[starts[i]:ends[i]]`` of a padded buffer, none longer than `LONGEST`."""
        order = np.argsort(starts - ends, kind="stable")
        starts, lengths, marks = starts[order], (ends - starts)[order], marks[order]
        hashes = (2 * lengths + marks).astype(np.uint64) * _FACTORS[-1, 0]
        longest = int(lengths[0]) if len(lengths) else 0
        counts = np.searchsorted(
            -lengths, -np.arange(0, longest, _ROW)
        ).tolist()  # with more bytes than so many
        rows = []
        for step, (n, whole) in enumerate(zip(counts, [*counts[1:], 0], strict=False)):
            found = rows_of(data, starts[:n] + step * _ROW, _WORDS)
            found[whole:] &= _MASKS[lengths[whole:n] - step * _ROW]
            rows.append(found)
            hashes[:n] += (found ^ (found >> _HALF)) @ _FACTORS[step]
            hashes[:n] ^= hashes[:n] >> _HALF
        return cls(order, lengths, marks, rows, hashes)


class Shelf(Generic[T]):
    """Keys and what each stands for; it does not change, so threads may share it."""

    def __init__(self, known: dict[Key, T]) -> None:
        ends = np.fromiter(accumulate(len(text) for _, text in known), np.int64, len(known))
        marks = np.fromiter((mark for mark, _ in known), np.int64, len(known))
        lengths = np.diff(ends, prepend=0)
        keys = Keys.of(padded(b"".join(text for _, text in known)), ends - lengths, ends, marks)
        first = np.cumsum(-(-keys.lengths // _ROW))  # of the next key
        self._rows = np.zeros((int(first[-1]) + 1 if len(first) else 1, _WORDS), np.uint64)
        first = np.concatenate([[0], first[:-1]])
        for step, rows in enumerate(keys.rows):
            self._rows[first[: len(rows)] + step] = rows
        by_hash = np.argsort(keys.hashes)
        self._hashes, self._lengths = keys.hashes[by_hash], keys.lengths[by_hash]
        self._marks, self._first = keys.marks[by_hash], first[by_hash]
        values = list(known.values())
        self.values: Sequence[T] = [values[i] for i in keys.order[by_hash].tolist()]

    def find(self, keys: Keys) -> Places:
        """The place in ``values`` of each key, in the order they were given in; -1: it is not here."""
        found = np.full(len(keys.order), -1, np.int64)
        if not self.values or not len(found):
            return found
        maybe = np.minimum(np.searchsorted(self._hashes, keys.hashes), len(self._hashes) - 1)
        same = self._hashes[maybe] == keys.hashes
        same &= (self._lengths[maybe] == keys.lengths) & (self._marks[maybe] == keys.marks)
        first = np.where(same, self._first[maybe], 0)
        last = len(self._rows) - 1
        for step, rows in enumerate(keys.rows):
            n = len(rows)
            same[:n] &= (rows == self._rows[np.minimum(first[:n] + step, last)]).all(axis=1)
        found[keys.order] = np.where(same, maybe, -1)
        return found


class Memory(Generic[T]):
    """What was met twice is on the ``shelf`` (safe to share among threads)."""

    def __init__(self) -> None:
        self.shelf: Shelf[T] = Shelf({})
        self._once: dict[Key, T] = {}
        self._known: dict[Key, T] = {}
        self._lock = Lock()

    def met(self, lines: Iterable[tuple[Key, T]]) -> None:
        """Take keys that are not on the shelf, and what they stand for; those too long are let go."""
        with self._lock:
            for key, value in lines:
                if len(key[1]) > LONGEST:
                    continue
                if key not in self._once:
                    if len(self._once) >= MOST:
                        self._once.clear()
                    self._once[key] = value
                elif key not in self._known:
                    if len(self._known) >= MOST:
                        self._known, self.shelf = {}, Shelf({})
                    self._known[key] = value
            if len(self._known) > len(self.shelf.values) * _WORTH_IT:
                self.shelf = Shelf(self._known)
