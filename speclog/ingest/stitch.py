"""Batch rows of consecutive chunks put into their sessions: one rank kept, prefills counted, steps noted."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from speclog.ingest.clock import ClockWatch
from speclog.ingest.series import numbers, put, same
from speclog.ingest.versions import shape_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
        self._clock = ClockWatch()
        self._pending: dict[Key, int] = {}  # prefill lines not yet followed by a decode line
        self._newest: dict[str, int] = {}  # line of the newest row by table

    def go_on(self, before: Stitcher, index: int) -> None:
        """Let the first session be one of another log: what is remembered of that one holds for it."""
        self.kept.update({(0, dp): ranks for (owner, dp), ranks in before.kept.items() if owner == index})
        self._pending = {(0, dp): n for (owner, dp), n in before._pending.items() if owner == index}
        self._clock.go_on(before._clock, index)

    def add(
        self,
        typed: dict[str, pl.DataFrame],
        text_of: Callable[[int, str], str],
        sessions: Sequence[Session],
        buffer: Buffer,
    ) -> None:
        """Add a chunk's batch rows (file line numbers) to the buffer and to their sessions' counts.

        ``text_of`` gives the text of a line of the chunk that is a row of a table.
        """
        rows = {table: _sessions_of(frame, sessions) for table, frame in typed.items()}
        _look(rows, text_of, sessions)
        rows = self._one_rank(rows, sessions)
        rows = {table: frame for table, frame in rows.items() if not frame.is_empty()}
        if rows:
            dp_rank = _only_dp_rank(rows)
            if dp_rank is None:
                rows = self._prefills_since(rows)
            else:
                rows = self._prefills_of_one(rows, dp_rank, sessions)
        if _WINDOWS in rows:
            self._clock.look(rows[_WINDOWS], sessions, buffer, self._source_index)
        for table, found in rows.items():
            frame = self._told_apart(table, found)
            source = same("source_index", self._source_index, frame.height, np.int32)
            buffer.add(table, put(_steps(frame, sessions), source))
            _count(table, frame, sessions)

    def _told_apart(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Batch lines that one line of the file holds (a JSON string may) as lines that follow it.

        A row is known by its line: two of one line would be taken for each other wherever rows are joined.
        """
        lines = numbers(frame["line_no"])
        before = self._newest.get(table, 0)
        if lines[0] <= before or (lines[1:] == lines[:-1]).any():
            places = np.arange(len(lines))
            lines = np.maximum(np.maximum.accumulate(lines - places), before + 1) + places
            frame = put(frame, pl.Series("line_no", lines))
        self._newest[table] = int(lines[-1])
        return frame

    def _prefills_of_one(
        self, rows: dict[str, pl.DataFrame], dp_rank: int, sessions: Sequence[Session]
    ) -> dict[str, pl.DataFrame]:
        """`_prefills_since` for a chunk of one DP rank, which nearly all are: no grouping."""
        prefills = rows[_PREFILLS]["line_no"].to_numpy() if _PREFILLS in rows else np.empty(0, np.int64)

        def from_start(index: int) -> int:
            """Place of a session's first prefill, less those that are pending from earlier chunks."""
            start = int(np.searchsorted(prefills, sessions[index].first_line))
            return start - self._pending.get((index, dp_rank), 0)

        newest = max(frame["session"][-1] for frame in rows.values())
        if _WINDOWS not in rows:
            self._pending = {(newest, dp_rank): len(prefills) - from_start(newest)}
            return rows
        windows = rows[_WINDOWS]
        owners = windows["session"].to_numpy()
        done = np.searchsorted(prefills, windows["line_no"].to_numpy(), side="right")
        before = np.roll(done, 1)
        for place in np.flatnonzero(np.diff(owners, prepend=-1)).tolist():
            before[place] = from_start(int(owners[place]))
        since = pl.Series("prefills_since", (done - before).astype(np.int32))
        taken = int(done[-1]) if owners[-1] == newest else from_start(newest)
        self._pending = {(newest, dp_rank): len(prefills) - taken}
        return rows | {_WINDOWS: put(windows, since)}

    def _one_rank(
        self, rows: dict[str, pl.DataFrame], sessions: Sequence[Session]
    ) -> dict[str, pl.DataFrame]:
        """Keep one PP and TP rank's lines for each DP rank: the lowest that its first chunk shows.

        Pipeline stages (and, with metrics for all schedulers, every TP rank) print the same batch again.
        """
        if not any({"pp_rank", "tp_rank"} & set(frame.columns) for frame in rows.values()):
            return rows
        twice = False
        for session, dp, pp, tp in _seen(rows):
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
        parts = [_order(rows[table], n) for n, table in ((1, _PREFILLS), (0, _WINDOWS)) if table in rows]
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


def _seen(rows: dict[str, pl.DataFrame]) -> list[tuple[int, ...]]:
    """The (session, DP, PP, TP rank) that rows have, sorted."""
    found: set[tuple[int, ...]] = set()
    for frame in rows.values():
        ranks = _uniform(frame)
        if ranks is None:
            found |= set(_ranks(frame).select("session", *_KEYS).unique().iter_rows())
        else:
            found |= {(session, *ranks) for session, *_ in _parts(frame)}
    return sorted(found)


def _uniform(frame: pl.DataFrame) -> tuple[int, ...] | None:
    """The ranks of a frame in which all rows agree in them; None where they differ."""
    found = []
    for name in _KEYS:
        if name in frame.columns:
            low, high = frame[name].min(), frame[name].max()
            if low != high or (low is not None and frame[name].null_count()):
                return None
            found.append(_NO_RANK if low is None else int(str(low)))
        else:
            found.append(_NO_RANK)
    return tuple(found)


