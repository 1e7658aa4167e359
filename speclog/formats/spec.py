"""The declared line kinds: loading them from ``kinds/*.toml`` and refusing a declaration that is wrong."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from speclog.formats.values import CONVERT, Value

KIND_DIR = Path(__file__).parent / "kinds"
SHAPES = ("pieces", "anchors", "pairs", "json", "text", "server_args", "python")
_KIND_KEYS = {
    "name", "what", "shape", "starts", "contains", "pattern", "table", "required", "session_start",
    "session_end", "multiline",
    "end_reason", "noise", "drop", "drop_bare", "prestart",
    "ready", "joins", "aliases", "fields", "sample",
}  # fmt: skip
_FIELD_KEYS = {"key", "type", "unit", "since", "until", "fact"}
_SAMPLE_KEYS = {"line", "version", "rank", "expect", "extra"}


class DeclarationError(ValueError):
    """A kind is declared wrongly; the text names file and kind."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a line: the text before it (alternatives allowed), its type and unit.

    ``fact`` names the session fact the value is; the first line of a session gives it.
    """

    name: str
    keys: tuple[str, ...]
    type: str
    unit: str = ""
    since: str = ""
    until: str = ""
    fact: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of a kind with the values it must give; every sample is a test."""

    line: str
    expect: dict[str, Value]
    extra: dict[str, str]
    version: str = ""
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """Where an engine keeps what SGLang calls otherwise: the first of dotted ``paths`` into its arguments.

    ``default`` stands in when none is there - if ``present`` names any arguments, only when one is there.
    """

    paths: tuple[str, ...]
    default: Value = None
    present: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of line.

    ``starts`` / ``contains`` are literals of which one must begin (or be in) the message; ``pattern``, if
    given, must match too and its named groups are fields. ``table`` names the raw table the line's fields
    go to (default: event). ``session_start`` orders the kinds that can begin a session (0: none does): one
    that does not come later in this order than what the session already has begins the next. ``noise`` lines
    are counted, not kept; ``drop`` is a literal near their end that sorts most of them out before any other
    work, ``drop_bare`` literals that do so on lines without a timestamp. ``prestart``: before the arguments.
    ``ready``: the server takes requests. ``joins``: adds to the row above. ``aliases``: arguments by the
    names SGLang has for them.
    """

    name: str
    engine: str
    what: str
    shape: str
    starts: tuple[str, ...]
    contains: tuple[str, ...]
    pattern: re.Pattern[str] | None
    table: str
    required: tuple[str, ...]
    session_start: int
    session_end: bool
    multiline: bool
    end_reason: str
    noise: bool
    drop: str
    drop_bare: tuple[str, ...]
    prestart: bool
    ready: bool
    joins: bool
    aliases: dict[str, Alias]
    fields: tuple[Field, ...]
    samples: tuple[Sample, ...]
    by_key: dict[str, Field] = field(repr=False)


@cache
def load_kinds() -> tuple[Kind, ...]:
    """All declared kinds, in the order in which they are tried. Raises DeclarationError."""
    kinds = [kind for path in sorted(KIND_DIR.glob("*.toml")) for kind in read_kinds(path)]
    names = [(kind.engine, kind.name) for kind in kinds]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise DeclarationError(f"declared twice: {sorted(twice)}")
    return tuple(kinds)


@cache
def early_kinds() -> frozenset[str]:
    """Names of the kinds that a server prints before its arguments."""
    return frozenset(kind.name for kind in load_kinds() if kind.prestart)


@cache
def batch_kinds() -> dict[str, Kind]:
    """Kinds read as columns, by the table they go to."""
    return {kind.table: kind for kind in load_kinds() if kind.shape == "pieces"}


@cache
def batch_heads() -> re.Pattern[str]:
    """What a line that may be of such a kind holds."""
    return re.compile("|".join(re.escape(kind.starts[0]) for kind in batch_kinds().values()))


@cache
def drops() -> tuple[str, ...]:
    """Literals near the end of lines that are droppable noise."""
    return tuple(kind.drop for kind in load_kinds() if kind.drop)


def read_kinds(path: Path) -> list[Kind]:
    """The kinds declared in one file. Raises DeclarationError."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [_kind(entry, data["engine"], path.name) for entry in data["kind"]]


def _kind(entry: dict[str, Any], engine: str, file: str) -> Kind:
    where = f"{file}: kind {entry.get('name', '?')}"
    _only(entry, _KIND_KEYS, where)
    if entry.get("shape") not in SHAPES:
        raise DeclarationError(f"{where}: shape must be one of {', '.join(SHAPES)}")
    if not entry.get("starts") and not entry.get("contains"):
        raise DeclarationError(f"{where}: needs a literal in starts or contains")
    if not entry.get("sample"):
        raise DeclarationError(f"{where}: needs at least one sample")
    fields = tuple(_field(name, value, where) for name, value in entry.get("fields", {}).items())
    unknown = set(entry.get("required", ())) - {f.name for f in fields}
    if unknown:
        raise DeclarationError(f"{where}: required names no field: {sorted(unknown)}")
    return Kind(
        name=entry["name"],
        engine=engine,
        what=entry["what"],
        shape=entry["shape"],
        starts=tuple(entry.get("starts", ())),
        contains=tuple(entry.get("contains", ())),
        pattern=re.compile(entry["pattern"]) if "pattern" in entry else None,
        table=entry.get("table", "event"),
        required=tuple(entry.get("required", ())),
        session_start=entry.get("session_start", 0),
        session_end=entry.get("session_end", False),
        multiline=entry.get("multiline", False),
        end_reason=entry.get("end_reason", ""),
        noise=entry.get("noise", False),
        drop=entry.get("drop", ""),
        drop_bare=tuple(entry.get("drop_bare", ())),
        prestart=entry.get("prestart", False),
        ready=entry.get("ready", False),
        joins=entry.get("joins", False),
        aliases={name: _alias(value) for name, value in entry.get("aliases", {}).items()},
        fields=fields,
        samples=tuple(_sample(value, where) for value in entry["sample"]),
        by_key={key: f for f in fields for key in f.keys},
    )


def _alias(value: dict[str, Any]) -> Alias:
    return Alias(tuple(value["path"]), value.get("default"), tuple(value.get("present", ())))


def _field(name: str, value: dict[str, Any], where: str) -> Field:
    _only(value, _FIELD_KEYS, f"{where}: field {name}")
    if value["type"] not in CONVERT:
        raise DeclarationError(f"{where}: field {name}: no type {value['type']!r}")
    keys = value["key"] if isinstance(value["key"], list) else [value["key"]]
    return Field(
        name=name,
        keys=tuple(keys),
        type=value["type"],
        unit=value.get("unit", ""),
        since=value.get("since", ""),
        until=value.get("until", ""),
        fact=value.get("fact", ""),
    )


def _sample(value: dict[str, Any], where: str) -> Sample:
    _only(value, _SAMPLE_KEYS, f"{where}: sample")
    return Sample(
        line=value["line"],
        expect=value["expect"],
        extra=value.get("extra", {}),
        version=value.get("version", ""),
        rank=value.get("rank", ""),
    )


def _only(value: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = set(value) - allowed
    if unknown:
        raise DeclarationError(f"{where}: unknown key {', '.join(sorted(unknown))}")
