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
    """Return the statement that makes ``entries`` the view ``name``.

    The entries are one JSON text that the engine unpacks: bound as VALUES, hundreds of long literals would
    cost every query of every view over a catalogue ten times as much.
    """
    columns = list(dict.fromkeys(key for entry in entries for key in entry))
    types = {column: _type([entry[column] for entry in entries if column in entry]) for column in columns}
    rows = [
        {"place": place} | {column: _plain(entry.get(column), types[column]) for column in columns}
        for place, entry in enumerate(entries, start=1)
    ]
    shape = {"place": "INTEGER"} | {
        column: ["VARCHAR"] if kind == "VARCHAR[]" else kind for column, kind in types.items()
    }
    text, structure = quote(json.dumps(rows)), quote(json.dumps([shape]))
    return (
        f"CREATE OR REPLACE VIEW {name} AS "
        f"SELECT unnest(from_json_strict({text}, {structure}), max_depth := 2);"
    )


def _type(values: Sequence[object]) -> str:
    if any(isinstance(value, list) for value in values):
        return "VARCHAR[]"
    for python, sql in _SCALARS:
        if all(isinstance(value, python) for value in values):
            return sql
    return "VARCHAR"


def _plain(value: object, sql_type: str) -> object:
    """A value as JSON has it for a column of this type."""
    if value is None:
        return None
    if sql_type == "VARCHAR[]":
        return [_text(item) for item in (value if isinstance(value, list) else [value])]
    return _text(value) if sql_type == "VARCHAR" else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
