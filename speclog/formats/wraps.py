"""Taking off what shippers put around whole lines (``wraps.toml``), and out of JSON strings."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "wraps.toml"
_JSON_KEYS = ("log", "message", "msg", "MESSAGE", "line", "text")
ANSI = r"\x1b\[[0-9;?]*[A-Za-z]"
_ANSI = re.compile(ANSI)


@dataclass(frozen=True, slots=True)
class Wrap:
    """One wrapper: its name, the pattern of what it puts before a line, and a sample.

    A group of the pattern is the name of the line's source (container, pod, unit); the group
    ``process`` is that of a process.
    """

    name: str
    unwrap: str
    sample: str


@cache
def load_wraps() -> tuple[Wrap, ...]:
    """All declared wrappers, in the order in which they are tried."""
    return tuple(Wrap(**entry) for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["wrap"])


@cache
def _server_marks() -> tuple[bytes, ...]:
    shown = tomllib.loads(_FILE.read_text(encoding="utf-8"))["server"]
    return tuple(mark.encode() for mark in shown)


def marks_in(text: bytes) -> tuple[bytes, ...]:
    """Those things only servers print that stand in a text."""
    return tuple(mark for mark in _server_marks() if mark in text)


def shows_server(line: bytes, marks: tuple[bytes, ...] | None = None) -> bool:
    """Whether a line holds what only servers print; ``marks``: what there is of it in all lines looked at."""
    for mark in _server_marks() if marks is None else marks:  # noqa: SIM110 - a generator takes three times as long
        if mark in line:
            return True
    return False


@cache
def _each() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(wrap.unwrap) for wrap in load_wraps())


def names_of(line: str) -> tuple[str, str]:
    """The names of a line's source and process as its wrappers give them, '' where none does.

    Of nested sources all names.
    """
    line = _ANSI.sub("", line).lstrip("\ufeff\0")
    names: list[str] = []
    process = ""
    at, found = 0, True
    while found:
        found = False
        for pattern in _each():
            match = pattern.match(line, at)
            if match and match.end() > at:
                named = match.groupdict()
                process = named.get("process", process)
                names += [] if named else match.groups()
                at, found = match.end(), True
                break
    return " ".join(names), process


@cache
def wrap_pattern() -> str:
    """One pattern for all wrappers, which may be nested (journald around docker)."""
    return "^(?:" + "|".join(wrap.unwrap for wrap in load_wraps()) + ")+"


@cache
def rust_wrap_pattern() -> str:
    """The same pattern for polars, whose engine has no look-ahead: those wrappers are left to `unwrap`."""
    plain = [wrap.unwrap for wrap in load_wraps() if "(?=" not in wrap.unwrap]
    return "^(?:" + "|".join(plain) + ")+"


@cache
def _compiled() -> re.Pattern[str]:
    return re.compile(wrap_pattern())


def unwrap(line: str) -> str:
    """A line without wrapper, colour codes and byte order mark; out of its JSON string if it is in one."""
    line = _ANSI.sub("", line).lstrip("\ufeff")
    if line.startswith(("{", ' "', '"', "  ")):
        inner = _from_json(line)
        if inner is not None:
            return unwrap(inner)
    return _compiled().sub("", line)


def _from_json(line: str) -> str | None:
    """The log line inside ``{"log": "..."}`` or inside a line of a JSON document (a notebook)."""
    text = line.strip().rstrip(",")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str):
        return value.rstrip("\n")
    if isinstance(value, dict):
        for key in _JSON_KEYS:
            if isinstance(value.get(key), str):
                return str(value[key]).rstrip("\n")
    return None
