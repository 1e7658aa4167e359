"""A growing file by its name, through rotation and truncation: every byte once."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

POLL_S = 0.5
_BLOCK = 8 << 20
_FINGERPRINT = 1024
# How a line starts that was not cut: a timestamp, a wrapper's, or a manifest.
_LINE_START = re.compile(rb"\[?20\d\d-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\{|\(|SPECLOG_|[\w.-]+ +\| ")


class Tail:
    """Reads what is new each time it is asked.

    The file may be renamed and made anew (the old one is read to its end first, and until the new one has
    content), or be truncated in place (what was written between the last read and the cut is looked for in
    the copy beside it). ``restarted`` tells that the bytes given last begin another file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.restarted = False
        self._restart_next = False
        self._generation_ns: int | None = None  # age of the newest earlier generation that was read
        self._fd: int | None = None
        self._at = 0
        self._before = b""  # the bytes just read, to notice a file that was cut and has grown again

    def read(self) -> bytes:
        """The bytes that came since the last call; empty when there are none (yet)."""
        self.restarted, self._restart_next = self._restart_next, False
        if self._fd is None and not self._open():
            return b""
        if self._at == 0 and self._generation_ns is not None and (missed := self._missed()):
            self._restart_next = True
            return missed
        if self._was_cut():
            rest = self._rest_in_copy()
            self._at, self._before = 0, b""
            if rest:
                self._restart_next = True
                return rest
            self.restarted = True
        data = self._more()
        if not data and self._was_replaced():
            data = self._more()  # what came in between
            if not data and self._fd is not None:
                self._generation_ns = os.fstat(self._fd).st_mtime_ns
                data = self._missed()
                self._close()
                if self._open():
                    self.restarted = True
                    data = data or self._more()
        return data

    def close(self) -> None:
        """Let go of the file."""
        self._close()

    def _open(self) -> bool:
        try:
            self._fd = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        self._at, self._before = 0, b""
        return True

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _more(self) -> bytes:
        assert self._fd is not None
        data = os.pread(self._fd, _BLOCK, self._at)
        if data:
            self._at += len(data)
            self._before = (self._before + data)[-_FINGERPRINT:]
        return data

    def _was_cut(self) -> bool:
        assert self._fd is not None
        if os.fstat(self._fd).st_size < self._at:
            return True
        known = len(self._before)
        return os.pread(self._fd, known, self._at - known) != self._before

    def _was_replaced(self) -> bool:
        """Whether the name leads to another file that has content: its writer has moved on."""
        assert self._fd is not None
        try:
            now = Path(self.path).stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._fd)
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino) and now.st_size > 0

    def _rest_in_copy(self) -> bytes:
        """After a truncation: what the copy beside the file has beyond the place that was read to."""
        if not self._before:
            return b""
        for copy in self._rotated():
            with copy.open("rb") as file:
                file.seek(self._at - len(self._before))
                if file.read(len(self._before)) == self._before:
                    rest = file.read()
                    self._generation_ns = copy.stat().st_mtime_ns
                    return rest + self._missed()
        return b""

    def _missed(self) -> bytes:
        """Whole generations of the file that came and went since the newest one that was read."""
        found = b""
        for path in self._rotated():
            age = path.stat().st_mtime_ns
            if self._generation_ns is not None and age > self._generation_ns and not self._is_current(path):
                found += path.read_bytes()
                self._generation_ns = age
        return found

    def _is_current(self, path: Path) -> bool:
        """Whether a copy holds what the file itself still holds: it is about to be cut."""
        with path.open("rb") as copy, Path(self.path).open("rb") as file:
            head = copy.read(_FINGERPRINT)
            return bool(head) and file.read(len(head)) == head

    def _rotated(self) -> list[Path]:
        """Earlier generations beside the file (``a.log.1``, ``a.log-20260129``), oldest first."""
        path = Path(self.path)
        found = [p for p in path.parent.iterdir() if _GENERATION.fullmatch(p.name.removeprefix(path.name))]
        own = [p for p in found if p.name.startswith(path.name) and p.is_file()]
        return sorted(own, key=lambda p: p.stat().st_mtime_ns)


_GENERATION = re.compile(r"[.-]\d[\d.-]*")


class _Pipe:
    """Standard input as a tail: it ends."""

    restarted = False

    def __init__(self) -> None:
        self.ended = False

    def read(self) -> bytes:
        if not select.select([0], [], [], POLL_S)[0]:
            return b""
        data = os.read(0, _BLOCK)
        self.ended = not data
        return data

    def close(self) -> None:
        """Nothing to let go of."""


def whole_lines(
    path: str, stop: Callable[[], bool] = lambda: False, poll_s: float = POLL_S
) -> Iterator[bytes]:
    """Blocks of whole lines of a growing log as they come; an empty one when nothing came for a while.

    Ends when ``stop()`` is true and nothing is left to read (or, on standard input, at its end). A line that
    a rotation cut in two is put together again.
    """
    tail: Tail | _Pipe = _Pipe() if path == "-" else Tail(path)
    partial = b""
    try:
        while True:
            ending = stop()
            data = tail.read()
            if not data:
                if ending or (isinstance(tail, _Pipe) and tail.ended):
                    break
                yield b""
                if path != "-":
                    time.sleep(poll_s)
                continue
            if tail.restarted and partial and _LINE_START.match(data):
                partial += b"\n"
            data = partial + data
            cut = data.rfind(b"\n") + 1
            partial = data[cut:]
            if cut:
                yield data[:cut]
        if partial:
            yield partial
    finally:
        tail.close()
