"""Small logs that were read and wait to be written: one opening of the store serves several.

To open a store, to sum up what came into it and to close it again costs more than a small log.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from speclog.ingest.sources import read_once
from speclog.ingest.summary import IngestSummary
from speclog.ingest.write import Unwritten

LONGEST_S, LONGEST_BUSY_S = 0.5, 5.0
"""How long a log waits, at most, for others that are read; and while another process holds the store."""
SMALL_BYTES = 8 << 20
"""A longer log is not read while others wait."""
HELD_S, LEFT_S = 0.5, 0.05
"""How long the store is held, a log apart, while more are to be written; and then left to others."""
MOST_BYTES = 32 << 20
"""What waits is held in memory: no more than this much of logs, and the last of them."""


class Waiting:
    """What is to be written; ``tell`` is called for each log once it is in the store."""

    def __init__(
        self, target: str, lock_timeout: float, tell: Callable[[Sequence[IngestSummary]], None]
    ) -> None:
        self._target, self._lock_timeout, self._tell = target, lock_timeout, tell
        self._logs: list[Unwritten] = []
        self._since = 0.0

    def before(self, paths: Sequence[str]) -> None:
        """These logs are read next: write first what should not wait for them."""
        if self._logs and not (self._may_wait() and all(map(_is_short, paths))):
            self.write()

    def _may_wait(self) -> bool:
        from speclog.store import is_busy

        if sum(log.size for log in self._logs) > MOST_BYTES:
            return False
        waited = time.monotonic() - self._since
        return waited < LONGEST_S or (waited < LONGEST_BUSY_S and is_busy(self._target))

    def add(self, log: Unwritten) -> None:
        """A log that was read."""
        if not self._logs:
            self._since = time.monotonic()
        self._logs.append(log)

    def write(self) -> None:
        """Write all, each in its own transaction. Raises StoreError; those before it are in the store."""
        logs, self._logs = self._logs, []
        while logs:
            logs = self._write_some(logs)
            if logs:
                time.sleep(LEFT_S)

    def _write_some(self, logs: list[Unwritten]) -> list[Unwritten]:
        """Write logs as long as the store may be held; those that are left."""
        from speclog.store import open_store

        with (
            open_store(self._target, read_only=False, lock_timeout=self._lock_timeout) as store,
            store.summing_up_once(),
        ):
            end = time.monotonic() + (math.inf if store.is_lake else HELD_S)
            self._tell(logs[0].write(store))
            left = logs[1:]
            while left and time.monotonic() < end:
                self._tell(left.pop(0).write(store))
            return left


def _is_short(path: str) -> bool:
    with suppress(OSError):
        return not read_once(path) and Path(path).stat().st_size <= SMALL_BYTES
    return True  # whoever reads it says what is wrong with it
