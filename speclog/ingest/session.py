"""One server process's life as it is being read: what the log says about it, before it becomes rows."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from speclog.formats.prefix import split_prefix

MAX_SAMPLES = 20
_SOURCES = ("manifest", "log", "server_info", "bench")
_MAX_ENDS = 1000


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
class Session:
    """What one session's lines gave so far, rows excepted. Line numbers are 1-based in the file."""

    index: int
    first_line: int
    last_line: int = 0
    first_byte: int = 0  # of the file, as is `size` in bytes; known when the log is read to its end
    size: int = 0
    ingest_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    engine: str = ""
    start_rank: int = 0
    args: dict[str, str] = field(default_factory=dict)
    args_line: int | None = None
    args_source: str = "server_args"
    manifest: dict[str, Any] = field(default_factory=dict)
    manifest_line: int | None = None
    identity: str = ""
    first_decode: str = ""  # its first decode line
    synthetic: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None
    known_until: datetime | None = None  # its last line that is known to be its own
    ready_at: datetime | None = None
    utc_offset_s: int | None = None
    args_written: bool = False
    flushed: bool = False  # some of its rows are written: identity and clock are settled
    followed: bool = False  # another session starts after this one in the same file
    ended: dict[str, Any] | None = None  # what the launcher said at the end
    ends: list[tuple[int, str]] = field(default_factory=list)  # lines that may have ended the server, and how
    facts: dict[str, Fact] = field(default_factory=dict)
    env: dict[str, Fact] = field(default_factory=dict)
    env_prefixes: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    bench_rows: list[dict[str, Any]] = field(default_factory=list)
    weights: Counter[str] = field(default_factory=Counter)  # lines about loaded weights, by rank
    profile_mode: tuple[str | None, int] | None = None
    n_windows: int = 0
    n_prefills: int = 0
    new_token: int = 0  # of all prompts, those that were computed
    cached_token: int = 0  # and those whose prefix was found in the cache
    first_prefill_line: int | None = None
    n_events: int = 0
    n_profile: int = 0
    n_accept: int = 0  # decode lines with an accept length
    first_batch_line: int = 0
    foreign_line: int = 0  # the first measurement of another engine among its lines
    loads: list[tuple[int, str]] = field(default_factory=list)  # lines that end the loading of weights, rank
    strangers: str = ""  # why its lines are those of two servers
    duplicates: int = 0
    last_window_line: int = 0
    layout: set[str] = field(default_factory=set)  # what its lines showed, for version inference
    version: str | None = None
    version_source: str | None = None
    unknown: int = 0
    unknown_samples: list[str] = field(default_factory=list)
    _unknown_heads: set[str] = field(default_factory=set)
    _settled_id: str = ""
    sidecars: list[str] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def begun(self) -> bool:
        """Whether any line was one that only a known engine prints."""
        return bool(self.engine)

    @property
    def lines(self) -> int:
        """How many lines of the file it spans."""
        return self.last_line - self.first_line + 1

    @property
    def run_id(self) -> str:
        """First 16 hex digits of the hash of the session's identity: manifest id, args line or first line.

        Where that line's time was lost it may be another run's too (a fixed seed): then the first decode
        line, whose throughput is hardly ever the same twice, belongs to it.
        """
        if self._settled_id:
            return self._settled_id
        session = self.manifest.get("session")
        found = _short_hash(f"manifest:{session}" if session else self.identity + self._told_apart)
        if self.flushed and (session or self.identity):
            self._settled_id = found
        return found

    @property
    def _told_apart(self) -> str:
        return "\n" + self.first_decode if self.first_decode and _has_no_time(self.identity) else ""

    @property
    def may_be_any(self) -> bool:
        """Whether so far nothing tells the run from another one of the same arguments."""
        return not (self.manifest.get("session") or self.first_decode) and _has_no_time(self.identity)

    def set_fact(self, name: str, value: object, source: str, line_no: int | None = None) -> None:
        """Record a fact; the first of a better source stays (manifest before log before sidecars)."""
        if not self._knows(name, source):
            self.facts[name] = Fact(fact_text(value), source, line_no)

    def note(self, name: str, text: str | None, source: str, line_no: int | None = None) -> None:
        """`set_fact` with the value as text."""
        if not self._knows(name, source):
            self.facts[name] = Fact(text, source, line_no)

    def _knows(self, name: str, source: str) -> bool:
        old = self.facts.get(name)
        return old is not None and _SOURCES.index(source) >= _SOURCES.index(old.source)

    def set_version(self, version: object, source: str) -> None:
        """Record the exact engine version; the first source asked wins."""
        if isinstance(version, str) and version and self.version is None:
            self.version, self.version_source = version, source

    def see_time(self, ts: datetime | None) -> None:
        """Widen the session's time range; the order of lines counts, not the clock."""
        if ts is not None:
            self.started_at = self.started_at or ts
            self.ended_at = ts

    def add_batches(
        self, table: str, n: int, first: datetime | None, last: datetime | None, last_line: int
    ) -> None:
        """Count batch lines of one chunk, the last at ``last_line``, between two times."""
        if table == "decode_window":
            self.n_windows += n
            self.last_window_line = last_line
        else:
            self.n_prefills += n
        if first is not None and (self.started_at is None or first < self.started_at):
            self.started_at = first
        if last is not None and (self.ended_at is None or last > self.ended_at):
            self.ended_at = last
        if last is not None and (self.known_until is None or last > self.known_until):
            self.known_until = last

    def add_prompts(self, new_token: int, cached_token: int, line_no: int) -> None:
        """Count the tokens of the prefills of one chunk, the first at ``line_no``."""
        self.new_token += new_token
        self.cached_token += cached_token
        self.first_prefill_line = self.first_prefill_line or line_no

    def may_end(self, line_no: int, reason: str) -> None:
        """Note a line that may have ended the server; those before a later decode line did not."""
        if len(self.ends) >= _MAX_ENDS:
            self.ends = [end for end in self.ends if end[0] > self.last_window_line]
        if len(self.ends) < _MAX_ENDS:
            self.ends.append((line_no, reason))

    def mark_at(self, line_no: int) -> Mark | None:
        """The workload mark in force at a line; None before the first."""
        found = None
        for mark in self.marks:
            if mark.line_no <= line_no:
                found = mark
        return found

    def miss(self, text: str) -> None:
        """Count a line nobody declared, and keep it if it is among the first of its kind."""
        self.unknown += 1
        self.sample(text)

    def sample(self, text: str) -> None:
        """Keep a line nobody declared if it is among the first of its kind."""
        if len(self.unknown_samples) < MAX_SAMPLES:
            head = text[:48]
            if head not in self._unknown_heads:
                self._unknown_heads.add(head)
                self.unknown_samples.append(text[:200])


@lru_cache(maxsize=256)
def _has_no_time(line: str) -> bool:
    return split_prefix(line)[0].ts is None


@lru_cache(maxsize=256)
def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def fact_text(value: object) -> str | None:
    """A fact's value as text: JSON for containers, lower-case booleans, None stays None."""
    from speclog.formats.server_args import canonical

    if value is None or isinstance(value, str):
        return value
    return canonical(value)
