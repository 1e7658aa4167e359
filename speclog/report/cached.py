"""What takes long to make and is the same every time, kept in the user's cache directory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def directory() -> Path:
    """``$XDG_CACHE_HOME/speclog`` or ``~/.cache/speclog``; it need not be there."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "speclog"


def keep(path: Path, text: str) -> None:
    """Write beside and rename: nobody sees half a file. One that cannot be kept is no error."""
    with contextlib.suppress(OSError):
        replace(path, text)


def replace(path: Path, text: str) -> None:
    """Put a text into a file at once, or leave the file and its folder as they were. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8", "backslashreplace")
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as handle:
        made = Path(handle.name)
        try:
            handle.write(data)
            handle.flush()
            made.chmod(0o644)
            made.replace(path)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
