"""What a page is worked out from: the windows of runs, arms, comparisons of arms; each once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Self

from speclog.analysis import windows

if TYPE_CHECKING:
    import polars as pl

    from speclog.analysis.levels import RunLevels
    from speclog.analysis.side import Side
    from speclog.store import Store

POINTS = 13
"""Contexts at which the curve of a batch size is drawn: it is nearly straight."""

Arm = tuple[str, ...]
"""The run_ids of one side of a pair: the run and its repeats."""


class Sides:
    """Windows, statistics and comparisons of runs, each read or worked out once a page.

    ``ahead``: what another thread has found or is finding out (`ahead.look`).
    """

    def __init__(self, store: Store, ahead: Future[Self] | None = None) -> None:
        self._store = store
        self._ahead = ahead
        self._windows: dict[str, pl.DataFrame] = {}
        self._levels: dict[str, RunLevels] = {}
        self._sides: dict[Arm, Side] = {}
        self._compared: dict[tuple[Arm, Arm], pl.DataFrame] = {}
        self._curves: dict[tuple[Arm, Arm, int], pl.DataFrame] = {}

    def windows(self, run_id: str) -> pl.DataFrame:
        """The decode windows of a run (view ``decode_window``), in log order."""
        self.read([run_id])
        return self._windows[run_id]

    def read(self, run_ids: Sequence[str]) -> None:
        """Read the windows of runs that were not read before: one query, for each costs like one run."""
        self._meet()
        missing = set(run_ids) - self._windows.keys()
        if missing:
            self._windows |= windows.load(self._store, sorted(missing))

    def side(self, arm: Arm) -> Side:
        """One arm: the run and its repeats."""
        from speclog.analysis.side import Side

        self.read(arm)
        if arm not in self._sides:
            self._sides[arm] = Side([self._of(run_id) for run_id in arm])
        return self._sides[arm]

    def compared(self, candidate: Arm, baseline: Arm) -> pl.DataFrame:
        """The levels of two arms with their intervals (`analysis.breakeven.compare`)."""
        from speclog.analysis.breakeven import compare

        self._meet()
        key = candidate, baseline
        if key not in self._compared:
            self._compared[key] = compare(self.side(candidate), self.side(baseline))
        return self._compared[key]

    def curve(self, candidate: Arm, baseline: Arm, batch_size: int) -> pl.DataFrame:
        """Break-even over context at a batch size, at `POINTS` contexts (`analysis.context.curve`)."""
        from speclog.analysis.context import curve

        self._meet()
        key = candidate, baseline, batch_size
        if key not in self._curves:
            both = self.side(candidate), self.side(baseline)
            self._curves[key] = curve(*both, batch_size, points=POINTS)
        return self._curves[key]

    def _of(self, run_id: str) -> RunLevels:
        from speclog.analysis.levels import run_levels

        if run_id not in self._levels:
            self._levels[run_id] = run_levels(self._windows[run_id])
        return self._levels[run_id]

    def _meet(self) -> None:
        """Wait for what another thread finds out, and take it over."""
        if self._ahead is not None:
            found, self._ahead = self._ahead.result(), None
            self._windows |= found._windows
            self._levels |= found._levels
            self._sides |= found._sides
            self._compared |= found._compared
            self._curves |= found._curves
