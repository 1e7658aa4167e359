"""Where big queries put what does not fit into memory."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"speclog-spill-(\d+)")
ABANDONED_S = 86_400.0
"""How long the directory of a process that is not seen any more lies untouched before it is removed.

A process of another container is not seen either, and may be at work.
"""


def directory() -> Path:
    """A directory of this process's own, which DuckDB makes when a query needs it and removes in the end.

    A killed process leaves its own behind, gigabytes sometimes: those that this user's processes abandoned
    are removed.
    """
    parent = Path(tempfile.gettempdir())
    with suppress(OSError):  # a directory that cannot be listed can still be written to
        for entry in os.scandir(parent):
            found = _NAME.fullmatch(entry.name)
            if found and entry.is_dir(follow_symlinks=False) and _is_abandoned(entry, int(found[1])):
                shutil.rmtree(entry.path, ignore_errors=True)
    return parent / f"speclog-spill-{os.getpid()}"


def _is_abandoned(entry: os.DirEntry[str], pid: int) -> bool:
    try:
        if entry.stat(follow_symlinks=False).st_uid != os.getuid() or _lives(pid):
            return False
        times = [entry.stat(follow_symlinks=False).st_mtime]
        times += [inside.stat(follow_symlinks=False).st_mtime for inside in os.scandir(entry.path)]
    except OSError:  # someone else removes it
        return False
    return time.time() - max(times) > ABANDONED_S


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
