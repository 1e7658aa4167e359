"""The store: opening it, its schema, waiting for its lock. The only module that knows DuckDB.

Every statement stays inside what DuckDB 1.5 and 2.x both offer (``execute``, ``fetchall``, ``description``,
the Arrow C stream), so a store written by one opens in the other and in the packaged ``duckdb`` CLI.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speclog import resources
from speclog.errors import StoreError, UsageError

if TYPE_CHECKING:
    import duckdb
    import polars as pl

SCHEMA_VERSION = 1
"""Raised when a raw table changes in a way old code cannot read; views may change without it."""

# DuckDB 2.x would otherwise write files that no 1.x (and no packaged CLI of today) can open.
_CONFIG = {"storage_compatibility_version": "v1.2.0"}
_LOCK_TEXT = ("Could not set lock on file", "different configuration")


class _ArrowStream:
    """A polars frame that DuckDB scans through the Arrow C stream: no pyarrow needed."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


class Store:
    """An open store: query it, append to it. Obtain one from `open_store`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, target: str) -> None:
        self._connection = connection
        self.target = target

    def rows(self, sql: str, params: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query. Raises UsageError when the SQL is wrong."""
        return self.result(sql, params)[1]

    def result(
        self, sql: str, params: Sequence[object] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return (column names, rows) of one statement. Raises UsageError when the SQL is wrong."""
        import duckdb

        try:
            cursor = self._connection.execute(sql, params)
            names = [column[0] for column in cursor.description or []]
            return names, cursor.fetchall()
        except duckdb.Error as error:
            raise UsageError(f"SQL: {first_line(error)}") from error

    def frame(self, sql: str, params: Sequence[object] | None = None) -> pl.DataFrame:
        """Return a query's result as a polars frame (columns as in the query)."""
        import polars as pl

        return pl.DataFrame(self._connection.sql(sql, params=params))

    def append(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Append frames to raw tables in one transaction: all rows or none.

        ``frames`` maps table name to rows; a column the frame lacks becomes NULL.
        """
        self._connection.execute("BEGIN")
        try:
            for table, frame in frames.items():
                self._insert(table, frame)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _insert(self, table: str, frame: pl.DataFrame) -> None:
        if frame.is_empty():
            return
        stream = _ArrowStream(frame)  # noqa: F841 - DuckDB finds it by name
        # Table names come from this package's code, never from a log.
        self._connection.execute(f'INSERT INTO "{table}" BY NAME SELECT * FROM stream')  # noqa: S608


def first_line(error: BaseException) -> str:
    """The first line of an error's text, for a one-line message."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


@contextmanager
def open_store(target: str, *, read_only: bool = True, lock_timeout: float = 20.0) -> Iterator[Store]:
    """Open a store, install or refresh its schema when writing, and close it at the end of the block.

    ``target`` is a path, optionally prefixed ``duckdb:``. A missing file is created when writing and is a
    StoreError when reading. Waits up to ``lock_timeout`` seconds for another process's lock.
    """
    path = Path(target.removeprefix("duckdb:"))
    if read_only and not path.is_file():
        raise StoreError(f"{path}: no store here; run `speclog ingest LOG...` first or name one with --store")
    connection = _connect(path, read_only=read_only, lock_timeout=lock_timeout)
    try:
        store = Store(connection, target)
        _check_version(store)
        if not read_only:
            _install_schema(store)
        yield store
    finally:
        connection.close()


def _connect(path: Path, *, read_only: bool, lock_timeout: float) -> duckdb.DuckDBPyConnection:
    import duckdb

    deadline = time.monotonic() + lock_timeout
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=dict(_CONFIG))
        except duckdb.Error as error:
            text = first_line(error)
            if not any(known in text for known in _LOCK_TEXT):
                raise StoreError(f"{path}: cannot be opened as a store: {text}") from error
            if time.monotonic() >= deadline:
                raise StoreError(f"{path}: busy for {lock_timeout:g} s: {text}") from error
            time.sleep(random.uniform(0.05, 0.3))


def _check_version(store: Store) -> None:
    known = store.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'raw_meta'")
    if not known:
        return
    found = store.rows("SELECT max(CAST(value AS INTEGER)) FROM raw_meta WHERE key = 'schema_version'")[0][0]
    if found is not None and found > SCHEMA_VERSION:
        raise StoreError(
            f"{store.target}: written by a newer speclog (schema {found}, this one reads {SCHEMA_VERSION}); "
            "upgrade speclog"
        )


def schema_files() -> list[Path]:
    """The SQL files that make the schema, in the order in which they are run."""
    root = resources.directory("sql")
    return [path for part in ("tables", "macros", "views") for path in sorted((root / part).glob("*.sql"))]


def _install_schema(store: Store) -> None:
    files = schema_files()
    texts = [path.read_text(encoding="utf-8") for path in files]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    if _current_digest(store) == digest:
        return
    for path, text in zip(files, texts, strict=True):
        try:
            store.rows(text)
        except UsageError as error:
            raise StoreError(f"{store.target}: {path.name}: {error}") from error
    now = datetime.now(UTC).replace(tzinfo=None)
    for key, value in (("schema_version", str(SCHEMA_VERSION)), ("schema_digest", digest)):
        store.rows("INSERT INTO raw_meta VALUES (?, ?, ?)", [key, value, now])


def _current_digest(store: Store) -> str | None:
    if not store.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'raw_meta'"):
        return None
    found = store.rows("SELECT max_by(value, set_at) FROM raw_meta WHERE key = 'schema_digest'")
    return found[0][0] if found else None
