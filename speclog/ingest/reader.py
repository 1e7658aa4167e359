"""Reads a log chunk by chunk into sessions and rows. Pure: bytes in; no file, no store."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from speclog.ingest.batches import Parsed, parse_chunk
from speclog.ingest.rows import Buffer
from speclog.ingest.splitter import Splitter
from speclog.ingest.stitch import KeptRanks, Stitcher

if TYPE_CHECKING:
    from speclog.ingest.session import Session


class LogReader:
    """Feed it chunks of whole lines in order (only the last line of all may lack its end)."""

    def __init__(
        self, source_index: int = 0, newest: datetime | None = None, kept_ranks: KeptRanks | None = None
    ) -> None:
        self.lines = 0
        self.bytes = 0
        self.binary = False
        self.buffer = Buffer()
        self._splitter = Splitter(self.buffer, source_index, newest)
        self._stitcher = Stitcher(source_index, kept_ranks)

    @property
    def kept_ranks(self) -> KeptRanks:
        """Whose lines count; give it to the readers of the other nodes' logs."""
        return self._stitcher.kept

    @property
    def sessions(self) -> list[Session]:
        """All sessions so far; the last may go on."""
        return self._splitter.sessions

    def feed(self, data: bytes) -> None:
        """Read one chunk."""
        self.add(parse_chunk(data))

    def add(self, chunk: Parsed) -> None:
        """Take a chunk that was read by itself."""
        first = self.lines + 1
        shift = pl.col("line_no") + first
        typed = {table: frame.with_columns(shift) for table, frame in chunk.typed.items()}
        kept = chunk.kept.with_columns(shift)
        before = len(self.sessions)
        self._take_others(typed, chunk.others, first)
        self._stitcher.add(typed, kept, self.sessions, self.buffer)
        self._digest(chunk, kept, before - 1)
        self.lines += chunk.count
        self.bytes += chunk.size
        self.binary |= chunk.binary
        self._splitter.current.see_time(chunk.tail_time)

    def _take_others(self, typed: dict[str, pl.DataFrame], others: pl.DataFrame, first: int) -> None:
        columns = [frame["line_no"] for frame in typed.values()]

        def batches(start: int, stop: int) -> int:
            return sum(int(c.search_sorted(stop)) - int(c.search_sorted(start)) for c in columns)

        take = self._splitter.take
        for line_no, text in zip(others["line_no"].to_list(), others["text"].to_list(), strict=True):
            take(line_no + first, text, batches)

    def _digest(self, chunk: Parsed, kept: pl.DataFrame, since: int) -> None:
        """Let the kept lines of the chunk count for the content hash of the sessions they lie in."""
        inside = self.sessions[since:]
        if len(inside) == 1 and chunk.raw is not None:
            inside[0].digest.update(chunk.raw)
            inside[0].digest.update(b"" if chunk.raw.endswith(b"\n") else b"\n")
            return
        numbers, text = kept["line_no"], kept["text"]
        ends = [int(numbers.search_sorted(s.first_line)) for s in inside[1:]] + [len(numbers)]
        start = 0
        for session, end in zip(inside, ends, strict=True):
            if end > start:
                joined = text.slice(start, end - start).str.join("\n").item()
                session.digest.update(joined.encode("utf-8", "replace") + b"\n")
            start = max(start, end)

    def finish(self) -> list[Session]:
        """The sessions, with their last lines; those in which nothing was recognised are left out."""
        for session, following in pairwise(self.sessions):
            session.last_line = following.first_line - 1
        self.sessions[-1].last_line = self.lines
        return [session for session in self.sessions if session.begun]
