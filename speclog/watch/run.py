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
AGAIN_S = 10.0
"""How long after a store was busy, or not there, it is asked again."""
_BLOCK_BYTES = 4 << 20
_MANIFEST, _ARGUMENTS = b"SPECLOG_MANIFEST v=1 ", b"server_args="
_MARKS = (_MANIFEST, _ARGUMENTS)


def feed(
    state: State,
    lines: list[str],
    tell: Callable[[str], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> None:
    """Give log lines to a state; ``tell`` gets one plain line for each window and each event, ``note`` which
    baseline windows are set against, before the first of them."""
    for line in lines:
        record = read_line(unwrap(line))
        if record is None:
            continue
        before = state.n_events
        window = state.take(record)
        if tell is None:
            continue
        if window is not None:
            if note is not None:
                note(state.about)
            tell(plain.window_line(window, unfair=bool(state.baseline.differ)))
        elif state.n_events > before:
            tell(plain.event_line(state.events[-1]))


def look_back(state: State, log: Path) -> None:
    """Take the last server's arguments and manifest from the part of a log that is not read otherwise."""
    found: list[bytes] = []
    with suppress(OSError), log.open("rb") as handle:
        left, rest = max(0, log.stat().st_size - HISTORY_BYTES), b""
        while left > 0 and (data := handle.read(min(_BLOCK_BYTES, left))):
            left -= len(data)
            lines, end, rest = (rest + data).rpartition(b"\n")
            if end and any(mark in lines for mark in _MARKS):
                found = _introduction(found, lines.split(b"\n"))
        if rest:
            found = _introduction(found, [rest + handle.readline()])
    _introduce(state, found)


def _introduction(found: list[bytes], lines: list[bytes]) -> list[bytes]:
    """The last server's lines: its manifest, when it comes before its arguments, and these."""
    for line in lines:
        if _MANIFEST in line:
            found = [line]
        elif _ARGUMENTS in line:
            found = [*(one for one in found[-1:] if _MANIFEST in one), line]
    return found


def _introduce(state: State, lines: list[bytes]) -> None:
    for line in lines:
        record = read_line(unwrap(line.decode("utf-8", "replace").rstrip("\r")))
        if record is not None and (
            record.kind.name == "speclog_manifest" or record.kind.shape == "server_args"
        ):
            state.take(record)


class _Again:
    """Asks a store that was busy, or not there, again after a while."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def look(self, state: State) -> None:
        if not state.baseline.again:
            self._last = time.monotonic()
        elif time.monotonic() - self._last >= AGAIN_S:
            state.look_again()
            self._last = time.monotonic()


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
    again, follower = _Again(), Follower(log, history_bytes=None if once else HISTORY_BYTES)
    if not once:
        look_back(state, log)
    if not log.exists():
        note(f"waiting for {log}")
    noted = [state.about if not log.exists() else ""]

    def about(text: str) -> None:
        if text != noted[-1]:
            note(text)
            noted.append(text)

    try:
        while True:
            feed(state, follower.poll(), tell, about)
            again.look(state)
            about(state.about)
            if once:
                return
            time.sleep(interval_s)
    finally:
        follower.close()


def watch_live(log: Path, state: State, console: Console, *, interval_s: float = 1.0) -> None:
    """Keep a screen of the state on a terminal until it is interrupted."""
    from rich.live import Live

    from speclog.watch.screen import screen

    again, follower = _Again(), Follower(log, history_bytes=HISTORY_BYTES)
    look_back(state, log)

    def show() -> object:
        title = f"speclog watch {log}" + (f" (rotated {follower.rotations}x)" if follower.rotations else "")
        return screen(state, title, width=console.width, height=console.height)

    try:
        with Live(show(), console=console, screen=True, auto_refresh=False) as live:  # type: ignore[arg-type]
            while True:
                feed(state, follower.poll())
                again.look(state)
                live.update(show(), refresh=True)  # type: ignore[arg-type]
                time.sleep(interval_s)
    finally:
        follower.close()
