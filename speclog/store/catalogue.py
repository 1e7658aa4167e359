"""Catalogues that ship with speclog (TOML) as views of the store, so that SQL joins them like any table.

Every array of tables ``[[NAME]]`` of a catalogue file becomes the view ``catalogue_NAME``: one row an entry
in the file's order, the column ``place`` counting from 1, a column for every key used in any entry. A text
becomes VARCHAR, a list of texts VARCHAR[], an inline table JSON text (VARCHAR); a missing key is NULL.

A view is replaced whole when the file changes, by every writer with the same result: no row of an older
catalogue can be left behind, and two hosts cannot load it twice.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from speclog.store.engine import quote

FILES = ("analysis/factors.toml",)
"""Catalogue files, relative to the package; one that is not there is left out."""

_PACKAGE = Path(__file__).resolve().parent.parent
_SCALARS = ((bool, "BOOLEAN"), (int, "BIGINT"), (float, "DOUBLE"), (str, "VARCHAR"))


def views() -> list[tuple[str, str]]:
    """Return (view name, CREATE statement) of every catalogue."""
    return [made for path in files() for made in _views_of(path)]


def files() -> list[Path]:
    """The catalogue files of this installation."""
    return [path for name in FILES if (path := _PACKAGE / name).is_file()]


def _views_of(path: Path) -> Iterator[tuple[str, str]]:
    for name, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries):
            yield f"catalogue_{name}", create_view(f"catalogue_{name}", entries)


def create_view(name: str, entries: Sequence[Mapping[str, object]]) -> str:
    """Return the statement that makes ``entries`` the view ``name``."""
    columns = list(dict.fromkeys(key for entry in entries for key in entry))
    types = {column: _type([entry[column] for entry in entries if column in entry]) for column in columns}
    rows = ",\n".join(
        f"({place}, {', '.join(_literal(entry.get(column), types[column]) for column in columns)})"
        for place, entry in enumerate(entries, start=1)
    )
    named = ", ".join(f'"{column}"' for column in ["place", *columns])
    return f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM (VALUES\n{rows}\n) AS t ({named});"


def _type(values: Sequence[object]) -> str:
    if any(isinstance(value, list) for value in values):
        return "VARCHAR[]"
    for python, sql in _SCALARS:
        if all(isinstance(value, python) for value in values):
            return sql
    return "VARCHAR"


def _literal(value: object, sql_type: str) -> str:
    if value is None:
        return f"NULL::{sql_type}"
    if sql_type == "VARCHAR[]":
        items = value if isinstance(value, list) else [value]
        return "[" + ", ".join(quote(_text(item)) for item in items) + "]::VARCHAR[]"
    return f"{quote(_text(value))}::{sql_type}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
