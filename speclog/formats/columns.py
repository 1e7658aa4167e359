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
    slow: list[pl.DataFrame] = []
    rest = frame
    for _ in range(_MAX_LAYOUTS):
        if rest.is_empty():
            break
        layout = _layout(rest[_TEXT][0], kind)
        if layout is not None:
            typed, rest_after = _apply(rest, layout, kind)
            if not typed.is_empty():
                parts.append(typed)
        if layout is None or (rest_after.height and rest_after["line_no"][0] == rest["line_no"][0]):
            slow.append(rest.head(1))  # not even the layout's own line fits it
            rest_after = (rest_after if layout is not None else rest).slice(1)
        rest = rest_after
    left_over = pl.concat([*slow, rest])
    if not left_over.is_empty():
        parts.append(_by_engine(left_over, kind))
    return _complete(parts, kind)


def _complete(parts: list[pl.DataFrame], kind: Kind) -> pl.DataFrame:
    parts = [part for part in parts if not part.is_empty()]
    found = (
        parts[0] if len(parts) == 1 else pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
    )
    if any(name not in found.columns for name in (*kind.required, "line_no")):
        return pl.DataFrame()
    if any(found[name].null_count() for name in kind.required):
        found = found.drop_nulls(list(kind.required))
    return found if len(parts) == 1 else found.sort("line_no")


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
    """(typed rows of this layout, lines that do not have it). A piece that is not its key's reads as null."""
    literal = kind.starts[0]
    text = pl.col(_TEXT)
    if layout.dotted:
        text = text.str.replace(f"{literal}. ", f"{literal}, ", literal=True)
    if frame[_TEXT][0].endswith((", ", ",", " ")):
        text = text.str.strip_chars_end(", ")
    n = len(layout.keys)
    cut = frame.select(text.str.split_exact(", ", n + 1).alias("p"))["p"].struct.unnest()
    names, excess = cut.columns[: n + 1], cut[cut.columns[-1]]
    values = [_value(name, key, kind.by_key[key]) for key, name in zip(layout.keys, names[1:], strict=True)]
    head, readable = _head_columns(cut[names[0]], literal)
    typed = cut.select(frame["line_no"], *head, *values)
    every = [typed[kind.by_key[key].name] for key in layout.keys]
    whole = excess.null_count() == len(excess) and all(column.null_count() == 0 for column in every)
    if whole and readable is None:
        return _finite(typed), frame.clear()
    checks = [excess.is_null(), *(column.is_not_null() for column in every)]
    checks += [] if readable is None else [readable]
    mask = pl.select(pl.all_horizontal(map(pl.lit, checks))).to_series()
    return _finite(typed.filter(mask)), frame.filter(~mask)


def _value(column: str, key: str, declared: Field) -> pl.Expr:
    piece = pl.col(column)
    if declared.type == "bool":
        truth = pl.when(piece == f"{key}: True").then(True).when(piece == f"{key}: False").then(False)
        return truth.otherwise(None).alias(declared.name)
    text = piece.str.strip_prefix(f"{key}: ")
    if declared.type == "percent":
        text = text.str.strip_suffix("%")
    return text.cast(_DTYPE[declared.type], strict=False).alias(declared.name)


def _finite(frame: pl.DataFrame) -> pl.DataFrame:
    """NaN and infinity (``fwd occupancy: nan%``) as null."""
    odd = [c.name for c in frame.get_columns() if c.dtype == pl.Float64 and not c.is_finite().all()]
    return frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in odd)


def _head_columns(head: pl.Series, literal: str) -> tuple[list[pl.Series], pl.Series | None]:
    """ts, ranks, iteration of ``[2026-01-29 01:16:05 DP0 TP1] Decode batch [7]``.

    And a mask of those that could be read, None when all could.
    """
    ts = head.str.slice(1, 19).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us", cache=False)
    tail = head.str.slice(20)
    names = (*RANKS.values(), "iteration")
    if (tail == tail[0]).all():
        row = _tail(tail[0], literal)
        known = [(name, row[name]) for name in names if row.get(name) is not None]
        columns = [
            pl.repeat(value, len(tail), dtype=pl.Int64(), eager=True).alias(name) for name, value in known
        ]
        micros, ok = row["micros"], None if row["ok"] else pl.repeat(False, len(tail), eager=True)
    else:
        parsed = _tails(tail, literal)
        columns = [parsed[name] for name in names if parsed[name].null_count() < len(tail)]
        micros = pl.lit(parsed["micros"]) if parsed["micros"].sum() else 0
        ok = None if parsed["ok"].all() else parsed["ok"]
    if not isinstance(micros, int) or micros:
        ts = pl.select(pl.lit(ts) + pl.duration(microseconds=micros)).to_series()
    if ts.null_count():
        ok = ts.is_not_null() if ok is None else ok & ts.is_not_null()
    return [ts.alias("ts"), *columns], ok


def _tails(tail: pl.Series, literal: str) -> pl.DataFrame:
    """What follows the seconds, as columns ok, micros, ranks, iteration; there are few different ones."""
    schema = {"ok": pl.Boolean, "micros": pl.Int64, "iteration": pl.Int64}
    schema |= dict.fromkeys(RANKS.values(), pl.Int64)
    distinct = tail.unique()
    table = pl.DataFrame([_tail(text, literal) for text in distinct.to_list()], schema=schema)
    table = table.with_columns(distinct.alias("tail"))
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
        pl.DataFrame(rows, schema={n: t for n, t in every.items() if n in present}, strict=False)
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
