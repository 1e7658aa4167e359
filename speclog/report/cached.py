"""What takes long to make and is the same every time, kept in the user's cache directory."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

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
            replace(folder / name, text)


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
