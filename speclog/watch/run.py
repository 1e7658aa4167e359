"""The loop: poll the log, feed the state, show it, until the reader stops it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from speclog.formats.engine import read_line
from speclog.formats.wraps import unwrap
from speclog.watch import plain
from speclog.watch.follow import Follower
from speclog.watch.state import State

if TYPE_CHECKING:
    from rich.console import Console

HISTORY_BYTES = 8 << 20
"""How much of a log that is there already is read first, so that the screen does not begin empty."""
_HEAD_BYTES = 1 << 20


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


def look_back(state: State, log: Path) -> None:
    """Take the server arguments from the head of a log of which only the end will be read."""
    with suppress(OSError), log.open("rb") as handle:
        for line in handle.read(_HEAD_BYTES).decode("utf-8", "replace").splitlines():
            record = read_line(unwrap(line)) if "server_args" in line else None
            if record is not None and record.kind.shape == "server_args":
                state.take(record)


def watch_plain(
    log: Path,
    state: State,
    tell: Callable[[str], None],
    note: Callable[[str], None],
    *,
    interval_s: float = 1.0,
    once: bool = False,
) -> None:
    """Print one line a window or event, and note which baseline it is set against whenever that changes.

    ``once`` stops at the end of what is there.
    """
    follower, noted = Follower(log, history_bytes=None if once else HISTORY_BYTES), ""
    look_back(state, log)
    try:
        while True:
            feed(state, follower.poll(), tell)
            if state.about != noted:
                note(noted := state.about)
            if once:
                return
            time.sleep(interval_s)
    finally:
        follower.close()


def watch_live(log: Path, state: State, console: Console, *, interval_s: float = 1.0) -> None:
    """Keep a screen of the state on a terminal until it is interrupted."""
    from rich.live import Live

    from speclog.watch.screen import screen

    follower = Follower(log, history_bytes=HISTORY_BYTES)
    look_back(state, log)

    def show() -> object:
        title = f"speclog watch {log}" + (f" (rotated {follower.rotations}x)" if follower.rotations else "")
        return screen(state, title, width=console.width, height=console.height)

    try:
        with Live(show(), console=console, screen=True, auto_refresh=False) as live:  # type: ignore[arg-type]
            while True:
                feed(state, follower.poll())
                live.update(show(), refresh=True)  # type: ignore[arg-type]
                time.sleep(interval_s)
    finally:
        follower.close()
