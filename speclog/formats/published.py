"""Published tables of results, read for what they claim: throughput, accept length, and against what."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speclog.errors import InputError

MOST_BYTES = 200_000_000
_ALIASES: dict[str, str] = {
    re.sub(r"[\s_-]", "", alias): field
    for field, names in tomllib.loads(
        Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
    )["fields"].items()
    for alias in names
}  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """One row of a table. ``where``: file and place in it. Numbers that are not given are None.

    ``speedup`` is the ratio of throughputs where both are given, else the printed one.
    """

    where: str
    name: str
    accept_length: float
    speedup: float
    tok_s: float | None = None
    baseline_tok_s: float | None = None
    baseline_where: str | None = None
    batch_size: int | None = None
    steps: int | None = None
    topk: int | None = None
    draft_tokens: int | None = None


def read(path: Path) -> tuple[list[Claim], int]:
    """The rows of a JSON, JSON-lines or CSV file that can be held against a baseline, and how many cannot.

    Rows without speculation (accept length 1) count as neither. Raises InputError when the file cannot be
    read, or holds no such row.
    """
    listed = list(_claims(path.name, _tables(path)))
    found = [one for one in listed if one is not None]
    if not found:
        raise InputError(
            f"{path}: no row with a throughput or speedup, an accept length and a baseline "
            "(docs/check.md names the columns)"
        )
    return found, len(listed) - len(found)


Table = tuple[str, list[dict[str, Any]]]
"""A place and the rows there, by field, with what the objects around them say."""


def _tables(path: Path) -> list[Table]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: more than {MOST_BYTES:,} bytes; a table of results is smaller")
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".csv":
            return [("", [_fields(row) for row in csv.DictReader(io.StringIO(text))])]
        if path.suffix == ".jsonl":
            return [("", [_fields(json.loads(line)) for line in text.splitlines() if line.strip()])]
        return list(_walk(json.loads(text), "", {}))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise InputError(f"{path}: neither JSON, JSON lines nor CSV of results ({error})") from error
    except RecursionError as error:
        raise InputError(f"{path}: nested too deeply for a table of results") from error


def _fields(row: object) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        return {}
    named = ((_ALIASES.get(re.sub(r"[\s_-]", "", str(key).lower())), value) for key, value in row.items())
    return {field: value for field, value in named if field and not isinstance(value, dict | list)}


def _walk(value: object, where: str, around: Mapping[str, Any]) -> Iterator[Table]:
    if isinstance(value, Mapping):
        inner = {**around, **_fields(value)}
        for key, item in value.items():
            yield from _walk(item, f"{where}/{key}", inner)
    elif isinstance(value, list):
        rows = [_fields(item) for item in value]
        if any("accept_length" in row for row in rows):
            yield where, [{**around, **row} for row in rows]
            return
        for place, item in enumerate(value):
            yield from _walk(item, f"{where}/{place}", around)


def _claims(file: str, tables: Sequence[Table]) -> Iterator[Claim | None]:
    """One a speculative row; None where it lacks a number, or a baseline, or has two."""
    for where, rows in tables:
        plain = [(place, row) for place, row in enumerate(rows) if _number(row, "accept_length") == 1]
        for place, row in enumerate(rows):
            tau = _number(row, "accept_length")
            if tau is not None and tau > 1:
                yield _claim(f"{file}:{where}/{place}", tau, row, [_at(file, where, one) for one in plain])


def _at(file: str, where: str, one: tuple[int, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return f"{file}:{where}/{one[0]}", one[1]


def _claim(
    where: str, tau: float, row: Mapping[str, Any], plain: Sequence[tuple[str, Mapping[str, Any]]]
) -> Claim | None:
    tok_s, base = _number(row, "tok_s"), _number(row, "baseline_tok_s")
    fits = [(at, other) for at, other in plain if other.get("batch_size") == row.get("batch_size")]
    baseline_where = None
    if base is None and len(fits) == 1:
        baseline_where, base = fits[0][0], _number(fits[0][1], "tok_s")
    ratio = tok_s / base if tok_s and base else _number(row, "speedup")
    if ratio is None or ratio <= 0:
        return None
    whole = {field: _whole(row, field) for field in ("batch_size", "steps", "topk", "draft_tokens")}
    return Claim(where, str(row.get("name", "")), tau, ratio, tok_s, base, baseline_where, **whole)


def _number(row: Mapping[str, Any], field: str) -> float | None:
    try:
        value = float(row[field])
    except (KeyError, TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _whole(row: Mapping[str, Any], field: str) -> int | None:
    value = _number(row, field)
    return None if value is None else int(value)
