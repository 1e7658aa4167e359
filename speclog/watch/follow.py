"""New lines of a growing file, across rotation and truncation, by polling (network mounts miss inotify)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 20
_LONGEST = 1 << 20  # a line without an end is cut here, so that a binary file cannot fill the memory


class Follower:
    """Follows a path: each `poll` returns the whole lines written since the last one.

    A rotated file is read to its end before the new one is begun; a file that got shorter is read from its
    start; a file that is not there (yet, or for a moment during rotation) gives no lines.
    """

    def __init__(self, path: Path, *, history_bytes: int | None = None) -> None:
        self.path = path
        self.rotations = 0
        self._handle: BinaryIO | None = None
        self._rest = b""
        self._history_bytes = history_bytes

    def poll(self) -> list[str]:
        """Lines that are whole by now, without their ends; undecodable bytes become U+FFFD."""
        lines: list[str] = []
        if self._handle is None and not self._open(first=True):
            return lines
        self._read(lines)
        if self._moved():
            self._read(lines)  # what was written between the last read and the rotation
            self.close()
            self.rotations += 1
            if self._open(first=False):
                self._read(lines)
        return lines

    def close(self) -> None:
        """Let go of the file; what was read of an unfinished line is dropped."""
        if self._handle is not None:
            self._handle.close()
        self._handle, self._rest = None, b""

    def _open(self, *, first: bool) -> bool:
        try:
            self._handle = self.path.open("rb")
        except OSError:
            return False
        if first and self._history_bytes is not None:
            self._skip(self._history_bytes)
        return True

    def _skip(self, keep: int) -> None:
        """Begin at a line's start about ``keep`` bytes before the end."""
        assert self._handle is not None
        size = os.fstat(self._handle.fileno()).st_size
        if size > keep:
            self._handle.seek(size - keep)
            self._handle.readline(_LONGEST)

    def _moved(self) -> bool:
        """Whether the path names another file now, or the file got shorter than what was read of it."""
        assert self._handle is not None
        held = os.fstat(self._handle.fileno())
        try:
            named = self.path.stat()
        except OSError:
            return False
        return (held.st_ino, held.st_dev) != (
            named.st_ino,
            named.st_dev,
        ) or named.st_size < self._handle.tell()

    def _read(self, lines: list[str]) -> None:
        assert self._handle is not None
        while data := self._handle.read(_CHUNK):
            *whole, self._rest = (self._rest + data).split(b"\n")
            if len(self._rest) > _LONGEST:
                whole.append(self._rest)
                self._rest = b""
            lines += [line.rstrip(b"\r").decode("utf-8", "replace") for line in whole]
