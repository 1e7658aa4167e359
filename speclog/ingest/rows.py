"""Rows that were read and not yet written, of all sessions of a log; each carries its session's index."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_KEPT_EVENTS = 64  # events a session that begins later may still claim


@dataclass
class Buffer:
    """Batch frames by table (column ``session``); events, profile windows as dicts (key ``session``)."""

    frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    profile: list[dict[str, Any]] = field(default_factory=list)
    intervals: list[dict[str, Any]] = field(default_factory=list)
    n_rows: int = 0

    def add(self, table: str, frame: pl.DataFrame) -> None:
        """Add batch rows."""
        self.frames.setdefault(table, []).append(frame)
        self.n_rows += frame.height

    @property
    def size(self) -> int:
        """Rows held; an event weighs as much as several batch rows."""
        return self.n_rows + 4 * (len(self.events) + len(self.profile) + len(self.intervals))

    def take(
        self, hold: Collection[int] = (), drop: Collection[int] = (), *, all_events: bool = True
    ) -> Buffer:
        """Remove and return the rows to write now: all but those of sessions to ``hold`` or to ``drop``.

        Unless ``all_events``, the newest events stay, as the next session may claim them.
        """
        free = {*hold, *drop}
        out, kept = Buffer(), Buffer()
        for table, frames in self.frames.items():
            for frame in frames:
                _divide(table, frame, hold, free, out, kept)
        newest = [] if all_events else self.events[-_KEPT_EVENTS:]
        older = self.events[: len(self.events) - len(newest)]
        out.events = [row for row in older if row["session"] not in free]
        out.profile = [row for row in self.profile if row["session"] not in free]
        out.intervals = [row for row in self.intervals if row["session"] not in free]
        self.frames, self.n_rows = kept.frames, kept.n_rows
        self.events = [row for row in older if row["session"] in hold] + newest
        self.profile = [row for row in self.profile if row["session"] in hold]
        self.intervals = [row for row in self.intervals if row["session"] in hold]
        return out


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
