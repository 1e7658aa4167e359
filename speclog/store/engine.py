"""Connections: DuckDB files and DuckLake catalogs, their extensions, their locks, their credentials.

Every statement stays inside what DuckDB 1.5 and 2.x both offer, so a file written by one opens in the other
and in the packaged ``duckdb`` CLI.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from speclog.errors import StoreError
from speclog.store import interrupts, problems, spill
from speclog.store.target import Target

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

LAKE = "lake"
"""Name a lake is attached under."""

# DuckDB 2.x would otherwise write files that no 1.x (and no packaged CLI of today) can open. Nothing is ever
# fetched from the network behind the user's back.
_CONFIG = {"storage_compatibility_version": "v1.2.0", "autoinstall_known_extensions": "false"}
# DuckDB would draw a progress bar on stdout, also into a pipe.
_QUIET = "SET enable_progress_bar = false; SET enable_progress_bar_print = false"
_NEXT_STEPS = (
    ("No space left on device", "free some space there"),
    ("schema public", "the user of --store has to own the database: createdb -O USER (docs/fleet.md)"),
    ("data_path is not set", "create it first, once for all hosts: `speclog init --data-path DIR`"),
    (
        "does not match existing data path",
        "the lake is there, and its Parquet stays where it is: leave it out",
    ),
    ("ermission denied", "check the permissions of the file and its directory"),
    ("not a valid DuckDB database", "name another file with --store"),
    ("version number", "upgrade: pip install -U duckdb"),
    ("orrupt", "restore a copy, or move the file away and ingest its logs again"),
    ("checksum", "restore a copy, or move the file away and ingest its logs again"),
    ("does not exist", "create it first (`speclog init`)"),
)
_IDLE: dict[tuple[Target, bool], duckdb.DuckDBPyConnection] = {}
_CATALOG_EXTENSION = {"postgres": "postgres_scanner", "sqlite": "sqlite_scanner"}


def connect(
    target: Target, *, read_only: bool, create: bool, lock_timeout: float
) -> duckdb.DuckDBPyConnection:
    """Return a connection whose current database is the store.

    Waits up to ``lock_timeout`` seconds for another process's lock or for a catalog server that is starting.
    Raises StoreError when the store is busy, missing or no store.
    """
    import duckdb

    open_ = _open_lake if target.is_lake else _open_file
    if (idle := _IDLE.pop((target, read_only), None)) is not None:
        with contextlib.suppress(duckdb.Error):
            idle.execute("SELECT 1 FROM raw_meta LIMIT 1").fetchall()
            return idle
    try:
        return retry(
            lambda: open_(target, read_only, create),
            timeout=lock_timeout,
            again=lambda e: problems.is_locked(e) or problems.is_lost(e) or problems.is_conflict(e),
            wake=None if target.is_lake else lambda: not is_locked(target.path),
        )
    except duckdb.Error as error:
        raise _refusal(error, target, lock_timeout) from error


def release(
    connection: duckdb.DuckDBPyConnection, target: Target, *, read_only: bool, reusable: bool
) -> None:
    """Close a connection, or keep it for the next `connect` of this process.

    Only a lake's is kept: it holds no lock, and to attach one costs most of a second.
    """
    if reusable and target.is_lake and (target, read_only) not in _IDLE:
        _IDLE[target, read_only] = connection
    else:
        connection.close()


def retry(
    work: Callable[[], T],
    *,
    timeout: float,
    again: Callable[[BaseException], bool],
    wake: Callable[[], bool] | None = None,
) -> T:
    """Return ``work()``, tried again with growing, jittered pauses for ``timeout`` seconds.

    Only engine errors for which ``again`` is true are retried; the last one is raised as it came. ``wake``
    ends a pause early: it is asked every few hundredths of a second whether a try could succeed, and the
    oftener the longer it takes. So who has waited longest is the likeliest to be next.
    """
    import duckdb

    began = time.monotonic()
    deadline = began + timeout
    pause = 0.05
    while True:
        try:
            return work()
        except duckdb.Error as error:
            if not again(error) or time.monotonic() >= deadline:
                raise
        _pause(random.uniform(pause / 2, pause), wake, began)
        pause = min(pause * 1.6, 1.0)


def never() -> bool:
    """As ``committed`` of `Store.transaction`, for work that changes nothing when it is done twice."""
    return False


def _pause(seconds: float, wake: Callable[[], bool] | None, began: float) -> None:
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        look = random.uniform(0.01, 0.04) / (1 + (now - began) / 2)
        time.sleep(min(max(look, 0.005), seconds) if wake else seconds)
        if wake and wake():
            return


def is_locked(path: Path, *, unknown: bool = True) -> bool:
    """Whether the kernel lists a lock on the file: without asking, a waiter misses the gaps between writers.

    ``unknown`` (wait on) where there is no such list.
    """
    try:
        found = path.stat()
        listed = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return unknown
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino} " in listed


def _refusal(error: BaseException, target: Target, lock_timeout: float) -> StoreError:
    text = problems.first_line(error)
    if problems.is_locked(error):
        by = problems.holder(error) or text
        return StoreError(
            f"{target}: busy for {lock_timeout:g} s, held by {by}; close it, or wait longer (--lock-timeout)"
        )
    if problems.is_lost(error):
        return StoreError(f"{target}: the catalog cannot be reached ({lock_timeout:g} s tried): {text}")
    step = "it is empty: remove it" if _is_empty(target) else _what_to_do(text)
    return StoreError(f"{target}: cannot be opened as a store: {text}; {step}")


def _is_empty(target: Target) -> bool:
    with contextlib.suppress(OSError):
        return not target.is_lake and target.path.stat().st_size == 0
    return False


def _what_to_do(text: str) -> str:
    """The next step after an error of opening; the engine names only what it met."""
    return next((step for known, step in _NEXT_STEPS if known in text), "check --store")


def _open_file(target: Target, read_only: bool, create: bool) -> duckdb.DuckDBPyConnection:
    import duckdb

    if not create and not target.path.is_file():
        raise StoreError(
            f"{target}: no store here; run `speclog ingest LOG...` first or name one with --store"
        )
    had = target.path.exists()
    try:
        opened = duckdb.connect(str(target.path), read_only=read_only, config=dict(_CONFIG))
    except duckdb.Error as error:
        if not had and problems.is_full(error):  # else a file that is no store would be in the way for ever
            target.path.unlink(missing_ok=True)
        raise
    connection = interrupts.watch(opened)
    connection.execute(_QUIET)
    if read_only:
        # The store's own directory may be read-only too; big sorts spill elsewhere.
        _spill_elsewhere(connection)
    return connection


def _spill_elsewhere(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(f"SET temp_directory = {quote(str(spill.directory()))}")


def quote(text: str) -> str:
    """An SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _open_lake(target: Target, read_only: bool, create: bool) -> duckdb.DuckDBPyConnection:
    import duckdb

    if target.kind == "sqlite" and not create and not target.path.is_file():
        raise StoreError(f"{target}: no store here; make one with `speclog init`")
    connection = interrupts.watch(duckdb.connect(config={"autoinstall_known_extensions": "false"}))
    try:
        connection.execute(_QUIET)
        _spill_elsewhere(connection)  # else into whatever directory the command was called in
        for name in ("ducklake", _CATALOG_EXTENSION[target.kind]):
            _load(connection, name)
        try:
            _attach(connection, target, read_only, create)
        except duckdb.Error as error:
            if "'httpfs'" not in str(error):
                raise
            _enable_s3(connection)  # only the catalog knows that its data lies in an object store
            _attach(connection, target, read_only, create)
    except BaseException:
        connection.close()
        raise
    return connection


