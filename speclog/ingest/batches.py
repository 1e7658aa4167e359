"""Batch lines of a chunk in their sessions: one rank kept, prefills counted, workload steps noted."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import polars as pl

from speclog.formats.columns import read_columns
from speclog.formats.spec import Kind, load_kinds
from speclog.ingest.session import Mark, Session

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_RANK = -1
_KEYS = ("dp_rank", "pp_rank", "tp_rank")


def batch_kinds() -> dict[str, Kind]:
    """Kinds read as columns, by the table they go to."""
    return {kind.table: kind for kind in load_kinds() if kind.shape == "pieces"}


def split_batches(frame: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Kept lines as (typed batch rows by table, all other lines incl. batch lines that could not be read)."""
    typed: dict[str, pl.DataFrame] = {}
    others = frame
    for table, kind in batch_kinds().items():
        mask = others.select(pl.col("text").str.contains(kind.starts[0], literal=True)).to_series()
        if not mask.any():
            continue
        lines = others.filter(mask)
        rows = read_columns(lines, kind)
        unread = lines.filter(~pl.col("line_no").is_in(rows["line_no"].implode())) if rows.width else lines
        if rows.height == lines.height:
            unread = lines.clear()
        others = others.filter(~mask)
        if not unread.is_empty():
            others = pl.concat([others, unread]).sort("line_no", maintain_order=True)
        if not rows.is_empty():
            typed[table] = rows
    return typed, others


def add_batches(session: Session, rows: dict[str, pl.DataFrame], source_index: int) -> None:
    """Add a session's batch rows of one chunk (tables decode_window, prefill_batch) to it, in order."""
    chosen = _one_rank(session, rows)
    windows, prefills = chosen.get("decode_window"), chosen.get("prefill_batch")
    if windows is not None and not windows.is_empty():
        windows = _prefills_since(session, windows, prefills)
        windows = _steps(windows, session.marks)
        session.windows.append(windows.with_columns(source_index=pl.lit(source_index)))
        session.n_windows += windows.height
        session.last_window_line = windows["line_no"][-1]
    elif prefills is not None:
        _count_pending(session, prefills)
    if prefills is not None and not prefills.is_empty():
        session.prefills.append(prefills.with_columns(source_index=pl.lit(source_index)))
        session.n_prefills += prefills.height
    for table, frame in chosen.items():
        session.layout.update(f"{table}.{name}" for name in frame.columns)
        session.see_time_range(frame)


def _one_rank(session: Session, rows: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Keep one PP and TP rank's lines for each DP rank: the lowest that the session's first chunk shows.

    Pipeline stages (and, with metrics for all schedulers, every TP rank) print the same batch again.
    """
    tagged = [_with_ranks(frame) for frame in rows.values() if {"pp_rank", "tp_rank"} & set(frame.columns)]
    if not tagged:
        return rows
    seen = pl.concat([frame.select(_KEYS) for frame in tagged]).unique().sort(_KEYS)
    for dp, pp, tp in seen.iter_rows():
        session.ranks.kept.setdefault(dp, (pp, tp))
    if seen.height == seen["dp_rank"].n_unique() and all(
        session.ranks.kept[dp] == (pp, tp) for dp, pp, tp in seen.iter_rows()
    ):
        return rows
    kept = pl.DataFrame(
        [(dp, pp, tp) for dp, (pp, tp) in session.ranks.kept.items()],
        schema=dict.fromkeys(_KEYS, pl.Int64),
        orient="row",
    )
    return {table: _filter_ranks(session, frame, kept) for table, frame in rows.items()}


def _with_ranks(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(
        "line_no",
        *(
            pl.col(key).fill_null(_NO_RANK).cast(pl.Int64)
            if key in frame.columns
            else pl.lit(_NO_RANK, pl.Int64).alias(key)
            for key in _KEYS
        ),
    )


def _filter_ranks(session: Session, frame: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    lines = _with_ranks(frame).join(kept, on=list(_KEYS), how="semi")["line_no"]
    chosen = frame.filter(pl.col("line_no").is_in(lines.implode()))
    session.ranks.dropped += frame.height - chosen.height
    return chosen


def _order(frame: pl.DataFrame, prefill: int) -> pl.DataFrame:
    ranked = _with_ranks(frame)
    return ranked.select("line_no", "dp_rank", pl.lit(prefill).alias("prefill"))


def _prefills_since(session: Session, windows: pl.DataFrame, prefills: pl.DataFrame | None) -> pl.DataFrame:
    """Prefill lines of the same DP rank since its previous decode line, across chunks."""
    pending = session.ranks.pending_prefills
    parts = [_order(windows, 0)] + ([_order(prefills, 1)] if prefills is not None else [])
    order = pl.concat(parts).sort("line_no", maintain_order=True)
    order = order.with_columns(pl.col("prefill").cum_sum().over("dp_rank").alias("sum"))
    order = order.with_columns(
        pl.col("dp_rank").replace_strict(pending, default=0, return_dtype=pl.Int64).alias("before")
        if pending
        else pl.lit(0, pl.Int64).alias("before")
    )
    lines = order.filter(pl.col("prefill") == 0).with_columns(
        (pl.col("sum") - pl.col("sum").shift(1).over("dp_rank").fill_null(-pl.col("before"))).alias("since")
    )
    totals = order.group_by("dp_rank").agg(pl.col("sum").last(), pl.col("before").first())
    last = dict(lines.group_by("dp_rank").agg(pl.col("sum").last()).iter_rows())
    for dp, total, before in totals.iter_rows():
        pending[dp] = total - last[dp] if dp in last else before + total
    since = lines.sort("line_no", maintain_order=True)["since"].cast(pl.Int32).alias("prefills_since")
    return windows.with_columns(since)


def _count_pending(session: Session, prefills: pl.DataFrame) -> None:
    for dp, n in _with_ranks(prefills).group_by("dp_rank").len().iter_rows():
        session.ranks.pending_prefills[dp] = session.ranks.pending_prefills.get(dp, 0) + n


def _steps(frame: pl.DataFrame, marks: Sequence[Mark]) -> pl.DataFrame:
    """Columns ``step`` and ``warmup``: the workload step a line lies in; NULL outside."""
    if not marks:
        return frame
    starts = [mark.line_no for mark in marks]
    found = [marks[i - 1] if (i := bisect_right(starts, no)) else None for no in frame["line_no"].to_list()]
    return frame.with_columns(
        pl.Series("step", [mark.step if mark else None for mark in found], dtype=pl.String),
        pl.Series("warmup", [mark.warmup if mark else None for mark in found], dtype=pl.Boolean),
    )


def mark_step(marks: Sequence[Mark], line_no: int) -> Mark | None:
    """The workload mark in force at a line; None before the first."""
    place = bisect_right([mark.line_no for mark in marks], line_no)
    return marks[place - 1] if place else None
