"""A growing file by its name, through rotation and truncation: every byte once."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from speclog.ingest.sources import GENERATION, LONGEST_LINE, is_gap

POLL_S = 0.5
_BLOCK = 8 << 20
_FINGERPRINT = 1024
_PIECE = 1 << 20
# How a line starts that was not cut: a timestamp, a wrapper's, or a manifest.
_LINE_START = re.compile(
    rb"\[?20\d\d-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\{\"|\((?:[\w.:-]+ )?pid=\d|SPECLOG_|[\w.-]+ +\| "
)


class Tail:
    """Reads what is new each time it is asked.

    The file may be renamed and made anew: each generation is read to its end, and left only when a newer one
    has content. Or it may be truncated in place: what was written between the last read and the cut is looked
    for in the copy beside it. ``restarted`` tells that the bytes given last begin another generation.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.restarted = False
        self._restart_next = False
        self._fd: int | None = None
        self._at = 0
        self._before = b""  # the bytes just read, to notice a file that was cut and has grown again
        # Earlier generations: age of the newest that is done with, and how much of each (by inode) was read.
        self._age = max((p.stat().st_mtime_ns for p in self._rotated()), default=0)
        self._taken = {p.stat().st_ino: p.stat().st_size for p in self._rotated()}

    def read(self) -> bytes:
        """The bytes that came since the last call; empty when there are none (yet)."""
        self.restarted, self._restart_next = self._restart_next, False
        if self._fd is None and not self._open(Path(self.path)):
            return b""
        if self._was_cut():
            rest = self._rest_in_copy()
            self._at, self._before, self._restart_next = 0, b"", True
            return rest or self.read()
        data = self._more()
        if not data:
            following = self._following()
            data = self._more()  # what came before the writer moved on
            if not data and following is not None and self._open(following):
                self.restarted = True
                data = self._more()
        return data

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self, path: Path) -> bool:
        try:
            fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        self.close()
        self._fd, self._at, self._before = fd, 0, b""
        return True

    def _more(self) -> bytes:
        assert self._fd is not None
        if self._at == 0 and (missed := self._missed_copies()):
            self._restart_next = True
            return missed
        data = os.pread(self._fd, _BLOCK, self._at)
        if data:
            self._at += len(data)
            self._before = (self._before + data)[-_FINGERPRINT:]
            self._taken[os.fstat(self._fd).st_ino] = self._at
        return data

    def _was_cut(self) -> bool:
        assert self._fd is not None
        if os.fstat(self._fd).st_size < self._at:
            return True
        known = len(self._before)
        return os.pread(self._fd, known, self._at - known) != self._before

    def _following(self) -> Path | None:
        """The generation after the one being read, if there is one with content: its writer has moved on."""
        assert self._fd is not None
        own = os.fstat(self._fd)
        now = _stat(Path(self.path))
        if now is not None and now.st_ino == own.st_ino:
            return None
        for path in self._rotated():
            found = _stat(path)
            newer = found is not None and found.st_mtime_ns >= own.st_mtime_ns
            if found is not None and newer and found.st_ino not in self._taken and found.st_size:
                return path
        return Path(self.path) if now is not None and now.st_size else None

    def _rest_in_copy(self) -> bytes:
        """After a truncation: what the copy beside the file has beyond the place that was read to."""
        for copy in self._rotated() if self._before else ():
            with copy.open("rb") as file:
                file.seek(self._at - len(self._before))
                if file.read(len(self._before)) == self._before:
                    rest = file.read()
                    self._take(copy, file.tell())
                    return rest
        return b""

    def _missed_copies(self) -> bytes:
        """Copies of generations that came and were cut since the newest one that was read."""
        found = b""
        for path in self._rotated() if self._names_own() else ():
            known = self._taken.get(path.stat().st_ino, 0)
            if path.stat().st_mtime_ns < self._age or path.stat().st_size <= known or self._is_current(path):
                continue
            with path.open("rb") as file:
                file.seek(known)
                found += file.read()
                self._take(path, file.tell())
        return found

    def _names_own(self) -> bool:
        """Whether the name still leads to the file being read: then generations beside it are copies."""
        now = _stat(Path(self.path))
        return self._fd is not None and now is not None and now.st_ino == os.fstat(self._fd).st_ino

    def _take(self, path: Path, size: int) -> None:
        found = path.stat()
        self._taken[found.st_ino] = size
        self._age = max(self._age, found.st_mtime_ns)

    def _is_current(self, path: Path) -> bool:
        """Whether a copy holds what the file itself still holds: it is being made, or the cut is to come."""
        assert self._fd is not None
        with path.open("rb") as copy:
            at, head = 0, copy.read(_FINGERPRINT)
            while head and is_gap(head, len(head)):  # both may begin with NULs
                at, head = at + len(head), copy.read(_PIECE)
        gap = len(head) - len(head.lstrip(b"\0"))
        at, head = at + gap, head[gap : gap + _FINGERPRINT]
        return not head or os.pread(self._fd, len(head), at) == head

    def _rotated(self) -> list[Path]:
        """Earlier generations beside the file (``a.log.1``, ``a.log-20260129``), oldest first."""
        path = Path(self.path)
        names = path.parent.iterdir() if path.parent.is_dir() else ()
        found = [
            p
            for p in names
            if p.name.startswith(path.name) and _GENERATION.fullmatch(p.name[len(path.name) :])
        ]
        return sorted((p for p in found if p.is_file()), key=lambda p: p.stat().st_mtime_ns)