def _attach(connection: duckdb.DuckDBPyConnection, target: Target, read_only: bool, create: bool) -> None:
    catalog = quote(f"ducklake:{target.kind}:{target.location}")
    options = ["READ_ONLY"] if read_only else []
    options += [] if create and not read_only else ["CREATE_IF_NOT_EXISTS false"]
    if create and not read_only and target.data_path:
        options.append(f"DATA_PATH {quote(target.data_path)}")
    listed = f" ({', '.join(options)})" if options else ""
    connection.execute(f"ATTACH {catalog} AS {LAKE}{listed}")
    connection.execute(f"USE {LAKE}")
    connection.execute("SET ducklake_max_retry_count = 100")


def data_path(connection: duckdb.DuckDBPyConnection) -> str:
    """Where an attached lake's Parquet lies, as its catalog records it; '' when it does not."""
    catalog = f"__ducklake_metadata_{LAKE}.ducklake_metadata"
    rows = connection.execute(f"SELECT value FROM {catalog} WHERE key = 'data_path'").fetchall()
    return str(rows[0][0]) if rows else ""


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from its wheel, else one the user installed; never fetch it."""
    import duckdb

    version = connection.execute("SELECT version()").fetchall()[0][0]
    tries = [name]
    with contextlib.suppress(ModuleNotFoundError):
        wheel = importlib.resources.files(f"duckdb_extension_{name}")
        tries.insert(0, str(wheel / "extensions" / version / f"{name}.duckdb_extension"))
    for what in tries:
        with contextlib.suppress(duckdb.Error):
            connection.execute(f"LOAD {quote(what)}" if what != name else f"LOAD {name}")
            return
    raise StoreError(
        f"DuckDB {version} has no extension {name}, which a shared store needs: pip install 'speclog[lake]' "
        f"(or, with a network, INSTALL {name} in the duckdb CLI of the same version)"
    )


def _enable_s3(connection: duckdb.DuckDBPyConnection) -> None:
    """Load httpfs and hand it the AWS_* environment; the secret lives in this connection's memory only."""
    import duckdb

    _load(connection, "httpfs")
    options = ["TYPE s3", *(f"{key} {quote(value)}" for key, value in _s3_settings().items())]
    try:
        connection.execute(f"CREATE OR REPLACE SECRET speclog_s3 ({', '.join(options)})")
    except duckdb.Error:
        # Neither the text nor the cause: both may repeat the statement, and it holds the key.
        raise StoreError("the AWS_* variables of this environment do not make a usable S3 secret") from None


def _s3_settings() -> dict[str, str]:
    env = os.environ
    named = {
        "KEY_ID": env.get("AWS_ACCESS_KEY_ID"),
        "SECRET": env.get("AWS_SECRET_ACCESS_KEY"),
        "SESSION_TOKEN": env.get("AWS_SESSION_TOKEN"),
        "REGION": env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION"),
    }
    endpoint = urlsplit(env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or "")
    if endpoint.netloc:
        named |= {
            "ENDPOINT": endpoint.netloc,
            "URL_STYLE": "path",
            "USE_SSL": "true" if endpoint.scheme == "https" else "false",
        }
    return {key: value for key, value in named.items() if value}
