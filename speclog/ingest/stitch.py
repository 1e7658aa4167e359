"""Batch rows of consecutive chunks put into their sessions: one rank kept, prefills counted, steps noted."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import polars as pl

from speclog.ingest.versions import shape_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from speclog.ingest.rows import Buffer
    from speclog.ingest.session import Session

_NO_RANK = -1
_KEYS = ("dp_rank", "pp_rank", "tp_rank")
_GROUP = ["session", "dp_rank"]
_WINDOWS, _PREFILLS = "decode_window", "prefill_batch"
Key = tuple[int, int]
KeptRanks = dict[Key, tuple[int, int]]
"""(session, DP rank) to the PP and TP rank whose lines count."""


class Stitcher:
    """What must be remembered from chunk to chunk."""

    def __init__(self, source_index: int = 0, kept: KeptRanks | None = None) -> None:
        self._source_index = source_index
        self.kept: KeptRanks = {} if kept is None else kept
        self._pending: dict[Key, int] = {}  # prefill lines not yet followed by a decode line

    def add(
        self,
        typed: dict[str, pl.DataFrame],
        text_of: Callable[[int], str],
        sessions: Sequence[Session],
        buffer: Buffer,
    ) -> None:
        """Add a chunk's batch rows (file line numbers) to the buffer and to their sessions' counts.

        ``text_of`` gives the text of a line of the chunk.
        """
        rows = {table: _sessions_of(frame, sessions) for table, frame in typed.items()}
        _look(rows, text_of, sessions)
        rows = self._one_rank(rows, sessions)
        rows = {table: frame for table, frame in rows.items() if not frame.is_empty()}
        if rows:
            key = _only_key(rows)
            rows = self._prefills_since(rows) if key is None else self._prefills_of_one(rows, key)
        for table, frame in rows.items():
            done = _steps(frame, sessions)
            buffer.add(table, done.with_columns(source_index=pl.lit(self._source_index)))
            _count(table, frame, sessions)

    def _prefills_of_one(self, rows: dict[str, pl.DataFrame], key: Key) -> dict[str, pl.DataFrame]:
        """`_prefills_since` for a chunk of one session and DP rank, which nearly all are: no grouping."""
        prefills = rows[_PREFILLS]["line_no"] if _PREFILLS in rows else pl.Series([], dtype=pl.Int64)
        before = self._pending.get(key, 0)
        if _WINDOWS not in rows:
            self._pending = {key: before + len(prefills)}
            return rows
        sums = prefills.search_sorted(rows[_WINDOWS]["line_no"]).cast(pl.Int32)
        since = sums - sums.shift(1, fill_value=-before)
        self._pending = {key: len(prefills) - int(sums[-1])}
        return rows | {_WINDOWS: rows[_WINDOWS].with_columns(since.alias("prefills_since"))}

    def _one_rank(
        self, rows: dict[str, pl.DataFrame], sessions: Sequence[Session]
    ) -> dict[str, pl.DataFrame]:
        """Keep one PP and TP rank's lines for each DP rank: the lowest that its first chunk shows.

        Pipeline stages (and, with metrics for all schedulers, every TP rank) print the same batch again.
        """
        if not any({"pp_rank", "tp_rank"} & set(frame.columns) for frame in rows.values()):
            return rows
        tags = [_ranks(frame if _uniform(frame) is None else frame.head(1)) for frame in rows.values()]
        seen = pl.concat(tags).select("session", *_KEYS).unique().sort("session", *_KEYS)
        twice = False
        for session, dp, pp, tp in seen.iter_rows():
            twice |= self.kept.setdefault((session, dp), (pp, tp)) != (pp, tp)
        if not twice:
            return rows
        chosen = pl.DataFrame(
            [(*key, *ranks) for key, ranks in self.kept.items()],
            schema=dict.fromkeys(("session", *_KEYS), pl.Int64),
            orient="row",
        )
        return {table: _only(frame, chosen, sessions) for table, frame in rows.items()}

    def _prefills_since(self, rows: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """Prefill lines of the same DP rank since its previous decode line, across chunks."""
        parts = [_order(rows[table], n) for n, table in enumerate((_WINDOWS, _PREFILLS)) if table in rows]
        order = pl.concat(parts).sort("line_no", maintain_order=True)
        before = pl.DataFrame(
            [(*key, n) for key, n in self._pending.items()],
            schema=dict.fromkeys((*_GROUP, "before"), pl.Int64),
            orient="row",
        )
        order = order.join(before, on=_GROUP, how="left", maintain_order="left").with_columns(
            pl.col("before").fill_null(0), pl.col("prefill").cum_sum().over(_GROUP).alias("sum")
        )
        lines = order.filter(pl.col("prefill") == 0)
        since = pl.col("sum") - pl.col("sum").shift(1).over(_GROUP).fill_null(-pl.col("before"))
        self._remember(order, lines)
        if lines.is_empty():
            return rows
        found = lines.select(since.cast(pl.Int32).alias("prefills_since")).to_series()
        return rows | {_WINDOWS: rows[_WINDOWS].with_columns(found)}

    def _remember(self, order: pl.DataFrame, lines: pl.DataFrame) -> None:
        totals = order.group_by(_GROUP).agg(pl.col("sum").last(), pl.col("before").first())
        last = {(s, dp): n for s, dp, n in lines.group_by(_GROUP).agg(pl.col("sum").last()).iter_rows()}
        newest = max((session for session, *_ in totals.iter_rows()), default=0)
        for session, dp, total, before in totals.iter_rows():
            key = (session, dp)
            self._pending[key] = total - last[key] if key in last else before + total
        self._pending = {key: n for key, n in self._pending.items() if n and key[0] >= newest}


def _uniform(frame: pl.DataFrame) -> tuple[int, ...] | None:
    """Session and ranks of a frame in which all rows agree in them; None where they differ."""
    found = []
    for name in ("session", *_KEYS):
        if name in frame.columns:
            low, high = frame[name].min(), frame[name].max()
            if low != high or (low is not None and frame[name].null_count()):
                return None
            found.append(_NO_RANK if low is None else int(str(low)))
        else:
            found.append(_NO_RANK)
    return tuple(found)


def _only_key(rows: dict[str, pl.DataFrame]) -> Key | None:
    """The one session and DP rank that all rows of a chunk are of; None where there are several."""
    keys = {_uniform(frame) for frame in rows.values()}
    pairs = {(key[0], key[1]) if key is not None else None for key in keys}
    return pairs.pop() if len(pairs) == 1 else None


def _sessions_of(frame: pl.DataFrame, sessions: Sequence[Session]) -> pl.DataFrame:
    """The frame with the index of the session each row lies in."""
    first = frame["line_no"][0]
    recent = [
        s
        for s, following in zip(sessions, [*sessions[1:], None], strict=True)
        if following is None or following.first_line > first
    ]
    if len(recent) == 1:
        return frame.with_columns(session=pl.lit(recent[0].index, pl.Int64))
    starts = pl.Series([session.first_line for session in recent], dtype=pl.Int64)
    place = starts.search_sorted(frame["line_no"], side="right").cast(pl.Int64) - 1
    return frame.with_columns((place.clip(0) + recent[0].index).alias("session"))


def _look(rows: dict[str, pl.DataFrame], text_of: Callable[[int], str], sessions: Sequence[Session]) -> None:
    """Identity and punctuation of each session from its first batch line of each table; fields it prints."""
    firsts = []
    for table, frame in rows.items():
        name = f"shape.{table}"
        for index, line, *printed in _first_lines(frame):
            layout = sessions[index].layout
            if name not in layout:
                firsts.append((line, index, name))
            layout.update(f"{table}.{c}" for c, n in zip(_fields(frame), printed, strict=True) if n)
    for line, index, name in sorted(firsts):
        text = text_of(line)
        session = sessions[index]
        session.layout |= shape_flags(text) | {name}
        session.identity = session.identity or text
        session.engine = session.engine or "sglang"


def _fields(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name not in ("session", "line_no")]


def _first_lines(frame: pl.DataFrame) -> list[tuple[int, ...]]:
    """(session, line of its first row, non-null values of each field) of every session in a frame."""
    if frame["session"][0] == frame["session"][-1]:
        counts = [frame.height - frame[name].null_count() for name in _fields(frame)]
        return [(frame["session"][0], frame["line_no"][0], *counts)]
    counted = [pl.col(name).count() for name in _fields(frame)]
    return frame.group_by("session", maintain_order=True).agg(pl.col("line_no").first(), *counted).rows()


def _ranks(frame: pl.DataFrame) -> pl.DataFrame:
    tags = [
        pl.col(key).fill_null(_NO_RANK).cast(pl.Int64)
        if key in frame.columns
        else pl.lit(_NO_RANK, pl.Int64).alias(key)
        for key in _KEYS
    ]
    return frame.select("line_no", "session", *tags)


def _only(frame: pl.DataFrame, chosen: pl.DataFrame, sessions: Sequence[Session]) -> pl.DataFrame:
    lines = _ranks(frame).join(chosen, on=["session", *_KEYS], how="semi")["line_no"]
    inside = pl.col("line_no").is_in(lines.implode())
    for index, n in frame.filter(~inside).group_by("session").len().iter_rows():
        sessions[index].duplicates += n
    return frame.filter(inside)


def _order(frame: pl.DataFrame, prefill: int) -> pl.DataFrame:
    return _ranks(frame).select("line_no", *_GROUP, pl.lit(prefill, pl.Int64).alias("prefill"))


def _steps(frame: pl.DataFrame, sessions: Sequence[Session]) -> pl.DataFrame:
    """Columns ``step`` and ``warmup``: the workload step a line lies in; NULL outside."""
    low = frame["session"].min()
    marked = [session for session in sessions if session.marks and session.index >= int(str(low))]
    if not marked:
        return frame
    marks = {session.index: session.marks for session in marked}
    found = []
    for index, line in frame.select("session", "line_no").iter_rows():
        mine = marks.get(index, [])
        place = bisect_right([mark.line_no for mark in mine], line)
        found.append(mine[place - 1] if place else None)
    return frame.with_columns(
        pl.Series("step", [mark.step if mark else None for mark in found], dtype=pl.String),
        pl.Series("warmup", [mark.warmup if mark else None for mark in found], dtype=pl.Boolean),
    )


def _count(table: str, frame: pl.DataFrame, sessions: Sequence[Session]) -> None:
    """Counts and time range of the sessions a table's rows lie in."""
    if frame["session"][0] == frame["session"][-1]:
        known = frame["ts"].drop_nulls() if frame["ts"].null_count() else frame["ts"]
        first, last = (known[0], known[-1]) if len(known) else (None, None)
        sessions[frame["session"][0]].add_batches(table, frame.height, first, last, frame["line_no"][-1])
        return
    times = pl.col("ts").drop_nulls()
    found = frame.group_by("session").agg(
        pl.len(), times.first().alias("first"), times.last().alias("last"), pl.col("line_no").last()
    )
    for index, n, first, last, line in found.iter_rows():
        sessions[index].add_batches(table, n, first, last, line)
