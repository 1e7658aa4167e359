"""What takes long to make and is the same every time, kept in the user's cache directory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def directory() -> Path:
    """``$XDG_CACHE_HOME/speclog`` or ``~/.cache/speclog``; it need not be there."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "speclog"


def keep(path: Path, text: str) -> None:
    """Write beside and rename: nobody sees half a file. One that cannot be kept is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as handle:
            handle.write(text)
        Path(handle.name).replace(path)
    except OSError:
        return
