"""What ``--store`` may name: a DuckDB file, or a DuckLake whose catalog is PostgreSQL or a SQLite file."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from speclog.errors import UsageError

Kind = Literal["file", "postgres", "sqlite"]

_FORMS = "FILE.duckdb, ducklake:postgres:dbname=... host=..., or ducklake:sqlite:FILE"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PASSWORD = re.compile(
    r"\b(?:ssl)?password\s*=|://[^/@\s:]*:[^/@\s]*@|\b(?:key_id|secret)\s*=", re.IGNORECASE
)


@dataclass(frozen=True)
class Target:
    """A parsed ``--store``. It holds no credential: `parse_target` refuses any."""

    kind: Kind
    location: str
    """Path of the file, or libpq keywords (``dbname=... host=...``)."""
    data_path: str | None = None
    """Where a lake's Parquet lies (directory or ``s3://...``); needed only when the lake is created."""

    @property
    def is_lake(self) -> bool:
        """Whether the store is a DuckLake."""
        return self.kind != "file"

    @property
    def path(self) -> Path:
        """The file of a ``file`` or ``sqlite`` store."""
        return Path(self.location)

    def __str__(self) -> str:
        return self.location if self.kind == "file" else f"ducklake:{self.kind}:{self.location}"


def parse_target(text: str) -> Target:
    """Return the store that ``text`` names.

    Raises UsageError for an unknown form, an unknown option, and for a password or key inside the text (it is
    not repeated in the message): those come from PGPASSFILE, PGSERVICE, PGPASSWORD and AWS_* alone.
    """
    if _PASSWORD.search(text):
        raise UsageError(
            "--store must not hold a password or key; use PGPASSFILE, PGSERVICE or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY (docs/fleet.md)"
        )
    if text.startswith("ducklake:"):
        return _lake(text.removeprefix("ducklake:"))
    path = text.removeprefix("duckdb:")
    if not path or path == ":memory:" or _SCHEME.match(path):
        raise UsageError(f"--store {text}: no such kind of store; it can be {_FORMS}")
    return Target("file", _at_home(path))


def _lake(text: str) -> Target:
    head, _, query = text.partition("?")
    name, _, location = head.partition(":")
    if name not in ("postgres", "sqlite") or not location.strip() or "://" in location:
        raise UsageError(f"--store ducklake:{text}: no such kind of store; it can be {_FORMS}")
    option, _, data_path = query.partition("=")  # as it is: a directory may be called R&D or c++
    if query and not (option == "data_path" and data_path):
        raise UsageError(f"--store ducklake:{head}?...: the only option is data_path=DIR")
    if name == "postgres":
        return Target("postgres", location.strip(), _absolute(data_path))
    location = _at_home(location.strip())
    return Target("sqlite", location, _absolute(data_path or f"{location}.files"))


def _at_home(path: str) -> str:
    """A leading ``~`` as what it means: a shell expands none in quotes, the engine only when it writes."""
    with contextlib.suppress(RuntimeError):  # nobody's home
        return str(Path(path).expanduser()) if path.startswith("~") else path
    return path


def _absolute(data_path: str) -> str | None:
    """A data path as every host must see it; DuckLake compares it with the one the catalog records."""
    if not data_path:
        return None
    whole = data_path if "://" in data_path else str(Path(_at_home(data_path)).absolute())
    return whole.rstrip("/") + "/"
