"""`--follow`: a log into the store while it is being written."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from speclog.errors import InputError
from speclog.ingest.sidecars import stem
from speclog.ingest.sources import written_at
from speclog.ingest.summary import IngestSummary, nothing_in, summarise
from speclog.ingest.tail import POLL_S, whole_lines

if TYPE_CHECKING:
    from speclog.ingest.build import Written
    from speclog.ingest.reader import LogReader
    from speclog.ingest.session import Session
    from speclog.store import Store

FLUSH_S = 2.0
_FLUSH_ROWS = 200_000


def follow_log(
    path: str,
    *,
    store_target: str,
    lock_timeout: float = 20.0,
    stop: Callable[[], bool] = lambda: False,
    flush_s: float = FLUSH_S,
    poll_s: float = POLL_S,
    on_flush: Callable[[list[IngestSummary]], None] | None = None,
) -> list[IngestSummary]:
    """Follow a log by name until ``stop()`` or Ctrl-C, writing what came every ``flush_s`` seconds.

    All rows of a session carry one ingest_id; each write appends a newer row to raw_run and raw_ingest, which
    the views prefer. The store is open only while it is written. Returns the last summaries; one with status
    'unusable' says why the log could not be followed further.
    """
    from speclog.ingest.reader import LogReader

    follower = _Follower(
        path, LogReader(newest=None if path == "-" else _date(path)), store_target, lock_timeout
    )
    due = time.monotonic()
    try:
        for block in whole_lines(path, stop, poll_s):
            if block:
                follower.take(block)
            else:
                follower.idle()
            ready = time.monotonic() >= due and not follower.reader.undecided
            if follower.fresh and (ready or follower.reader.buffer.size > _FLUSH_ROWS):
                found = follower.flush()
                due = time.monotonic() + flush_s
                if on_flush is not None:
                    on_flush(found)
    except KeyboardInterrupt:
        pass
    except OSError as error:  # what came before it counts
        told = IngestSummary(path, "unusable", detail=error.strerror or str(error))
        return [*(s for s in follower.flush(last=True) if s.status != "unusable"), told]
    return follower.flush(last=True)


def _date(path: str) -> datetime | None:
    try:
        return written_at(path)
    except OSError:
        return None


class _Follower:
    """The reader, and what of its sessions is written."""

    def __init__(self, path: str, reader: LogReader, target: str, lock_timeout: float) -> None:
        self.path, self.reader = path, reader
        self.fresh = False
        self._target, self._lock_timeout = target, lock_timeout
        self._written: Written = set()
        self._done: set[int] = set()
        self._waiting = False
        self._owed = False
        self._older: dict[int, str] = {}

    def take(self, block: bytes) -> None:
        from speclog.ingest.named import SeveralServers

        try:
            self.reader.feed(block)
        except SeveralServers as several:
            raise InputError(
                f"{self.path}: lines of several servers ({several}): --follow takes one; ingest the file "
                "when it is whole"
            ) from None
        self.fresh = True

    def idle(self) -> None:
        """Nothing came for a while: what could have gone on with the next line did not."""
        if not self.fresh and self.reader.buffer.held:
            self.fresh = True
            self.reader.buffer.settle()

    def flush(self, *, last: bool = False) -> list[IngestSummary]:
        """Write what is new; summaries of all sessions. ``last``: also what the next line could change."""
        from speclog.store import open_store

        sessions = self.reader.finish()
        if not sessions:
            return [nothing_in(self.path, self.reader)]
        names = self._names(sessions)
        if self.fresh or (last and (self.reader.buffer.size or self._waiting or self._owed)):
            with open_store(self._target, read_only=False, lock_timeout=self._lock_timeout) as store:
                self._write(store, sessions, names, last=last)
            self.fresh = False
        states = {s.index: s.strangers or self._older.get(s.index) for s in sessions}
        return [summarise(self.path, s, names[s.index], states[s.index], []) for s in sessions]

    def _write(self, store: Store, sessions: list[Session], names: dict[int, str], *, last: bool) -> None:
        from speclog.ingest.build import Origin, row_frames, session_frames
        from speclog.ingest.write import write_new
        from speclog.store import removal

        mixed = [s for s in sessions if s.strangers]
        waiting = [] if last else [s.index for s in sessions if not s.flushed and _must_wait(store, s)]
        self._waiting = bool(waiting)
        held = {*self._done, *waiting}
        live = [s for s in sessions if s.index not in held and not s.strangers]
        buffer = self.reader.buffer.take(waiting, [s.index for s in mixed], all_events=last)
        rows = row_frames(buffer, self.reader.sessions)
        begun = any(s.flushed for s in live)
        for session in live:
            session.flushed = True
        told = partial(session_frames, origin=Origin(self.path, names), written=self._written, last=last)
        if last and live and not begun:
            self._older = write_new(store, [rows], live, told)
        else:
            store.append(rows | told(live) if live else rows, sum_up=last)
        removal.remove(store, [s.run_id for s in mixed if s.flushed])
        self._done |= {s.index for s in live if s.followed}
        self._owed = not last and not sessions[-1].strangers  # what follows from all lines of the last

    def _names(self, sessions: list[Session]) -> dict[int, str]:
        name = "stdin" if self.path == "-" else stem(self.path)
        return {s.index: name if place == 0 else f"{name}#{place + 1}" for place, s in enumerate(sessions)}


def _must_wait(store: Store, session: Session) -> bool:
    """Whether a session is not to be seen yet: the store has more of it, or it may still be any run's.

    Once some of it is written it is what the run is seen through, and its id is settled.
    """
    from speclog.store import copies

    return session.may_be_any or copies.longer(store, session.run_id, session.lines, session.size) is not None
