"""What takes long to make and is the same every time, kept in the user's cache directory."""

from __future__ import annotations

import contextlib

from speclog import whole
from speclog.resources import cache_directory


def read(name: str) -> str | None:
    """What was kept under a name; None for nothing that can be read."""
    folder = cache_directory()
    with contextlib.suppress(OSError, ValueError):
        return None if folder is None else (folder / name).read_text(encoding="utf-8")
    return None


def keep(name: str, text: str) -> None:
    """Write beside and rename: nobody sees half a file. One that cannot be kept is no error."""
    folder = cache_directory()
    with contextlib.suppress(OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            whole.write(folder / name, text)
