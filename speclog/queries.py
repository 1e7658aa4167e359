"""Saved queries: the files of ``sql/queries``, each with a first comment line that says what it answers."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from speclog import resources
from speclog.errors import UsageError


@dataclass(frozen=True)
class Query:
    """One saved query: its name (the file's stem), what it answers, its SQL."""

    name: str
    about: str
    sql: str


def all_saved() -> list[Query]:
    """Every query that ships with speclog, by name."""
    return [_read(path) for path in sorted((resources.directory("sql") / "queries").glob("*.sql"))]


def saved(name: str) -> Query:
    """The saved query of this name. Raises UsageError naming the nearest one when there is none."""
    known = {query.name: query for query in all_saved()}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        raise UsageError(f"{name}: no saved query of this name; {hint}")
    return known[name]


def _read(path: Path) -> Query:
    text = path.read_text(encoding="utf-8")
    return Query(path.stem, text.splitlines()[0].removeprefix("--").strip(), text)
