"""Turning the engine's errors into one line with an exit code, and telling which are worth a retry."""

from __future__ import annotations

import os
import re
from pathlib import Path

from speclog.errors import SpeclogError, StoreError, UsageError

_LOCKED = ("Could not set lock on file", "different configuration")
_CONFLICT = (
    "ransaction conflict",
    "TransactionContext Error",
    "Failed to commit",
    "maximum retry count",
    "database is locked",
    "has been created by another transaction",
    "has been altered by another transaction",
    "pg_type_typname_nsp_index",  # several hosts make the tables of one empty catalog
    "pg_class_relname_nsp_index",
    'relation "ducklake_metadata" already exists',
    "table ducklake_metadata already exists",
    "could not serialize access",
    "deadlock detected",
)
_LOST = (
    "server closed the connection",
    "terminating connection",
    "connection to server",
    "the database system is",
    "Connection refused",
    "connection has been closed",
    "no connection to the server",
    "SSL SYSCALL",
)
_FORBIDDEN = ("Permission denied", "Read-only file system")  # by the file system
_REFUSED = ("permission denied", *_FORBIDDEN)
_FINAL = (*_REFUSED, "authentication failed", "no password supplied", "does not exist", "No such file")
_FULL = ("No space left on device", "out of disk space", "Disk quota exceeded")
_USER = ("ParserException", "BinderException", "CatalogException", "ConversionException", "SyntaxException")
_HOLDER = re.compile(r"held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")
_STATEMENT = re.compile(r'(query|COPY) ".*": ', re.DOTALL)
_SECRETS = ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
_KEYWORD = re.compile(r"((?:password|secret|token)\s*[=:]\s*)('[^']*'|\S+)", re.IGNORECASE)


def first_line(error: BaseException) -> str:
    """The first line of an error's text, and PostgreSQL's own if it has one; without credentials."""
    text = _essence(error).strip()
    if not text:
        return type(error).__name__
    first, *rest = text.splitlines()
    cause = next((line.split("ERROR:", 1)[1].strip() for line in rest if "ERROR:" in line), "")
    return redact(f"{first.rstrip('.')}: {cause}" if cause else first)


def _essence(error: BaseException) -> str:
    """An error's text without the statement that DuckLake repeats: its literals may say anything."""
    return _STATEMENT.sub(r"\1: ", str(error))


def redact(text: str) -> str:
    """Replace what the environment holds as credentials, and anything written as ``password=...``."""
    for name in _SECRETS:
        value = os.environ.get(name)
        if value:
            text = text.replace(value, f"<{name}>")
    return _KEYWORD.sub(r"\1<hidden>", text)


def is_locked(error: BaseException) -> bool:
    """Another process (or another kind of connection of this one) holds the file."""
    return any(known in _essence(error) for known in _LOCKED)


def is_full(error: BaseException) -> bool:
    """There is no room left on the disk, or no more is allowed."""
    return any(known in _essence(error) for known in _FULL)


def is_conflict(error: BaseException) -> bool:
    """Two transactions met; nothing of this one was written, and a new attempt can succeed."""
    text = _essence(error)
    if any(known in text for known in (*_REFUSED, *_FULL)):
        return False
    return type(error).__name__ == "TransactionException" or any(known in text for known in _CONFLICT)


def is_lost(error: BaseException) -> bool:
    """The catalog's server went away or is starting; whether a COMMIT under way arrived is unknown."""
    text = _essence(error)
    return any(known in text for known in _LOST) and not any(known in text for known in _FINAL)


def holder(error: BaseException) -> str:
    """Who holds the lock, as the engine names it: ``python3.11 (PID 7)``; '' when it does not say."""
    found = _HOLDER.search(str(error))
    return f"{Path(found['program']).name} (PID {found['pid']})" if found else ""


def translate(error: BaseException, where: object) -> SpeclogError:
    """The error a user sees for an engine's error: UsageError for wrong SQL, StoreError for all else."""
    text = first_line(error)
    if is_full(error):
        return StoreError(f"{where}: the disk is full; nothing of this transaction was kept: {text}")
    if any(known in _essence(error) for known in _FORBIDDEN):
        return StoreError(
            f"{where}: nothing of this was kept: {text}; check the permissions of the file and its directory"
        )
    if is_lost(error):
        return StoreError(f"{where}: the catalog cannot be reached: {text}")
    if is_conflict(error):
        return StoreError(f"{where}: still in conflict with other writers; run the command again: {text}")
    if type(error).__name__ in _USER or "Invalid Input Error" in text or "Permission Error" in text:
        return UsageError(f"SQL: {text}")
    return StoreError(f"{where}: {text}")
