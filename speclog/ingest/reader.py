"""Reads a log chunk by chunk into sessions. Pure: bytes in, sessions out; no file, no store."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from speclog.ingest.splitter import Splitter

if TYPE_CHECKING:
    import polars as pl

    from speclog.ingest.session import Session


class LogReader:
    """Feed it chunks that end at a line's end (the last may not), then take its sessions."""

    def __init__(self, source_index: int = 0) -> None:
        self.source_index = source_index
        self.lines = 0
        self.bytes = 0
        self.dropped = 0
        self.replaced = False
        self.binary = False
        self._splitter = Splitter(source_index)

    def feed(self, data: bytes) -> None:
        """Read one chunk."""
        from speclog.ingest.batches import split_batches
        from speclog.ingest.lines import last_timestamp, read_lines

        found = read_lines(data, self.lines + 1)
        typed, others = split_batches(found.frame)
        self._take_others(typed, others)
        self._place(typed, found.frame)
        self.lines += found.count
        self.bytes += len(data)
        self.dropped += found.dropped
        self.replaced |= found.replaced
        self.binary |= b"\0" in data[:65536]
        stamp = last_timestamp(data)
        if stamp:
            self._splitter.current.see_time(datetime.fromisoformat(stamp))

    def _take_others(self, typed: dict[str, pl.DataFrame], others: pl.DataFrame) -> None:
        """Hand the remaining lines to the splitter, telling it how many batch lines stand above."""
        from bisect import bisect_left

        batch_lines = sorted(no for frame in typed.values() for no in frame["line_no"].to_list())
        splitter = self._splitter
        for line_no, text in others.iter_rows():
            session = splitter.current
            above = bisect_left(batch_lines, line_no) - bisect_left(batch_lines, session.first_line)
            splitter.take(line_no, text, batches_before=above + session.n_windows + session.n_prefills)

    def _place(self, typed: dict[str, pl.DataFrame], frame: pl.DataFrame) -> None:
        """Put batch rows, and the bytes that identify content, into the sessions they lie in."""
        import polars as pl

        from speclog.ingest.batches import add_batches

        if frame.is_empty():
            return
        low, high = frame["line_no"][0], frame["line_no"][-1]
        sessions = [s for s in self._splitter.sessions if s.first_line <= high]
        starts = [s.first_line for s in sessions[1:]] + [high + 1]
        for session, end in zip(sessions, starts, strict=True):
            if end <= low:
                continue
            inside = pl.col("line_no").is_between(session.first_line, end, closed="left")
            text = frame.filter(inside)["text"]
            session.digest.update(("\n".join(text.to_list()) + "\n").encode("utf-8", "replace"))
            rows = {table: part.filter(inside) for table, part in typed.items()}
            rows = {table: part for table, part in rows.items() if not part.is_empty()}
            _look(session, frame, rows)
            add_batches(session, rows, self.source_index)

    def finish(self) -> list[Session]:
        """The sessions, with their last lines; those in which nothing was recognised are left out."""
        sessions = self._splitter.sessions
        for session, following in pairwise(sessions):
            session.last_line = following.first_line - 1
        sessions[-1].last_line = self.lines
        return [session for session in sessions if session.begun]


def _look(session: Session, frame: pl.DataFrame, rows: dict[str, pl.DataFrame]) -> None:
    """Identity and punctuation from the first batch line of each table, while they are not known."""
    import polars as pl

    from speclog.ingest.versions import shape_flags

    for table, part in sorted(rows.items(), key=lambda item: int(item[1]["line_no"][0])):
        if f"shape.{table}" in session.layout:
            continue
        text = str(frame.filter(pl.col("line_no") == part["line_no"][0])["text"][0])
        session.layout |= shape_flags(text) | {f"shape.{table}"}
        session.identity = session.identity or text
        session.engine = session.engine or "sglang"
