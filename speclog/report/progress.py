"""A progress bar for long reports: on a terminal only, and only once two seconds have passed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from speclog.console import clean

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 2.0

Step = Callable[[str, float], None]
"""Takes what is being done now, in words, and the share of the whole that is done before it."""


def silent(_what: str, _done: float) -> None:
    """The step of whoever shows nothing."""


@contextmanager
def progress_bar() -> Iterator[Step]:
    """Give a `Step`; the bar appears by itself when the block takes long, also within a long query."""
    if not sys.stderr.isatty():
        yield silent
        return
    bar = _Bar()
    try:
        yield bar.step
    finally:
        bar.close()


class _Bar:
    """Starts rich's bar late, so that a short report shows nothing and does not pay for the import."""

    def __init__(self) -> None:
        self._at, self._lock = ("reading the store", 0.0), threading.Lock()
        self._progress: Progress | None = None
        self._timer = threading.Timer(PATIENCE_S, self._start)
        self._timer.daemon = True
        self._timer.start()

    def step(self, what: str, done: float) -> None:
        with self._lock:
            self._at = (clean(what), done)
            self._show()

    def _show(self) -> None:
        if self._progress is not None:
            what, done = self._at
            self._progress.update(self._task, description=what, completed=100 * done)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._timer.finished.is_set():  # closed in the meantime
                return
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
            progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = progress.add_task(self._at[0], total=100)
            progress.start()
            self._progress = progress
            self._show()

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
