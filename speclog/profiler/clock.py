"""Clocks: what a mark is, and how many milliseconds lie between two."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any


class HostClock:
    """Host time. Without a GPU this is the phases' time; with one it is the time to launch them."""

    mode = "host"

    def mark(self) -> Any:
        """Take the time here, without waiting for anything."""
        return time.perf_counter()

    def ready(self, mark: Any) -> bool:
        """Whether `mark` can be read without waiting."""
        return True

    def ms(self, earlier: Any, later: Any) -> float:
        """Milliseconds from one mark to another."""
        return float(later - earlier) * 1e3

    def release(self, marks: Iterable[Any]) -> None:
        """Take back marks that nobody will read again."""


class SyncClock(HostClock):
    """Host time after waiting for the device: exact phases, but the server's overlap is gone."""

    mode = "sync"

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda

    def mark(self) -> Any:
        """Wait for the device, then take the time; None while a CUDA graph is being captured."""
        if self.cuda.is_current_stream_capturing():
            return None
        self.cuda.synchronize()
        return time.perf_counter()


class EventClock(HostClock):
    """CUDA events on the current stream, from a pool. Never waits: `ready` asks, `ms` reads what is done."""

    mode = "events"

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda
        self.pool: list[Any] = []

    def mark(self) -> Any:
        """Record an event; None while a CUDA graph is being captured, which a recording would spoil."""
        if self.cuda.is_current_stream_capturing():
            return None
        event = self.pool.pop() if self.pool else self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ready(self, mark: Any) -> bool:
        """Whether the device has passed the event."""
        return bool(mark.query())

    def ms(self, earlier: Any, later: Any) -> float:
        """Milliseconds of device time between two events that are both ready."""
        return float(earlier.elapsed_time(later))

    def release(self, marks: Iterable[Any]) -> None:
        """Put events back into the pool."""
        self.pool.extend(mark for mark in marks if mark is not None)


def choose(mode: str) -> HostClock:
    """The clock for `mode`; host time where torch or a CUDA device is missing."""
    if mode == "host":
        return HostClock()
    try:
        import torch
    except ImportError:
        return HostClock()
    if not torch.cuda.is_available():
        return HostClock()
    return SyncClock(torch.cuda) if mode == "sync" else EventClock(torch.cuda)
