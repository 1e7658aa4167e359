"""What a person sees while a campaign runs: one rewritten line on a terminal, plain lines elsewhere."""

import contextlib
import os
import shutil
import sys
import time

from speclog.console import clean, say


class Progress:
    """Narration of a campaign on stderr, with the time left. Never fails: the terminal may be gone."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._title = ""
        self._end: float | None = None

    def begin(self, index: int, total: int, name: str, left_s: float | None) -> None:
        """A session begins; ``left_s`` is the estimate for it and all after it."""
        self._title = f"[{index + 1}/{total}] {name}"
        self._end = None if left_s is None else time.monotonic() + left_s
        self.tell("starting")

    def tell(self, what: str) -> None:
        """What the session does now."""
        line = clean(f"{self._title}: {what}{self._left()}")
        if self._terminal:
            width = max(20, shutil.get_terminal_size().columns - 1)
            self._write(f"\r\x1b[2K{line[:width]}")
        else:
            self._write(f"{line}\n")

    def note(self, what: str) -> None:
        """Something that stays on the screen."""
        self.clear()
        with contextlib.suppress(OSError, ValueError):
            say(clean(what))

    def clear(self) -> None:
        """Take the rewritten line away."""
        if self._terminal:
            self._write("\r\x1b[2K")

    def _left(self) -> str:
        if self._end is None:
            return ""
        minutes = max(0.0, self._end - time.monotonic()) / 60
        return f" (about {minutes:.0f} min left)" if minutes >= 1 else " (less than a minute left)"

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
