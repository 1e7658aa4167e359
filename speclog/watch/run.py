"""The loop: poll the log, feed the state, show it, until the reader stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from speclog.formats.engine import read_line
from speclog.formats.wraps import unwrap
from speclog.watch import plain
from speclog.watch.follow import Follower
from speclog.watch.state import BaselineLine, State

if TYPE_CHECKING:
    from rich.console import Console

HISTORY_BYTES = 8 << 20
"""How much of a log that is there already is read first, so that the screen does not begin empty."""


def feed(state: State, lines: list[str], tell: Callable[[str], None] | None = None) -> None:
    """Give log lines to a state; ``tell`` gets one plain line for each window and each event."""
    for line in lines:
        record = read_line(unwrap(line))
        if record is None:
            continue
        before = state.n_events
        window = state.take(record)
        if tell is None:
            continue
        if window is not None:
            tell(plain.window_line(window))
        elif state.n_events > before:
            tell(plain.event_line(state.events[-1]))


def watch_plain(
    log: Path,
    baseline: Mapping[int, BaselineLine],
    tell: Callable[[str], None],
    *,
    interval_s: float = 1.0,
    once: bool = False,
) -> None:
    """Print one line a window or event; ``once`` stops at the end of what is there."""
    state, follower = State(baseline), Follower(log, history_bytes=None if once else HISTORY_BYTES)
    try:
        while True:
            feed(state, follower.poll(), tell)
            if once:
                return
            time.sleep(interval_s)
    finally:
        follower.close()


def watch_live(
    log: Path, baseline: Mapping[int, BaselineLine], about: str, console: Console, *, interval_s: float = 1.0
) -> None:
    """Keep a screen of the state on a terminal until it is interrupted."""
    from rich.live import Live

    from speclog.watch.screen import screen

    state, follower = State(baseline), Follower(log, history_bytes=HISTORY_BYTES)

    def show() -> object:
        title = f"speclog watch {log}" + (f" (rotated {follower.rotations}x)" if follower.rotations else "")
        return screen(state, title, about, width=console.width, height=console.height)

    try:
        with Live(show(), console=console, screen=True, auto_refresh=False) as live:  # type: ignore[arg-type]
            while True:
                feed(state, follower.poll())
                live.update(show(), refresh=True)  # type: ignore[arg-type]
                time.sleep(interval_s)
    finally:
        follower.close()
