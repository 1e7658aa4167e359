"""One server process's life as it is being read: what the log says about it, before it becomes rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

MAX_SAMPLES = 20
_SOURCES = ("manifest", "log", "server_info", "bench")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact's value (text, no unit), where it comes from, and its line."""

    value: str | None
    source: str
    line_no: int | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A workload step begins (or ends: ``step`` None) at a line."""

    line_no: int
    step: str | None
    warmup: bool | None


@dataclass
class Ranks:
    """Which rank's lines are kept for each DP rank, and prefill lines not yet followed by a decode line."""

    kept: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    pending_prefills: dict[int, int] = field(default_factory=dict)
    dropped: int = 0


@dataclass
class Session:
    """Everything one session's lines gave so far. ``line`` numbers are 1-based in the file."""

    index: int
    first_line: int
    last_line: int = 0
    engine: str = ""
    start_rank: int = 0
    args: dict[str, str] = field(default_factory=dict)
    args_line: int | None = None
    args_source: str = "server_args"
    manifest: dict[str, Any] = field(default_factory=dict)
    manifest_line: int | None = None
    identity: str = ""
    synthetic: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None
    ready_at: datetime | None = None
    utc_offset_s: int | None = None
    followed: bool = False  # another session starts after this one in the same file
    ended: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    env: dict[str, Fact] = field(default_factory=dict)
    env_prefixes: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    profile_rows: list[dict[str, Any]] = field(default_factory=list)
    bench_rows: list[dict[str, Any]] = field(default_factory=list)
    windows: list[pl.DataFrame] = field(default_factory=list)
    prefills: list[pl.DataFrame] = field(default_factory=list)
    n_windows: int = 0
    n_prefills: int = 0
    last_window_line: int = 0
    layout: set[str] = field(default_factory=set)  # field names seen in batch lines, for version inference
    version: str | None = None
    version_source: str | None = None
    ranks: Ranks = field(default_factory=Ranks)
    unknown: int = 0
    unknown_samples: list[str] = field(default_factory=list)
    sidecars: list[str] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def begun(self) -> bool:
        """Whether any line said something about a server."""
        return bool(self.start_rank or self.n_windows or self.n_prefills or self.events or self.profile_rows)

    @property
    def run_id(self) -> str:
        """First 16 hex digits of the hash of the session's identity: manifest id, args line or first line."""
        session = self.manifest.get("session")
        text = f"manifest:{session}" if session else self.identity
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]

    def set_fact(self, name: str, value: object, source: str, line_no: int | None = None) -> None:
        """Record a fact; the first of a better source stays (manifest before log before sidecars)."""
        old = self.facts.get(name)
        if old is None or _SOURCES.index(source) < _SOURCES.index(old.source):
            self.facts[name] = Fact(fact_text(value), source, line_no)

    def set_version(self, version: object, source: str) -> None:
        """Record the exact engine version; the first source asked wins."""
        if isinstance(version, str) and version and self.version is None:
            self.version, self.version_source = version, source

    def see_time(self, ts: datetime | None) -> None:
        """Widen the session's time range; the order of lines counts, not the clock."""
        if ts is not None:
            self.started_at = self.started_at or ts
            self.ended_at = ts

    def see_time_range(self, frame: pl.DataFrame) -> None:
        """Widen the time range by a frame's column ``ts``; rows are in the order of lines."""
        known = frame["ts"].drop_nulls() if "ts" in frame.columns else None
        if known is None or known.is_empty():
            return
        first, last = known[0], known[-1]
        if self.started_at is None or first < self.started_at:
            self.started_at = first
        if self.ended_at is None or last > self.ended_at:
            self.ended_at = last

    def miss(self, text: str) -> None:
        """Count a line nobody declared, and keep it if it is among the first of its kind."""
        self.unknown += 1
        if len(self.unknown_samples) < MAX_SAMPLES:
            sample = text[:200]
            if all(sample[:48] != known[:48] for known in self.unknown_samples):
                self.unknown_samples.append(sample)


def fact_text(value: object) -> str | None:
    """A fact's value as text: JSON for containers, lower-case booleans, None stays None."""
    from speclog.formats.server_args import canonical

    if value is None or isinstance(value, str):
        return value
    return canonical(value)