def _only_dp_rank(rows: dict[str, pl.DataFrame]) -> int | None:
    """The one DP rank of all rows of a chunk (-1: none was printed); None where there are several."""
    found = set()
    for frame in rows.values():
        if "dp_rank" not in frame.columns:
            found.add(_NO_RANK)
            continue
        ranks = frame["dp_rank"]
        found |= {_NO_RANK} if ranks.null_count() else set()
        found |= {int(str(rank)) for rank in (ranks.min(), ranks.max()) if rank is not None}
    return found.pop() if len(found) == 1 else None


def _sessions_of(frame: pl.DataFrame, sessions: Sequence[Session]) -> pl.DataFrame:
    """The frame with the index of the session each row lies in."""
    first = bisect_right(sessions, frame["line_no"][0], key=lambda session: session.first_line)
    recent = sessions[max(first - 1, 0) :]
    if len(recent) == 1:
        return put(frame, same("session", recent[0].index, frame.height))
    starts = np.array([session.first_line for session in recent], np.int64)
    place = np.searchsorted(starts, numbers(frame["line_no"]), side="right") - 1
    return put(frame, pl.Series("session", np.maximum(place, 0) + recent[0].index))


def _look(
    rows: dict[str, pl.DataFrame], text_of: Callable[[int, str], str], sessions: Sequence[Session]
) -> None:
    """Identity and punctuation of each session from its first batch line of each table; fields it prints."""
    firsts = []
    for table, frame in rows.items():
        name = f"shape.{table}"
        for index, line, printed in _first_lines(frame):
            layout = sessions[index].layout
            if name not in layout:
                firsts.append((line, index, table))
            layout.update(f"{table}.{c}" for c, n in zip(_fields(frame), printed, strict=True) if n)
    for line, index, table in sorted(firsts):
        text = text_of(line, table)
        session = sessions[index]
        session.layout |= shape_flags(text) | {f"shape.{table}"}
        session.identity = session.identity or text
        if table == _WINDOWS:
            session.first_decode = text
        session.engine = session.engine or "sglang"


def _fields(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name not in ("session", "line_no")]


def _first_lines(frame: pl.DataFrame) -> Iterator[tuple[int, int, list[bool]]]:
    """(session, line of its first row, which fields have a value in any row) of every session in a frame."""
    parts = _parts(frame)
    starts = [start for _, start, _ in parts]
    lines = numbers(frame["line_no"])[starts].tolist()
    columns = [frame[name] for name in _fields(frame)]
    printed = [
        np.logical_or.reduceat(column.is_not_null().to_numpy(), starts).tolist()
        if column.null_count()
        else [True] * len(starts)
        for column in columns
    ]
    for (index, *_), line, *some in zip(parts, lines, *printed, strict=True):
        yield index, line, some


def _parts(frame: pl.DataFrame) -> list[tuple[int, int, int]]:
    """(session, first row, row behind the last) of each session in a frame: its rows stand together."""
    owners = numbers(frame["session"])
    if owners[0] == owners[-1]:
        return [(int(owners[0]), 0, len(owners))]
    places = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), len(owners)]
    return [(int(owners[start]), start, stop) for start, stop in pairwise(places)]


def _ranks(frame: pl.DataFrame) -> pl.DataFrame:
    tags = [
        pl.col(key).fill_null(_NO_RANK).cast(pl.Int64)
        if key in frame.columns
        else pl.lit(_NO_RANK, pl.Int64).alias(key)
        for key in _KEYS
    ]
    return frame.select("line_no", "session", *tags)


def _only(frame: pl.DataFrame, chosen: pl.DataFrame, sessions: Sequence[Session]) -> pl.DataFrame:
    mine = _ranks(frame).with_row_index().join(chosen, on=["session", *_KEYS], how="semi")["index"]
    inside = np.zeros(frame.height, np.bool_)
    inside[mine.to_numpy()] = True
    for index, n in frame.filter(~inside).group_by("session").len().iter_rows():
        sessions[index].duplicates += n
    return frame.filter(inside)


def _order(frame: pl.DataFrame, prefill: int) -> pl.DataFrame:
    return _ranks(frame).select("line_no", *_GROUP, pl.lit(prefill, pl.Int64).alias("prefill"))


def _steps(frame: pl.DataFrame, sessions: Sequence[Session]) -> pl.DataFrame:
    """Columns ``step`` and ``warmup``: the workload step a line lies in; NULL outside."""
    marked = [session for session in sessions[frame["session"][0] :] if session.marks]
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
    line_no, ts = frame["line_no"], frame["ts"]
    whole = not ts.null_count()
    for index, start, stop in _parts(frame):
        known = ts if whole else ts[start:stop].drop_nulls()
        places = (start, stop - 1) if whole else (0, len(known) - 1)
        first, last = (known[place] if len(known) else None for place in places)
        session = sessions[index]
        session.add_batches(table, stop - start, first, last, line_no[stop - 1])
        session.first_batch_line = min(session.first_batch_line or line_no[start], line_no[start])
        if session.engine != "sglang":
            session.foreign_line = session.foreign_line or line_no[start]
        if table == _WINDOWS and "accept_len_raw" in frame.columns:
            accept = frame["accept_len_raw"][start:stop]
            session.n_accept += len(accept) - accept.null_count()
        elif "cached_token" in frame.columns:
            new, cached = (int(frame[name][start:stop].sum()) for name in ("new_token", "cached_token"))
            session.add_prompts(new, cached, line_no[start])
