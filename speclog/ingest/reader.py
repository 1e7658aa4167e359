"""Reads a log chunk by chunk into sessions and rows. Pure: bytes in; no file, no store."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from speclog.formats.block import padded
from speclog.ingest import named, strangers
from speclog.ingest.batches import ChunkParser, Parsed
from speclog.ingest.lines import blank_lines_at_end
from speclog.ingest.rows import Buffer
from speclog.ingest.series import put
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
        self.servers: set[str] = set()
        self.buffer = Buffer()
        self._splitter = Splitter(self.buffer, source_index, newest)
        self._stitcher = Stitcher(source_index, kept_ranks)
        self._parser = ChunkParser()
        self._blanks = 0
        self._last: tuple[int, int, Parsed] | None = None
        self._tail_time: datetime | None = None
        self._engine = ""  # of the server that another log ends with, if this one goes on with it

    @property
    def kept_ranks(self) -> KeptRanks:
        """Whose lines count; give it to the readers of the other nodes' logs."""
        return self._stitcher.kept

    @property
    def sessions(self) -> list[Session]:
        """All sessions so far; the last may go on."""
        return self._splitter.sessions

    @property
    def undecided(self) -> bool:
        """Whether the next lines decide which session the newest ones belong to."""
        return self._splitter.undecided

    def go_on(self, before: LogReader, session: Session) -> None:
        """Let the first session be one that another log ends with: its later lines."""
        self._stitcher.go_on(before._stitcher, session.index)
        self._engine = session.engine
        first = self.sessions[0]
        first.weights.update(session.weights)
        first.marks += [replace(mark, line_no=0) for mark in session.marks[-1:]]

    def feed(self, data: bytes) -> None:
        """Read one chunk."""
        buffer = bytearray(padded(data))
        blanks, self._blanks = self._blanks, blank_lines_at_end(buffer, len(data), self._blanks)
        self.add(self._parser.parse([(buffer, len(data))], blanks=blanks))

    def add(self, chunk: Parsed) -> None:
        """Take a chunk that was read by itself. Raises SeveralServers when there are two with a name."""
        self.servers |= chunk.servers
        named.check(self.servers)
        first = self.lines + 1
        typed = {table: put(frame, frame["line_no"] + first) for table, frame in chunk.typed.items()}
        before = len(self.sessions)
        columns: list[list[int]] = []

        def batches(start: int, stop: int) -> int:
            if not columns:  # few chunks hold a start
                columns.extend(frame["line_no"].to_list() for frame in typed.values())
            return sum(bisect_left(column, stop) - bisect_left(column, start) for column in columns)

        self._splitter.take_all(first, chunk.others, batches)
        self._stitcher.add(
            typed, lambda line, table: chunk.text_of(line - first, table), self.sessions, self.buffer
        )
        self._digest(chunk, first, self.sessions[before - 1 :])
        for session in self.sessions[before:]:
            session.first_byte = self._place_of(session.first_line, chunk)
        self._last = (first, self.bytes, chunk)
        self.lines += chunk.count
        self.bytes += chunk.size
        self.binary |= chunk.binary
        self._tail_time = chunk.tail_time

    def _place_of(self, line: int, chunk: Parsed) -> int:
        """The byte of the file that a line begins at; it is in the chunk at hand or the one before."""
        first, start, last = (self.lines + 1, self.bytes, chunk)
        if line < first and self._last is not None:
            first, start, last = self._last
        return start + last.place_of(max(line - first, 0))

    def _digest(self, chunk: Parsed, first: int, inside: Sequence[Session]) -> None:
        """Let the kept lines of the chunk count for the content hash of the sessions they lie in."""
        starts = np.array([session.first_line - first for session in inside[1:]], np.int64)
        for block in chunk.kept:
            if not block.height:
                continue
            rows = [0, *np.searchsorted(block.numbers, starts).tolist(), block.height]
            for session, (start, stop) in zip(inside, pairwise(rows), strict=True):
                for piece in block.pieces(start, stop):
                    session.digest.update(piece)
                    session.digest.update(b"\n")

    def finish(self) -> list[Session]:
        """The sessions, with their last lines; those in which nothing was recognised are left out."""
        self._splitter.settle()
        for session, following in pairwise(self.sessions):
            session.last_line = following.first_line - 1
            session.size = following.first_byte - session.first_byte
        # Lines that are dropped tell of the last session only: of others it would depend on where chunks end.
        last = self.sessions[-1]
        if self._tail_time and (last.ended_at is None or self._tail_time > last.ended_at):
            last.see_time(self._tail_time)
        self.sessions[-1].last_line = self.lines
        self.sessions[-1].size = self.bytes - self.sessions[-1].first_byte
        if self.sessions[0].n_events and not self.sessions[0].begun:
            self.sessions[0].engine = self._engine  # a traceback, say, is of any engine
        strangers.find(self.sessions)
        return [session for session in self.sessions if session.begun]
