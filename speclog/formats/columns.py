"""Kinds of shape "pieces" read as whole columns: the engine's declarations, hundreds of times faster.

A log prints such lines in very few layouts. The first line of a layout is read by the engine's rules; all
lines with the same keys in the same order are then cut at ", " together, each piece checked to start with
its key. What fits no layout is left for the engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from speclog.formats.engine import read_line, split_pieces
from speclog.formats.prefix import head_pattern, ranks
from speclog.formats.spec import Field, Kind

_MAX_LAYOUTS = 24
_TEXT = "text"
RANKS = {"DP": "dp_rank", "PP": "pp_rank", "TP": "tp_rank", "EP": "ep_rank"}
_DTYPE = {"int": pl.Int64(), "float": pl.Float64(), "percent": pl.Float64(), "bool": pl.Boolean()}


@dataclass(frozen=True, slots=True)
class _Layout:
    keys: tuple[str, ...]
    dotted: bool  # "Decode batch. #running-req" (<= 0.5.3): the first key stands behind a period


def read_columns(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Lines of one kind (columns ``line_no``, ``text``) as typed rows, in order.

    Columns: line_no, ts, dp_rank, pp_rank, tp_rank, ep_rank, iteration, one a declared field that occurs, and
    ``extra`` (JSON text) where a line had keys nobody declared. Lines that lack a required field (cut short)
    are left out.
    """
    parts: list[pl.DataFrame] = []
    rest = frame
    slow: list[pl.DataFrame] = []
    for _ in range(_MAX_LAYOUTS):
        if rest.is_empty():
            break
        layout = _layout(rest[_TEXT][0], kind)
        typed, left = _apply(rest, layout, kind) if layout else (None, rest)
        if typed is None or typed.is_empty():
            slow.append(rest.head(1))
            rest = rest.slice(1)
        else:
            parts.append(typed)
            rest = left
    slow.append(rest)
    left_over = pl.concat(slow)
    if not left_over.is_empty():
        parts.append(_by_engine(left_over, kind))
    return _complete(parts, kind)


def _complete(parts: list[pl.DataFrame], kind: Kind) -> pl.DataFrame:
    found = pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
    if any(name not in found.columns for name in (*kind.required, "line_no")):
        return pl.DataFrame()
    return found.drop_nulls(list(kind.required)).sort("line_no")


def _layout(line: str, kind: Kind) -> _Layout | None:
    """The keys of a line in order, None where only the engine can read it."""
    literal = kind.starts[0]
    at = line.find(literal)
    if at < 0 or not line.startswith("[20"):
        return None
    head, _, rest = line[at + len(literal) :].partition(", ")
    dotted = head.startswith(". ")
    pieces = split_pieces((head[2:] + ", " if dotted else "") + rest)
    keys = [piece.partition(": ")[0] for piece in pieces]
    plain = all(": " in piece and ", " not in piece for piece in pieces)
    known = all(key in kind.by_key and kind.by_key[key].type in _DTYPE for key in keys)
    names = {kind.by_key[key].name for key in keys} if known else set()
    return _Layout(tuple(keys), dotted) if plain and known and len(names) == len(keys) else None