_GENERATION = re.compile(GENERATION)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


class _Pipe:
    """Standard input, or a named pipe, as a tail: it ends."""

    restarted = False

    def __init__(self, path: str) -> None:
        self.ended = False
        self._fd = 0 if path == "-" else os.open(path, os.O_RDONLY)

    def read(self) -> bytes:
        if not select.select([self._fd], [], [], POLL_S)[0]:
            return b""
        data = os.read(self._fd, _BLOCK)
        self.ended = not data
        return data

    def close(self) -> None:
        """Let go of it, if it was opened here."""
        if self._fd:
            os.close(self._fd)


def whole_lines(
    path: str, stop: Callable[[], bool] = lambda: False, poll_s: float = POLL_S
) -> Iterator[bytes]:
    """Blocks of whole lines of a growing log as they come; an empty one when nothing came for a while.

    Ends when ``stop()`` is true and nothing is left to read (or, on standard input, at its end). A line that
    a rotation cut in two is put together again. Raises OSError for one of more than `LONGEST_LINE` bytes.
    """
    is_pipe = path == "-" or (Path(path).exists() and not Path(path).is_file())
    tail: Tail | _Pipe = _Pipe(path) if is_pipe else Tail(path)
    partial = bytearray()
    in_gap = False  # at the start of a generation, where NULs are if its writer does not append
    try:
        while True:
            ending = stop()
            data = tail.read()
            in_gap = in_gap or tail.restarted
            if not data:
                if ending or (isinstance(tail, _Pipe) and tail.ended):
                    break
                yield b""
                if not is_pipe:
                    time.sleep(poll_s)
                continue
            if in_gap:
                data = data.lstrip(b"\0")
                if not data:
                    continue
                in_gap = False
                if partial and not partial.endswith(b"[") and _LINE_START.match(data):
                    partial += b"\n"
            cut = data.rfind(b"\n") + 1
            if not cut:
                partial += b"\0" if is_gap(data, len(data)) else data
                if len(partial) > LONGEST_LINE:
                    raise OSError(f"a line of more than {LONGEST_LINE >> 20} MiB: not a log")
                continue
            whole, partial = partial + data[:cut], bytearray(data[cut:])
            yield bytes(whole)
        if partial:
            yield bytes(partial)
    finally:
        tail.close()
