"""One engine for every kind: recognise a message, take its fields. It knows shapes, not kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from speclog.formats.prefix import Prefix, split_prefix
from speclog.formats.server_args import aliased, parse_arguments, parse_server_args
from speclog.formats.spec import Field, Kind, load_kinds
from speclog.formats.values import PATTERN, Value, convert, json_value, milliseconds

Fields = dict[str, Value]


@dataclass(slots=True)
class Record:
    """A recognised line: its kind, prefix, message, typed fields and what no declaration names."""

    kind: Kind
    prefix: Prefix
    message: str
    fields: Fields
    extra: dict[str, str] = field(default_factory=dict)


def read_line(line: str) -> Record | None:
    """Recognise one line (already free of wrappers) and take its fields; None when no kind fits."""
    prefix, message = split_prefix(line)
    kind = recognise(message)
    return None if kind is None else read_message(kind, prefix, message)


def read_message(kind: Kind, prefix: Prefix, message: str) -> Record:
    """The record of a message whose kind is known."""
    fields, extra = take_fields(kind, message)
    return Record(kind, prefix, message, fields, extra)


def recognise(message: str) -> Kind | None:
    """The kind of a message, by literal first and pattern second; None when no kind fits."""
    found = understand(message)
    return None if found is None else found.kind


@dataclass(slots=True)
class Understood:
    """A message of a kind; its fields are taken when they are first asked for, and are not to be changed."""

    kind: Kind
    message: str
    told: Any = None
    """What a later stage makes of it, kept here by that stage."""
    _taken: tuple[Fields, dict[str, str]] | None = None
    _json: str | None = None

    @property
    def fields(self) -> tuple[Fields, dict[str, str]]:
        """Typed fields, and the pieces that no declaration names."""
        if self._taken is None:
            self._taken = take_fields(self.kind, self.message)
        return self._taken

    def record(self, prefix: Prefix) -> Record:
        """The record of a line that says it behind a prefix."""
        return Record(self.kind, prefix, self.message, *self.fields)

    @property
    def json(self) -> str | None:
        """The fields as a JSON object; None when there are none."""
        if self._json is None and self.fields[0]:
            self._json = json.dumps(self.fields[0], ensure_ascii=False)
        return self._json


def understand(message: str) -> Understood | None:
    """The kind and the fields of a message; None when no kind fits."""
    return _understand(message) if len(message) < _CACHED else _fresh(message)


@lru_cache(maxsize=8192)
def _understand(message: str) -> Understood | None:
    """Restarts, ranks and retries print the same text again and again."""
    return _fresh(message)


def _fresh(message: str) -> Understood | None:
    kind = _search(message)
    return None if kind is None else Understood(kind, message)


_CACHED = 512


def _search(message: str) -> Kind | None:
    by_start, by_content = _index()
    for literal, kind in by_start.get(message[:_HEAD], ()):
        if message.startswith(literal) and _matches(kind, message):
            return kind
    for literal, kind in by_content:
        if literal in message and _matches(kind, message):
            return kind
    return None


_HEAD = 2


@cache
def _index() -> tuple[dict[str, list[tuple[str, Kind]]], list[tuple[str, Kind]]]:
    """Literals that start a message, by their first characters; literals anywhere, in order."""
    by_start: dict[str, list[tuple[str, Kind]]] = {}
    by_content = []
    for kind in load_kinds():
        for literal in kind.starts:
            by_start.setdefault(literal[:_HEAD], []).append((literal, kind))
        by_content += [(literal, kind) for literal in kind.contains]
    return by_start, by_content


@cache
def _beginnings() -> dict[str, tuple[str, ...]]:
    """The literals that start a message, by their first characters."""
    return {head: tuple(literal for literal, _ in kinds) for head, kinds in _index()[0].items()}


class Hope:
    """Which messages of some lines may be of a kind.

    For many lines: a literal that may stand anywhere is looked for once, and if none of the lines holds it in
    no message.
    """

    def __init__(self, lines: bytes) -> None:
        self._beginnings = _beginnings()
        self._within = [literal for literal, _ in _index()[1] if literal.encode() in lines]

    def of(self, message: str) -> bool:
        """Whether a message may be of a kind; if not, `understand` finds none."""
        if message.startswith(self._beginnings.get(message[:_HEAD], ())):
            return True
        for literal in self._within:  # noqa: SIM110 - a generator takes three times as long
            if literal in message:
                return True
        return False


def _matches(kind: Kind, message: str) -> bool:
    return kind.pattern is None or kind.pattern.search(message) is not None


def take_fields(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    """Typed fields of a message of a kind, and the pieces that no declaration names (as text)."""
    return _SHAPES[kind.shape](kind, message)


def _pieces(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    """``Head. key: value, key: value``: the head may carry ``[n]``, the iteration."""
    literal = next(text for text in kind.starts if message.startswith(text))
    rest = message[len(literal) :]
    fields: Fields = {}
    extra: dict[str, str] = {}
    found = _ITERATION.match(rest)
    if found:
        iteration = convert("int", found[1])
        if iteration is not None:
            fields["iteration"] = iteration
        rest = rest[found.end() :]
    for piece in split_pieces(rest.lstrip("., ")):
        key, _, text = piece.partition(": ")
        declared = kind.by_key.get(key)
        if declared is None:
            extra[key] = text
        else:
            value = convert(declared.type, text.strip())
            if value is not None:
                fields[declared.name] = value
    return fields, extra


_ITERATION = re.compile(r" \[(\d+)\]")


def split_pieces(text: str) -> list[str]:
    """Split on ``", "``; a piece without ``": "`` belongs to the value before it (``2.80 [2.70, 2.90]``)."""
    pieces: list[str] = []
    for part in text.rstrip(", \r\n").split(", "):
        if pieces and ": " not in part:
            pieces[-1] += ", " + part
        elif part:
            pieces.append(part)
    return pieces


def _anchors(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    """Each value follows its key, wherever that stands."""
    fields = _groups(kind, message)
    for declared in kind.fields:
        for pattern in _anchor_patterns(declared):
            found = pattern.search(message)
            if found:
                value = convert(declared.type, _bare(declared.type, found[1]))
                if value is not None:
                    fields[declared.name] = value
                break
    return fields, {}


def _bare(kind: str, text: str) -> str:
    return text.rstrip(".") if kind in {"word", "text"} else text


@lru_cache(maxsize=1024)
def _anchor_patterns(declared: Field) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(re.escape(key) + PATTERN[declared.type]) for key in declared.keys)


def _groups(kind: Kind, message: str) -> Fields:
    found = kind.pattern.search(message) if kind.pattern else None
    return {name: text for name, text in found.groupdict().items() if text is not None} if found else {}


def _pairs(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    """``Head key=value key=value``: split on blanks."""
    fields: Fields = {}
    extra: dict[str, str] = {}
    for part in message.split():
        key, sign, text = part.partition("=")
        declared = kind.by_key.get(key)
        if not sign or (declared is None and key in {"v", "kind"}):
            continue
        if declared is None:
            extra[key] = text
        elif declared.type == "ms3":
            fields |= milliseconds(declared.name, text)
        else:
            value = convert(declared.type, text)
            if value is not None:
                fields[declared.name] = value
    return fields, extra


def _json(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    """``Head {json}``: the object's members are the fields."""
    try:
        value = json_value(message[message.index("{") :])
    except (ValueError, RecursionError):
        return {}, {"unreadable": message}
    return (value, {}) if isinstance(value, dict) else ({}, {"unreadable": message})


def _text(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    return _groups(kind, message), {}


def _server_args(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    found = parse_server_args(message)
    return (dict(found), {}) if found is not None else ({}, {"unreadable": "server_args"})


def _python(kind: Kind, message: str) -> tuple[Fields, dict[str, str]]:
    """A Python expression behind the head: arguments of another engine, with SGLang's names added."""
    literal = next(text for text in kind.starts if message.startswith(text))
    found = parse_arguments(message[len(literal.removesuffix("Namespace(")) :])
    if found is None:
        return {}, {"unreadable": "arguments"}
    fields: Fields = dict(found)
    for name, alias in kind.aliases.items():
        fields.setdefault(name, aliased(found, alias.paths, alias.default, alias.present))
    return fields, {}


_SHAPES: dict[str, Callable[[Kind, str], tuple[Fields, dict[str, str]]]] = {
    "pieces": _pieces,
    "anchors": _anchors,
    "pairs": _pairs,
    "json": _json,
    "text": _text,
    "server_args": _server_args,
    "python": _python,
}
