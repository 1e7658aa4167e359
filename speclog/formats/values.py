"""The types a field can have, and how the text of each becomes a value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

Value = int | float | bool | str | list[int] | list[float] | None


_NOT_TOLD = frozenset({"", "?", "unknown", "n/a", "null", "not supported", "unknown error"})


def told(value: object) -> bool:
    """Whether a value says something: what a tool prints where it knows nothing is no value, equal or not."""
    return not isinstance(value, str) or value.strip().strip("[]").lower() not in _NOT_TOLD


def whole_number(text: str) -> int | None:
    """A text of one to eighteen ASCII digits as a number; None for anything else that a log may hold."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def whole_characters(text: str) -> str:
    """A text with ``?`` for every half a character (a lone surrogate), which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def json_value(text: str) -> Any:
    """The value of a JSON text; strings hold `whole_characters`.

    Raises ValueError or RecursionError when the text is no JSON that can be read.
    """
    value = json.loads(text)
    if "\\u" in text:
        value = json.loads(whole_characters(json.dumps(value, ensure_ascii=False)))
    return value


def _int(text: str) -> int:
    return int(text)


def _float(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _percent(text: str) -> float | None:
    return _float(text.rstrip("%"))


def _bool(text: str) -> bool:
    return {"True": True, "False": False}[text]


def _text(text: str) -> str:
    return text.strip()


def _ints(text: str) -> list[int]:
    return [int(part) for part in text.strip("[]").split(",") if part.strip()]


def _floats(text: str) -> list[float]:
    return [float(part) for part in text.split(", ")]


def _first_float(text: str) -> float | None:
    return _float(text.split("/", 1)[0])


def _count(text: str) -> int:
    return int(text.replace(",", ""))


CONVERT: dict[str, Callable[[str], Value]] = {
    "int": _int,
    "float": _float,
    "percent": _percent,
    "bool": _bool,
    "word": _text,
    "text": _text,
    "ints": _ints,
    "hist": _ints,
    "floats": _floats,
    "first_float": _first_float,
    "count": _count,
    "ms3": _first_float,
}
"""Type name to conversion; each raises ValueError or KeyError on text that is not of the type."""

PATTERN: dict[str, str] = {
    "int": r"(-?\d+)",
    "float": r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|-?inf)",
    "percent": r"(-?\d+(?:\.\d+)?|nan)%",
    "bool": r"(True|False)\b",
    "word": r"([^\s,)\]]+)",
    "text": r"(.*)",
    "ints": r"(\[[\d, ]*\])",
    "hist": r"([\d,]+)",
    "floats": r"([\d.]+(?:, [\d.]+)*)(?![\d.%])",
    "first_float": r"([\d./]+)",
    "count": r"([\d,]+)",
    "ms3": r"(\S+)",
}
"""Type name to the regular expression of its text, for values found behind an anchor."""


def convert(kind: str, text: str) -> Value:
    """Text to value; None where it is not of the type (a truncated line, ``na``)."""
    try:
        value = CONVERT[kind](text)
    except (ValueError, KeyError):
        return None
    parts = value if isinstance(value, list) else [value]
    return None if any(type(part) is int and not fits(part) for part in parts) else value


def fits(number: float) -> bool:
    """Whether a column of whole numbers holds it; no counter of a server needs more than its 64 bits."""
    return abs(number) < 2**63


def milliseconds(name: str, text: str) -> dict[str, Value]:
    """``mean/p50/p99`` as three columns; ``na`` gives none."""
    parts = [convert("float", part) for part in text.split("/")]
    names = (f"{name}_ms", f"{name}_p50_ms", f"{name}_p99_ms")
    return {key: part for key, part in zip(names, parts, strict=False) if part is not None}
