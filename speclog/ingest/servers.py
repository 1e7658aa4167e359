"""Whose lines stand in the logs of a group: nodes of one server, pieces of rotated logs, later servers.

A log that begins without a server's start goes on with the server that the log before it ended with. One that
begins with a start is another node's, or - a later piece of the same rotated log - that of the next server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from speclog.ingest.sources import read_once, unrotated

if TYPE_CHECKING:
    from speclog.ingest.reader import LogReader
    from speclog.ingest.session import Session
    from speclog.ingest.stitch import KeptRanks

Read = Callable[[str, "KeptRanks", "Part | None"], "LogReader"]
"""Reads a log, given whose lines count in its first session, and the part that this goes on with."""

_SAME = (
    "model_path", "quantization", "tp_size", "pp_size", "dp_size", "nnodes", "disaggregation_mode",
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk",
    "speculative_num_draft_tokens", "speculative_draft_model_path",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A session in one of the logs; ``goes_on``: it is no node's own, but follows the part before it."""

    path: str
    reader: LogReader
    session: Session
    goes_on: bool


@dataclass
class Server:
    """What the logs hold of one server, in order."""

    parts: list[Part] = field(default_factory=list)
    kept: dict[int, tuple[int, int]] = field(default_factory=dict)  # DP rank: PP and TP rank that count

    def takes(self, session: Session) -> str:
        """Why a session that begins a log is not this server's on another node; '' if it may be."""
        mine = next((part.session for part in self.parts if part.session.args), None)
        if mine is None or not session.args or mine.manifest.get("session"):
            return ""
        differ = [name for name in _SAME if mine.args.get(name) != session.args.get(name)]
        return f"its {differ[0]} is {session.args.get(differ[0])}" if differ else ""

    def starts(self, session: Session) -> bool:
        """Whether a piece that begins with a start may be this server's: of which little was seen yet."""
        seen = [part.session for part in self.parts]
        served = any(s.n_windows or s.n_prefills or s.ends or s.ended is not None for s in seen)
        return not served and all(s.start_rank < session.start_rank for s in seen)

    def add(self, part: Part) -> None:
        """Take a part, and whose lines count in it."""
        self.parts.append(part)
        for (index, dp_rank), ranks in part.reader.kept_ranks.items():
            if index == part.session.index:
                self.kept.setdefault(dp_rank, ranks)


@dataclass
class Servers:
    """The servers of a group's logs, in the order in which they begin."""

    read: Read
    found: list[Server] = field(default_factory=list)
    empty: list[tuple[str, LogReader]] = field(default_factory=list)
    mixed: list[tuple[str, Session]] = field(default_factory=list)
    foreign: list[tuple[str, str]] = field(default_factory=list)  # logs of other servers, and why
    _newest: dict[str, Server] = field(default_factory=dict)  # of each log, by its name before rotation
    _last: Server | None = None

    def take(self, path: str) -> None:
        """Read a log and give its sessions to their servers."""
        reader = self._read_as(path, piece=not self.found or unrotated(path) in self._newest)
        sessions = reader.finish()
        if not sessions:
            self.empty.append((path, reader))
        for session in sessions:
            if session.strangers:
                self.mixed.append((path, session))
                continue
            goes_on = session is reader.sessions[0] and self._goes_on(path, session)
            self._give(Part(path, reader, session, goes_on))

    def _read_as(self, path: str, *, piece: bool) -> LogReader:
        """Read a log as a later piece, or as a node's own; once more if it is the other after all."""
        reader = self._guess(path, piece=piece)
        if self.found and self._goes_on(path, reader.sessions[0]) != piece and not read_once(path):
            reader = self._guess(path, piece=not piece)
        return reader

    def _guess(self, path: str, *, piece: bool) -> LogReader:
        known = self._newest.get(unrotated(path))
        if piece:
            return self._read(path, known or self._last, goes_on=True)
        return self._read(path, None if known else self.found[0], goes_on=False)

    def _read(self, path: str, server: Server | None, *, goes_on: bool) -> LogReader:
        kept = {} if server is None else {(0, dp_rank): ranks for dp_rank, ranks in server.kept.items()}
        return self.read(path, kept, server.parts[-1] if server is not None and goes_on else None)

    def _goes_on(self, path: str, first: Session) -> bool:
        """Whether the first session of a log goes on with one of an earlier piece: no other server begins."""
        known = self._newest.get(unrotated(path))
        return not first.start_rank or (known is not None and known.starts(first))

    def _give(self, part: Part) -> None:
        own = unrotated(part.path)
        server = self._newest.get(own, self._last)
        if not part.goes_on:
            other_node = own not in self._newest and self.found
            server = self.found[0] if other_node else None
            why = server.takes(part.session) if server is not None else ""
            if why:
                self.foreign.append((part.path, why))
                server = None
        if server is None:
            server = Server()
            self.found.append(server)
        server.add(part)
        self._newest[own] = self._last = server

    @property
    def one_log(self) -> bool:
        """Whether all logs are pieces of one: then what follows a server is one of its own."""
        return len(self._newest) == 1
