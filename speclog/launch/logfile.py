"""The log of a session: the file the server itself appends to, and the lines speclog adds between its lines.

The server gets the file, opened with O_APPEND, as its stdout and stderr. So every write of every rank lands
whole, byte for byte and at once - a pipe would cut lines over 4 KiB into those of other ranks - and the log
outlives speclog.
"""

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from speclog.errors import LaunchError
from speclog.launch.manifest import now

_PATIENCE_S = 1.0


class LogFile:
    """A new log: speclog's own lines go in whole, between the lines of the server."""

    def __init__(self, path: Path) -> None:
        """Create the file; raise LaunchError (preflight) when that is not possible."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise LaunchError(
                f"{path}: is there already; a log is never overwritten", step="preflight"
            ) from None
        except OSError as error:
            raise LaunchError(
                f"{path}: cannot write a log there: {error.strerror}", step="preflight"
            ) from error

    def add(self, line: str) -> None:
        """Append one line of our own, between lines of the server where it leaves us a moment to."""
        self._wait_for_line_end()
        data = line.encode() + b"\n"
        if not self._at_line_end():
            data = b"\n" + data
        try:
            written = os.write(self.fd, data)
        except OSError as error:
            raise _write_failed(self.path, error) from error
        if written < len(data):
            raise _write_failed(self.path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def workload(self, event: str, step: str, kind: str, batch_size: int) -> None:
        """Mark the begin or end of a workload step."""
        told = {"event": event, "step": step, "kind": kind, "batch_size": batch_size, "at": now()}
        self.add(f"SPECLOG_WORKLOAD v=1 {json.dumps(told)}")

    def end(self, exit_code: int, reason: str, **more: Any) -> None:
        """Write the last line: how the session ended."""
        told = {"exit_code": exit_code, "reason": reason, "at": now(), **more}
        self.add(f"SPECLOG_END v=1 {json.dumps(told)}")

    def close(self) -> None:
        """Flush to the disk and close."""
        os.fsync(self.fd)
        os.close(self.fd)

    def _wait_for_line_end(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not self._at_line_end() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _at_line_end(self) -> bool:
        size = os.fstat(self.fd).st_size
        return size == 0 or os.pread(self.fd, 1, size - 1) == b"\n"


def _write_failed(path: Path, error: OSError) -> LaunchError:
    mend = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "look at the file system"
    return LaunchError(f"{path}: cannot write: {error.strerror}; {mend}", step="log")


class Follower:
    """Reads a growing file: each call of ``lines`` gives what was completed since the last one."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""

    def lines(self) -> Iterator[str]:
        """Lines completed since the last call; a progress bar's carriage return ends a line too."""
        *whole, self._rest = (self._rest + self._file.read()).replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            if line:
                yield line.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def tail(path: Path, size: int = 65536) -> list[str]:
    """The last lines of a file, at most ``size`` bytes of it."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read().decode("utf-8", "replace").replace("\r", "\n").splitlines()
