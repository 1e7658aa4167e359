"""Files written at once or not at all, and never in the place of a store."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from speclog.errors import UsageError

_DUCKDB, _SQLITE = b"DUCK", b"SQLite format 3\0"


def write(path: Path, data: str | bytes) -> None:
    """Put ``data`` into a file at once, or leave the file and its folder as they were.

    Its permissions are those of the file that was there, else what the umask gives. What is no plain file (a
    pipe, /dev/stdout) is written to. Raises OSError, and UsageError where a database lies.
    """
    whole = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(whole)
        else:
            _refuse_database(path)
            _replace(path.resolve(), whole)  # where a link leads
    except OSError as error:
        error.filename = str(path)  # a full disk names no file, and nobody knows the one beside it
        raise


def _replace(path: Path, whole: bytes) -> None:
    made = path.parent / f".speclog-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with made.open("xb") as stream:
            stream.write(whole)
        with contextlib.suppress(FileNotFoundError):
            made.chmod(path.stat().st_mode & 0o777)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def _refuse_database(path: Path) -> None:
    """A name typed once too often must not cost a store."""
    with contextlib.suppress(OSError), path.open("rb") as stream:
        head = stream.read(16)
        if head[8:12] == _DUCKDB or head == _SQLITE:
            raise UsageError(f"{path}: a database; it is not overwritten: name another file")
