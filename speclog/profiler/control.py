"""The control file: `on`, `off` or `ab`, written by whoever wants to switch a running server's profiler."""

from __future__ import annotations

from pathlib import Path

STATES = ("on", "off", "ab")


class Control:
    """The wanted state. The file is looked at every `every` decode rounds and read when it has changed."""

    def __init__(self, path: str | None, state: str, every: int) -> None:
        self.path = None if path is None else Path(path)
        self.state = state
        self.every = every
        self.left = 1
        self.seen: tuple[int, int] | None = None

    def round(self) -> str:
        """Count one round; the state from here on."""
        if self.path is not None:
            self.left -= 1
            if self.left <= 0:
                self.left = self.every
                self.look(self.path)
        return self.state

    def look(self, path: Path) -> None:
        """Take over the file's word if the file is there, has changed and holds one of the states."""
        try:
            status = path.stat()
            version = (status.st_mtime_ns, status.st_size)
            if version == self.seen:
                return
            self.seen = version
            word = path.read_text(encoding="utf-8").strip().lower()
        except (OSError, UnicodeDecodeError):
            return
        if word in STATES:
            self.state = word
