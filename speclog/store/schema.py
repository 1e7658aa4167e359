"""The schema: tables, macros and views from ``sql/``, its version, and the steps from older versions.

* ``sql/tables`` holds every raw table as a new store gets it.
* ``sql/migrations/NNNN_what.sql`` takes a store from version NNNN-1 to NNNN (only for a change that
  ``CREATE TABLE IF NOT EXISTS`` cannot make: a new column, another type). Steps only ever go forward.
* ``sql/macros``, ``sql/views`` and the catalogues are replaced whenever their text changes. A reader that
  finds others in the store puts its own over them, as temporary views that it alone sees.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from speclog import __version__, resources
from speclog.errors import SpeclogError, StoreError
from speclog.store import catalogue, summaries
from speclog.store.engine import never

if TYPE_CHECKING:
    from speclog.store.handle import Store

SCHEMA_VERSION = 1
"""Number of the newest step in ``sql/migrations`` (1: the first release, which needs none)."""

CREATED = f"created (schema {SCHEMA_VERSION})"
"""What `prepare` says of a new store."""

PARTS = ("tables", "macros", "views", "functions")
"""Folders of ``sql/`` in the order in which they are run; functions are table macros over views."""

_CREATE = re.compile(r"^(CREATE OR REPLACE )(VIEW|MACRO)(\s+)(\w+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Definition:
    """One CREATE statement of the schema and where it comes from."""

    name: str
    part: str
    sql: str

    @property
    def temporary(self) -> str:
        """The same object as a temporary one of this connection."""
        if self.part == "tables":
            return self.sql.replace("CREATE TABLE IF NOT EXISTS", "CREATE TEMP TABLE", 1)
        return _CREATE.sub(r"\1TEMP \2\3\4", self.sql, count=1)


def schema_files() -> list[Path]:
    """The SQL files that make the schema, in the order in which they are run."""
    root = resources.directory("sql")
    return [path for part in PARTS for path in sorted((root / part).glob("*.sql"))]


def migrations() -> list[tuple[int, Path]]:
    """The numbered steps, oldest first: (version it leads to, file)."""
    found = sorted((resources.directory("sql") / "migrations").glob("[0-9]*.sql"))
    return [(int(path.name.split("_", 1)[0]), path) for path in found]


@cache
def definitions() -> tuple[Definition, ...]:
    """Everything the schema consists of, in the order in which it is made."""
    shipped = [
        Definition(_object_name(path), path.parent.name, path.read_text(encoding="utf-8"))
        for path in schema_files()
    ]
    tables = [item for item in shipped if item.part == "tables"]
    catalogues = [Definition(name, "catalogue", sql) for name, sql in catalogue.views()]
    catalogues.append(_level_method(shipped))
    return (*tables, *catalogues, *(item for item in shipped if item.part != "tables"))


LEVEL_METHOD = (
    "batch_mix_of", "decode_window_of", "level_window_of", "level_count_of", "level_line_of", "rank_level_of",
)  # fmt: skip
"""What decides the numbers that `summaries` keeps."""


def _level_method(shipped: Sequence[Definition]) -> Definition:
    """View ``level_method``: what the SQL behind the kept numbers hashes to, comments left out."""
    parts = [
        " ".join(re.sub(r"--[^\n]*", "", item.sql).split()) for item in shipped if item.name in LEVEL_METHOD
    ]
    value = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return Definition(
        "level_method", "catalogue", f"CREATE OR REPLACE VIEW level_method AS SELECT '{value}' AS method;"
    )


def _object_name(path: Path) -> str:
    return re.sub(r"^\d+_", "", path.stem)


def digest() -> str:
    """What all that the schema is made from hashes to: stores with the same digest need no refresh.

    Of the files as they are, and the code that makes views of them: to read the catalogues takes longer than
    most questions.
    """
    made_by = (Path(__file__), Path(catalogue.__file__))
    found = hashlib.sha256()
    for path in (*schema_files(), *catalogue.files(), *made_by):
        text = path.read_bytes()
        found.update(b"%s %d " % (path.name.encode(), len(text)) + text)
    return found.hexdigest()


def prepare(store: Store, *, writable: bool) -> str:
    """Bring store and speclog together: install, migrate or refresh when writing; overlay when reading.

    Returns what was done, in words. Raises StoreError when the store's schema is newer, or older and opened
    to read.
    """
    version = recorded_version(store)
    if version is not None and version > SCHEMA_VERSION:
        raise StoreError(
            f"{store.target}: written by a newer speclog (its schema is {version}, this one reads up to "
            f"{SCHEMA_VERSION}); upgrade speclog"
        )
    if writable:
        return _bring_up_to_date(store, version)
    if version is None:
        raise StoreError(f"{store.target}: not a speclog store; make one with `speclog init`")
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"{store.target}: written by an older speclog (its schema is {version}, now {SCHEMA_VERSION}); "
            f"`speclog --store {store.target} init` migrates it, keeping every run"
        )
    if _recorded(store, "schema_digest") != digest():
        overlay(store)
        return "opened to read, with the views of this speclog"
    return "opened to read"


def recorded_version(store: Store) -> int | None:
    """The schema version of the store; None when it has no speclog tables yet."""
    found = store.rows(
        "SELECT 1 FROM duckdb_tables() WHERE table_name = 'raw_meta' AND database_name = current_database()"
    )
    if not found:
        return None
    sql = "SELECT max(CAST(value AS INTEGER)) FROM raw_meta WHERE key = 'schema_version'"
    value = store.rows(sql)[0][0]
    return None if value is None else int(value)


def _recorded(store: Store, key: str) -> str | None:
    found = store.rows("SELECT max_by(value, set_at) FROM raw_meta WHERE key = ?", [key])
    return found[0][0] if found else None


def _bring_up_to_date(store: Store, version: int | None) -> str:
    if version is not None and _recorded(store, "schema_digest") == digest():
        return "up to date"
    if version == SCHEMA_VERSION and _is_newer(_recorded(store, "speclog_version")):
        overlay(store)  # views of a newer release stay: hosts of a fleet would replace each other's for ever
        return "up to date; it keeps the views of a newer speclog"
    store.transaction(lambda: _install(store), committed=never)
    if version is None:
        return CREATED
    if version < SCHEMA_VERSION:
        return f"migrated from schema {version} to {SCHEMA_VERSION}"
    return "views refreshed"


def _is_newer(version: str | None) -> bool:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)[:3]]

    return version is not None and numbers(version) > numbers(__version__)


def _install(store: Store) -> None:
    """Make or migrate everything inside the caller's transaction."""
    version = recorded_version(store)
    if version is not None and _recorded(store, "schema_digest") == digest():
        return  # another host was first, and this transaction, tried again, has nothing left to do
    for number, path in migrations():
        if version is not None and number > version:
            _run(store, path.name, path.read_text(encoding="utf-8"))
    for item in definitions():
        _run(store, item.name, item.sql)
    _drop_retired(store)
    if version is not None:  # another method may be in use now
        summaries.write(store, limit=summaries.AT_REFRESH)
    now = datetime.now(UTC).replace(tzinfo=None)
    facts = {
        "schema_version": str(SCHEMA_VERSION),
        "schema_digest": digest(),
        "speclog_version": __version__,
        "schema_views": json.dumps([item.name for item in definitions() if _is_view(item)]),
    }
    for key, value in facts.items():
        store.rows("INSERT INTO raw_meta VALUES (?, ?, ?)", [key, value, now])


def _is_view(item: Definition) -> bool:
    return item.part in ("views", "catalogue")


def _drop_retired(store: Store) -> None:
    """Drop views that an earlier speclog made and this one no longer ships; a user's own views stay."""
    before = json.loads(_recorded(store, "schema_views") or "[]")
    for name in set(before) - {item.name for item in definitions()}:
        store.rows('DROP VIEW IF EXISTS "{}"'.format(name.replace('"', '""')))


def _run(store: Store, name: str, sql: str) -> None:
    try:
        store.script(sql)
    except SpeclogError as error:
        raise StoreError(f"{store.target}: {name}: {error}") from error


def overlay(store: Store) -> None:
    """Put this speclog's tables, macros and views over an open store, as temporary objects."""
    have = {row[0] for row in store.rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")}
    for item in definitions():
        if item.part != "tables" or item.name not in have:
            _run(store, item.name, item.temporary)