def _apply(frame: pl.DataFrame, layout: _Layout, kind: Kind) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(typed rows of this layout, lines that do not have it)."""
    literal = kind.starts[0]
    text = pl.col(_TEXT)
    if layout.dotted:
        text = text.str.replace(f"{literal}. ", f"{literal}, ", literal=True)
    n = len(layout.keys)
    cut = frame.select(text.str.strip_chars_end(", ").str.split_exact(", ", n + 1).alias("p"))[
        "p"
    ].struct.unnest()
    names = cut.columns
    fits = pl.col(names[0]).str.starts_with("[20") & pl.col(names[n + 1]).is_null()
    for key, name in zip(layout.keys, names[1:], strict=False):
        fits &= pl.col(name).str.starts_with(f"{key}: ")
    mask = cut.select(fits.fill_null(False)).to_series()
    whole = bool(mask.all())
    rows = (cut if whole else cut.filter(mask)).with_columns(
        (frame if whole else frame.filter(mask))["line_no"]
    )
    values = [_value(name, key, kind.by_key[key]) for key, name in zip(layout.keys, names[1:], strict=False)]
    typed = rows.select("line_no", *_head_columns(rows[names[0]], literal), *values)
    good = typed["ts"].is_not_null()
    if good.all():
        return typed, frame.clear() if whole else frame.filter(~mask)
    bad = typed.filter(~good)["line_no"]
    left = frame.filter(~mask | pl.col("line_no").is_in(bad.implode()))
    return typed.filter(good), left


def _value(column: str, key: str, declared: Field) -> pl.Expr:
    text = pl.col(column).str.strip_prefix(f"{key}: ")
    if declared.type == "bool":
        truth = pl.when(text == "True").then(True).when(text == "False").then(False)
        return truth.otherwise(None).alias(declared.name)
    if declared.type == "percent":
        text = text.str.strip_suffix("%")
    value = text.cast(_DTYPE[declared.type], strict=False)
    return (value if declared.type == "int" else value.fill_nan(None)).alias(declared.name)


def _head_columns(head: pl.Series, literal: str) -> list[pl.Series]:
    """Ts (null: unreadable), ranks, iteration from ``[2026-01-29 01:16:05 DP0 TP1] Decode batch [7]``."""
    tail = head.str.slice(20)
    ts = head.str.slice(1, 19).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
    parsed = _tails(tail, literal)
    micros = pl.duration(microseconds=pl.lit(parsed["micros"]))
    ts = pl.select(pl.when(parsed["ok"]).then(ts + micros)).to_series()
    names = [*RANKS.values(), "iteration"]
    return [ts.alias("ts"), *(parsed[name] for name in names if parsed[name].null_count() < parsed.height)]


def _tails(tail: pl.Series, literal: str) -> pl.DataFrame:
    """What follows the seconds, as columns ok, micros, ranks, iteration; there are few different ones."""
    distinct = tail.unique()
    rows = [_tail(text, literal) for text in distinct.to_list()]
    schema = {"ok": pl.Boolean, "micros": pl.Int64, "iteration": pl.Int64} | dict.fromkeys(
        RANKS.values(), pl.Int64
    )
    table = pl.DataFrame(rows, schema=schema).with_columns(distinct.alias("tail"))
    if table.height == 1:
        return pl.DataFrame(
            {n: pl.repeat(table[n][0], len(tail), dtype=table[n].dtype, eager=True) for n in schema}
        )
    return tail.alias("tail").to_frame().join(table, on="tail", how="left", maintain_order="left")


_HEAD = re.compile(head_pattern())


def _tail(text: str, literal: str) -> dict[str, Any]:
    found = _HEAD.match("[2000-01-01 00:00:00" + text)
    rest = (
        re.fullmatch(re.escape(literal) + r"(?: \[(\d+)\])?", ("[2000-01-01 00:00:00" + text)[found.end() :])
        if found
        else None
    )
    if not found or not rest:
        return {"ok": False, "micros": 0}
    numbers = ranks(found["tags"])
    return {
        "ok": True,
        "micros": int((found["frac"] or "").ljust(6, "0")),
        "iteration": int(rest[1]) if rest[1] else None,
        **{column: numbers.get(tag) for tag, column in RANKS.items()},
    }


def _by_engine(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    rows = [row for no, text in frame.iter_rows() if (row := engine_row(no, text, kind)) is not None]
    schema = {f.name: _DTYPE.get(f.type, pl.String()) for f in kind.fields}
    head = {"line_no": pl.Int64(), "ts": pl.Datetime("us"), "iteration": pl.Int64(), "extra": pl.String()}
    every = head | dict.fromkeys(RANKS.values(), pl.Int64()) | schema
    present = {name for row in rows for name in row}
    return (
        pl.DataFrame(rows, schema={n: t for n, t in every.items() if n in present})
        if rows
        else pl.DataFrame()
    )


def engine_row(line_no: int, text: str, kind: Kind) -> dict[str, Any] | None:
    """One line read by the engine as a row of the same columns; None when it is not of the kind."""
    import json

    record = read_line(text)
    if record is None or record.kind is not kind:
        return None
    row: dict[str, Any] = {"line_no": line_no, "ts": record.prefix.ts, **record.fields}
    row |= {c: n for tag, c in RANKS.items() if (n := record.prefix.number(tag)) is not None}
    if record.extra:
        row["extra"] = json.dumps(record.extra, ensure_ascii=False)
    return row
