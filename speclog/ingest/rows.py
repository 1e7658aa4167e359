"""Rows that were read and not yet written, of all sessions of a log; each carries its session's index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from speclog.formats.spec import early_kinds

if TYPE_CHECKING:
    import polars as pl

    from speclog.formats.block import Places
    from speclog.formats.texts import Said


MAX_MESSAGE = 65536
"""Characters of a message that are kept."""


@dataclass(slots=True, eq=False)
class Event:
    """A row of ``raw_event`` before its session has ids: ``session`` is an index."""

    session: int
    source_index: int
    line_no: int
    line_end: int
    ts: datetime | None
    rank: str | None
    kind: str
    message: str
    fields: str | None


@dataclass(frozen=True, slots=True, eq=False)
class EventRun:
    """Rows of ``raw_event`` of one session, of a line each: what each says is ``said[code]``."""

    session: int
    source_index: int
    lines: Places
    micros: Places
    codes: Places
    said: Sequence[Said]


@dataclass
class Buffer:
    """Batch frames by table (column ``session``), events; profile windows, intervals (key ``session``)."""

    frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    runs: list[EventRun] = field(default_factory=list)
    last_run_line: int = 0  # the last line that an event of any run is from
    profile: list[dict[str, Any]] = field(default_factory=list)
    intervals: list[dict[str, Any]] = field(default_factory=list)
    n_rows: int = 0
    open_event: Event | None = None  # a traceback that may go on

    def add(self, table: str, frame: pl.DataFrame) -> None:
        """Add batch rows."""
        self.frames.setdefault(table, []).append(frame)
        self.n_rows += frame.height

    def add_run(self, run: EventRun) -> None:
        """Add events."""
        if len(run.lines):
            self.runs.append(run)
            self.last_run_line = int(run.lines[-1])

    @property
    def size(self) -> int:
        """Rows held; an event weighs as much as several batch rows."""
        singles = len(self.events) + len(self.profile) + len(self.intervals)
        return self.n_rows + 4 * (singles + sum(len(run.lines) for run in self.runs))

    @property
    def held(self) -> bool:
        """Whether the newest rows could still be changed by the next line."""
        return self.open_event is not None or bool(self.intervals)

    def settle(self) -> None:
        """Take the newest rows as complete."""
        self.open_event = None
        for row in self.intervals:
            row.setdefault("joined", True)

    def take(
        self, hold: Collection[int] = (), drop: Collection[int] = (), *, all_events: bool = True
    ) -> Buffer:
        """Remove and return the rows to write now: all but those of sessions to ``hold`` or to ``drop``.

        Unless ``all_events``, what the next line may change stays: events that the next session may claim, a
        traceback that may go on, an interval whose second line may follow.
        """
        free = {*hold, *drop}
        out, kept = Buffer(), Buffer()
        for table, frames in self.frames.items():
            for frame in frames:
                _divide(table, frame, hold, free, out, kept)
        events = len(self.events) if all_events else self._settled_events()
        intervals = len(self.intervals) if all_events else self._settled_intervals()
        out.events = [row for row in self.events[:events] if row.session not in free]
        out.runs = [run for run in self.runs if run.session not in free]
        out.profile = [row for row in self.profile if row["session"] not in free]
        out.intervals = [row for row in self.intervals[:intervals] if row["session"] not in free]
        self.frames, self.n_rows = kept.frames, kept.n_rows
        self.runs = [run for run in self.runs if run.session in hold]
        self.events = [row for row in self.events[:events] if row.session in hold] + self.events[events:]
        self.profile = [row for row in self.profile if row["session"] in hold]
        self.intervals = [
            row for row in self.intervals[:intervals] if row["session"] in hold
        ] + self.intervals[intervals:]
        return out

    def _settled_events(self) -> int:
        n = len(self.events)
        while n and self._may_change(self.events[n - 1]):
            n -= 1
        return n

    def _may_change(self, event: Event) -> bool:
        early = event.kind in early_kinds() and event.line_no > self.last_run_line
        return early or event is self.open_event

    def _settled_intervals(self) -> int:
        n = len(self.intervals)
        return n - 1 if n and not self.intervals[-1].get("joined") else n


def _divide(
    table: str, frame: pl.DataFrame, hold: Collection[int], free: Collection[int], out: Buffer, kept: Buffer
) -> None:
    import polars as pl

    if not free:
        out.add(table, frame)
        return
    inside = pl.col("session")
    for buffer, part in (
        (out, frame.filter(~inside.is_in(list(free)))),
        (kept, frame.filter(inside.is_in(list(hold)))),
    ):
        if not part.is_empty():
            buffer.add(table, part)
