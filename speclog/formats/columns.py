"""Kinds of shape "pieces" read as whole columns: the engine's declarations, hundreds of times faster.

Lines are read by the layouts seen so far (`speclog.formats.layout`); a line that has none of them teaches
a new one. What no layout reads is left for the engine, line by line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.formats.block import Block, Places
from speclog.formats.engine import read_line
from speclog.formats.layout import RANKS, Columns, Layout, learn, read
from speclog.formats.spec import Kind, batch_kinds
from speclog.formats.texts import Lines, Said, TextReader

if TYPE_CHECKING:
    import polars as pl

_MAX_LAYOUTS = 64
_FEW = 256  # lines that are read singly without more ado
_SAMPLE = 64


@dataclass
class Batches:
    """Batch rows read so far, as arrays by layout, and those that the engine read."""

    arrays: dict[Layout, list[Columns]] = field(default_factory=dict)
    slow: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def frames(self) -> dict[str, pl.DataFrame]:
        """Typed rows by table, in order of their lines.

        Columns: line_no, ts, dp_rank, pp_rank, tp_rank, ep_rank, iteration, one a declared field that occurs,
        and ``extra`` (JSON text) where a line had keys nobody declared.
        """
        parts: dict[str, list[pl.DataFrame]] = {}
        for layout, found in self.arrays.items():
            parts.setdefault(layout.kind.table, []).append(_frame(layout, found))
        for table, rows in self.slow.items():
            parts.setdefault(table, []).append(_engine_frame(rows, batch_kinds()[table]))
        return {table: _joined(frames) for table, frames in parts.items()}


@dataclass
class BatchReader:
    """Reads batch lines out of blocks; remembers the layouts it has met (safe to share among threads)."""

    layouts: list[Layout] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def read(self, block: Block, into: Batches, texts: TextReader) -> tuple[Places, Lines]:
        """Read a block's batch lines; all others, in order: places in the block, lines.

        A batch line that lacks a required field (it was cut short) is among the others; so is noise.
        """
        rest = np.arange(block.height)
        tried = list(self.layouts)
        for layout in tried:
            rest = _take(layout, block, rest, into)
        if len(rest) > _FEW:
            rest = self._look_ahead(block, rest, texts, into, tried)
        others = texts.read(block, rest)
        maybe = np.flatnonzero(others.which(_may_be_batch)).tolist()
        if maybe:
            left = self._read_singly(block, rest, others, maybe, into, tried)
            others = others.only(np.isin(rest, left))
            rest = left
        return rest, others

    def _look_ahead(
        self, block: Block, rest: Places, texts: TextReader, into: Batches, tried: list[Layout]
    ) -> Places:
        """Learn from some of very many lines: what has their layouts need not be looked at singly."""
        known = -1
        while len(rest) > _FEW and len(tried) > known:
            known = len(tried)
            for row in rest[:: len(rest) // _SAMPLE].tolist():
                line = block.text(row)
                kind = kind_in(line)
                if kind is not None and not texts.is_noise(line):
                    layout = self._layout_of(line, kind, tried)
                    if layout is not None:
                        rest = _take(layout, block, rest, into)
                        break
        return rest

    def _read_singly(
        self, block: Block, rest: Places, others: Lines, maybe: list[int], into: Batches, tried: list[Layout]
    ) -> Places:
        """Learn from the lines ``maybe`` among others, and let the engine read what no layout does."""
        rows = rest.tolist()
        left = dict.fromkeys(rows)
        for i in maybe:
            line, text = others.line(i), others.said[others.codes[i]].text
            kind = kind_in(line)
            if kind is None or not text.batch or rows[i] not in left:
                continue  # rows not left: a layout learnt meanwhile has read them
            layout = self._layout_of(line, kind, tried)
            if layout is not None:
                left = dict.fromkeys(_take(layout, block, _places(left), into).tolist())
            if rows[i] not in left:
                continue
            row = engine_row(int(others.numbers[i]), line, kind)
            if row is None:
                text.batch = False  # nor is it one when it is printed again
                continue
            into.slow.setdefault(kind.table, []).append(row)
            del left[rows[i]]
        return _places(left)

    def _layout_of(self, line: str, kind: Kind, tried: list[Layout]) -> Layout | None:
        """The layout of a line, if its block was not read by it yet; from now on it is among the ``tried``.

        It may be known by now: another thread learnt it of another block.
        """
        found = learn(line, kind) if len(tried) < _MAX_LAYOUTS else None
        if found is None or any(found.key == layout.key for layout in tried):
            return None
        with self._lock:
            known = next((layout for layout in self.layouts if layout.key == found.key), None)
            if known is None and len(self.layouts) >= _MAX_LAYOUTS:
                return None
            if known is None:
                self.layouts.append(found)
        tried.append(known or found)
        return tried[-1]


def _places(rows: dict[int, None]) -> Places:
    return np.fromiter(rows, np.int64, len(rows))


def _may_be_batch(said: Said) -> bool:
    return said.text.batch and not said.text.noise


def kind_in(text: str) -> Kind | None:
    """The kind of batch line whose head stands anywhere in a line."""
    return next((kind for kind in batch_kinds().values() if kind.starts[0] in text), None)


def _take(layout: Layout, block: Block, rest: Places, into: Batches) -> Places:
    """Read the rows that have a layout; the others."""
    rows, columns = read(layout, block, rest)
    if not len(rows):
        return rest
    columns["line_no"] = block.numbers[rows]
    into.arrays.setdefault(layout, []).append(columns)
    if len(rows) == len(rest):
        return rest[:0]
    left = np.ones(block.height, np.bool_)
    left[rows] = False
    return rest[left[rest]]


def _frame(layout: Layout, found: list[Columns]) -> pl.DataFrame:
    import polars as pl

    columns = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    n = len(columns["line_no"])
    columns |= {name: np.full(n, value) for name, value in layout.constants}
    ts = columns.pop("ts").view("M8[us]")
    return pl.DataFrame({"line_no": columns.pop("line_no"), "ts": ts, **columns})


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    if len(parts) == 1:
        return parts[0]
    return pl.concat(parts, how="diagonal_relaxed").sort("line_no", maintain_order=True)


def _engine_frame(rows: list[dict[str, Any]], kind: Kind) -> pl.DataFrame:
    import polars as pl

    types = {"int": pl.Int64(), "float": pl.Float64(), "percent": pl.Float64(), "bool": pl.Boolean()}
    schema = {f.name: types.get(f.type, pl.String()) for f in kind.fields}
    head = {"line_no": pl.Int64(), "ts": pl.Datetime("us"), "iteration": pl.Int64(), "extra": pl.String()}
    every = head | dict.fromkeys(RANKS.values(), pl.Int64()) | schema
    present = {name for row in rows for name in row}
    return pl.DataFrame(rows, schema={n: t for n, t in every.items() if n in present}, strict=False)


def engine_row(line_no: int, text: str, kind: Kind) -> dict[str, Any] | None:
    """One line read by the engine as a row of the same columns; None when it is not (wholly) of the kind."""
    record = read_line(text)
    if record is None or record.kind is not kind or any(n not in record.fields for n in kind.required):
        return None
    row: dict[str, Any] = {"line_no": line_no, "ts": record.prefix.ts, **record.fields}
    row |= {c: n for tag, c in RANKS.items() if (n := record.prefix.number(tag)) is not None}
    if record.extra:
        row["extra"] = json.dumps(record.extra, ensure_ascii=False)
    return row
