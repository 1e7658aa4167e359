"""A progress bar for long ingests: on a terminal only, and only once two seconds have passed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 2.0


@contextmanager
def progress_bar(paths: Sequence[str]) -> Iterator[Callable[[int], None] | None]:
    """Give a function that takes the bytes read since its last call; None where no bar can be shown."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(sum(Path(p).stat().st_size for p in paths if Path(p).is_file()))
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    """Starts rich's bar late, so that short work shows nothing and does not pay for the import."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._started = total, 0, time.monotonic()
        self._progress: object | None = None

    def advance(self, n: int) -> None:
        self._done += n
        if self._progress is None and time.monotonic() - self._started >= _PATIENCE_S:
            self._start()
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)  # type: ignore[attr-defined]

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.start()
        self._task = progress.add_task("reading", total=self._total or None)
        self._progress = progress

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()  # type: ignore[attr-defined]
