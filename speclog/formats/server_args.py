"""The ``server_args=`` line, a dataclass repr (<= 0.5.18) or dict repr (>= 0.5.19), as canonical JSON.

Splitting on ``", "`` breaks on nested values, so the text is parsed as a Python expression - never evaluated.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from speclog.formats.values import whole_characters

LITERAL = "server_args="


def canonical(value: Any) -> str:
    """A value as JSON text, such that equal values give equal text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


_SECRET = re.compile(r"(?:api_key|password|passwd|secret|credential|(?:hf|auth|access|bearer)_token)s?$")
REDACTED = '"<redacted>"'


def recorded(name: str, value: Any) -> str:
    """An argument's value as canonical JSON; of a key or password only whether one was set."""
    return REDACTED if value and _SECRET.search(name) else canonical(value)


@lru_cache(maxsize=64)
def _parse(text: str) -> tuple[tuple[str, str], ...] | None:
    return _by_argument(text) or _as_a_whole(text)


# A value that ends where it seems to: no blank or bracket outside quotes, or brackets three deep.
_QUOTED = r"'[^'\\\n]*'" + r'|"[^"\\\n]*"'
_FLAT = rf"""[(\[{{](?:[^\[\](){{}}'"<>\\\n]|{_QUOTED})*+[\])}}]"""
_DEEP = rf"""[(\[{{](?:[^\[\](){{}}'"<>\\\n]|{_QUOTED}|{_FLAT})*+[\])}}]"""
_DEEPER = rf"""[(\[{{](?:[^\[\](){{}}'"<>\\\n]|{_QUOTED}|{_FLAT}|{_DEEP})*+[\])}}]"""
_VALUE = rf"([-\w.]+(?:\+\d+)?|{_QUOTED}|(?:[A-Za-z_][\w.]*)?{_DEEPER})(, |$)"
_OF_CALL = re.compile(rf"([A-Za-z_]\w*)=(){_VALUE}", re.ASCII)
_OF_DICT = re.compile(rf"'([^'\\\n]*)'(:\ ){_VALUE}", re.ASCII)
_CALL = re.compile(r"[A-Za-z_]\w*\(", re.ASCII)


def _by_argument(text: str) -> tuple[tuple[str, str], ...] | None:
    """The arguments of a text in which each is plain to see; restarts repeat most, so each is remembered."""
    call = _CALL.match(text)
    if call and text.endswith(")"):
        start, pattern = call.end(), _OF_CALL
    elif text.startswith("{") and text.endswith("}"):
        start, pattern = 1, _OF_DICT
    else:
        return None
    found = [
        (_argument if len(parts[2]) < _SHORT else _read)(parts) for parts in pattern.findall(text[start:-1])
    ]
    if sum([length for length, _, _ in found]) != len(text) - start - 1:
        return None
    pairs = {name: value for _, name, value in found}
    if None in pairs.values() or not _KEYWORDS.isdisjoint(pairs):
        return None
    return tuple((name, value) for name, value in pairs.items() if value is not None)


_SHORT = 512
_KEYWORDS = frozenset(keyword.kwlist)


def _read(parts: tuple[str, str, str, str]) -> tuple[int, str, str | None]:
    """(characters it takes, name, value) of an argument: its name, ``: `` in a dict, value, what follows."""
    name, colon, value, _ = parts
    node = _expression(value)
    marks = 2 if colon else 1  # quotes around the name, or the equals sign
    return len("".join(parts)) + marks, name, None if node is None else recorded(name, _value(node))


_argument = lru_cache(maxsize=8192)(_read)


def _as_a_whole(text: str) -> tuple[tuple[str, str], ...] | None:
    node = _expression(text) or _expression(_OBJECT.sub(_quoted, _ELIDED.sub("", text)))
    value = _value(node) if node is not None else None
    if not isinstance(value, dict):
        return None
    return tuple((str(name), recorded(str(name), item)) for name, item in value.items())


# What a repr may hold that is no expression: "<Enum.A: 1>", and fields left out as "...".
_OBJECT = re.compile(r"<[A-Za-z_][^<>]*>")
_ELIDED = re.compile(r", \.\.\.(?=[)\]}])")


def _quoted(found: re.Match[str]) -> str:
    return repr(found[0])


def _expression(text: str) -> ast.expr | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a path are the log's business
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parse_server_args(message: str) -> dict[str, str] | None:
    """Name to canonical JSON of every argument in a ``server_args=`` message; None when it cannot be read.

    None is also the answer for a line that was cut (a 16 KiB limit of the log driver): join and try again.
    """
    return parse_arguments(message[message.index("=") + 1 :]) if "=" in message else None


def parse_arguments(text: str) -> dict[str, str] | None:
    """Name to canonical JSON of a Python dict or constructor call; None when it cannot be read."""
    found = _parse(text.strip())
    return dict(found) if found is not None else None


def aliased(
    args: dict[str, str], paths: Sequence[str], default: Any = None, present: Sequence[str] = ()
) -> str:
    """The canonical JSON at the first dotted path into arguments that leads somewhere, or of the default."""
    value = next((found for path in paths if (found := _at(args, path)) is not None), None)
    if value is None and (not present or any(args.get(name, "null") != "null" for name in present)):
        value = default
    return canonical(value)


def _at(args: dict[str, str], path: str) -> Any:
    """The value at a dotted path into arguments; one of them may be JSON in a string."""
    first, *rest = path.split(".")
    value = json.loads(args.get(first, "null"))
    for part in rest:
        value = _object(value).get(part)
    return value


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _value(node: ast.expr) -> Any:
    """The plain value of an expression: literals, containers, and constructor calls as dicts."""
    match node:
        case ast.Constant(value=str(value)):
            return whole_characters(value)
        case ast.Constant(value=value):
            return value if isinstance(value, (int, float, bool, type(None))) else str(value)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item) for item in items]
        case ast.Set(elts=items):
            return sorted((_value(item) for item in items), key=canonical)
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(item) for key, item in zip(keys, values, strict=True)}
        case ast.Call(args=[], keywords=pairs):
            return {pair.arg or "**": _value(pair.value) for pair in pairs}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _value(operand)
            return -value if isinstance(value, (int, float)) else ast.unparse(node)
        case _:
            return ast.unparse(node)


def _key(node: ast.expr | None) -> str:
    value = _value(node) if node is not None else "**"
    return value if isinstance(value, str) else canonical(value)
