"""Profile and overlay files: finding them by name, reading them, and saying where a key stands."""

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speclog.errors import InputError, UsageError
from speclog.launch.schema import nearest
from speclog.resources import directory


@dataclass(frozen=True)
class Source:
    """A TOML file that was read: its tables and where each key stands."""

    path: Path
    tables: dict[str, Any]
    lines: dict[tuple[str, str], int]

    def where(self, table: str, key: str = "") -> str:
        """``file:line`` of a key of a table (of the table itself without a key)."""
        line = self.lines.get((table, key))
        return f"{shown(self.path)}:{line}" if line else shown(self.path)


def shown(path: Path) -> str:
    """A path as a person would write it: relative to the working directory where that is shorter."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def read(path: Path) -> Source:
    """Read a TOML file. Raises InputError when it is missing, unreadable, or not TOML."""
    try:
        text = path.read_text(encoding="utf-8")
        return Source(path, tomllib.loads(text), _key_lines(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{shown(path)}: not TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{shown(path)}: not UTF-8 text: {error}") from error
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot be read: {error.strerror}") from error


def _key_lines(text: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[([^\[\]]+)\]", line):
            table = head[1].strip()
            found.setdefault((table, ""), number)
        elif entry := re.match(r"\s*[\"']?([\w.-]+)[\"']?\s*=", line):
            found.setdefault((table, entry[1]), number)
    return found


def find(name: str, kind: str = "profile") -> Path:
    """The file of a profile or overlay: a path, or a name looked up in ./launch and in the shipped ones.

    Raises UsageError, with the nearest name, when there is none.
    """
    if name.endswith(".toml") or "/" in name:
        return Path(name).resolve()
    for folder in _folders(kind):
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    names = available(kind)
    raise UsageError(f"no {kind} '{name}'{nearest(name, names)} (there are: {', '.join(names) or 'none'})")


def available(kind: str = "profile") -> list[str]:
    """Names of all profiles (or overlays) that ``find`` knows, sorted."""
    return sorted({path.stem for folder in _folders(kind) for path in folder.glob("*.toml")})


def _folders(kind: str) -> Iterator[Path]:
    for base in (Path.cwd() / "launch", directory("launch")):
        yield base / "overlays" if kind == "overlay" else base
