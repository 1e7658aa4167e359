"""One log into the store, in one transaction, however long it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from speclog.errors import SpeclogError, StoreError
from speclog.ingest import sidecars
from speclog.ingest.parallel import parsed_chunks
from speclog.ingest.pile import Pile
from speclog.ingest.sources import read_once, written_at
from speclog.ingest.summary import IngestSummary, nothing_in, summarise

if TYPE_CHECKING:
    from speclog.ingest.batches import Parsed
    from speclog.ingest.build import Frames
    from speclog.ingest.named import Only
    from speclog.ingest.reader import LogReader
    from speclog.ingest.session import Session
    from speclog.store import Store

Progress = Callable[[int], None]
"""Called with the bytes read since the last call."""

FLUSH_ROWS = 400_000
FLUSH_BYTES = 128 << 20
"""Rows (bytes read) that are held before they are written; a log with fewer is written at once."""
# Ways to pack columns that DuckDB would try on each and choose for none that matters here: a quarter of
# an insert's CPU for a file of the same size.
_NOT_WORTH_IT = "rle,fsst,dict_fsst,alprd"
STORE_MEMORY = "384MB"  # what DuckDB may hold of a long log before it writes to disk


class _Unchanged(Exception):
    """Nothing that was being written is new, or there was nothing: take it back."""

    def __init__(self, summaries: list[IngestSummary]) -> None:
        super().__init__()
        self.summaries = summaries


@dataclass(frozen=True)
class Unwritten:
    """A log that was read, ``size`` bytes of it; ``write`` puts it into an open store and tells of it."""

    size: int
    write: Callable[[Store], list[IngestSummary]]


class LogIngest:
    """Reads one log and writes it: `run` does both; `read` leaves a small log to be written."""

    def __init__(
        self,
        path: str,
        target: str,
        lock_timeout: float,
        progress: Progress | None = None,
        only: Only | None = None,
    ) -> None:
        self._path = path
        self._only = only
        self._target = target
        self._lock_timeout = lock_timeout
        self._progress = progress
        self._notes: list[str] = []

    def run(self) -> list[IngestSummary]:
        """Read and write. Raises OSError when the log cannot be read, StoreError when the store cannot be."""
        from speclog.store import open_store

        outcome = self.read()
        if isinstance(outcome, list):
            return outcome
        with open_store(self._target, read_only=False, lock_timeout=self._lock_timeout) as store:
            return outcome.write(store)

    def read(self) -> list[IngestSummary] | Unwritten:
        """Read the log. What is too long to hold is written on the way, and summaries tell of it.

        Else what is still to be done with an open store. Raises as `run`.
        """
        from speclog.ingest.named import SeveralServers, ingest_each

        try:
            return self._take()
        except SeveralServers as several:
            found = several

        def read(only: Only) -> list[IngestSummary]:
            return LogIngest(self._path, self._target, self._lock_timeout, self._progress, only).run()

        return ingest_each(self._path, sorted(found.names), read)

    def _take(self) -> list[IngestSummary] | Unwritten:
        with parsed_chunks(self._path, self._only) as parsed:
            from speclog.ingest.reader import LogReader  # while the first of a long log is read

            reader = LogReader(newest=written_at(self._path))
            if not self._read(reader, parsed):
                return self._write_along(reader, parsed)
        sessions = self._finish(reader)
        if not sessions and self._only is None:
            alone = sidecars.standalone(self._path)
            sessions = [alone] if alone else []
        if not sessions:
            return [nothing_in(self._path, reader)]
        return Unwritten(reader.bytes, partial(self._write, reader, sessions))

    def _read(self, reader: LogReader, parsed: Iterator[Parsed]) -> bool:
        """Read until the buffer is full (False) or the log is at its end (True)."""
        start = reader.bytes
        for chunk in parsed:
            reader.add(chunk)
            if self._progress is not None:
                self._progress(chunk.size)
            if reader.buffer.size >= FLUSH_ROWS or reader.bytes - start >= FLUSH_BYTES:
                return False
        return True

    def _write(self, reader: LogReader, sessions: Sequence[Session], store: Store) -> list[IngestSummary]:
        from speclog.ingest.build import row_frames

        states = known_states(store, sessions)
        new = [s for s in sessions if states[s.index] is None]
        if new:
            kept = {s.index for s in new}
            buffer = reader.buffer.take(drop=[s.index for s in reader.sessions if s.index not in kept])
            rows = row_frames(buffer, reader.sessions)
            states |= write_new(store, [rows], new, lambda left: self._session_frames(sessions, left))
        return self._summaries(sessions, states)

    def _write_along(self, reader: LogReader, parsed: Iterator[Parsed]) -> list[IngestSummary]:
        """A long log: rows go to the store as they are read, and appear when all is written."""
        from speclog.store import open_store

        attempts = iter([(reader, parsed)])
        found: list[IngestSummary] = []
        written: list[str] = []  # ingest_ids of what the last attempt ended with

        def work() -> None:
            first = next(attempts, None)
            if first is not None:
                with ThreadPoolExecutor(1, thread_name_prefix="insert") as inserter:
                    found[:] = self._stream(store, inserter, *first, written)
                return
            if read_once(self._path):
                raise StoreError(
                    f"{self._path}: another process wrote to the store meanwhile, and a pipe cannot be "
                    "read again: nothing of it was kept; run the command again"
                )
            # a lake lost the transaction to another writer, or its catalog's server
            with parsed_chunks(self._path, self._only) as again:
                from speclog.ingest.reader import LogReader

                with ThreadPoolExecutor(1, thread_name_prefix="insert") as inserter:
                    newest = written_at(self._path)
                    found[:] = self._stream(store, inserter, LogReader(newest=newest), again, written)

        with open_store(self._target, read_only=False, lock_timeout=self._lock_timeout) as store:
            if not store.is_lake:
                store.script(f"SET memory_limit = '{STORE_MEMORY}'")
                with suppress(SpeclogError):  # an engine that lacks one of them tries them all
                    store.script(f"SET disabled_compression_methods = '{_NOT_WORTH_IT}'")
            try:
                store.transaction(work, committed=lambda: bool(written) and store.holds(written))
            except _Unchanged as same:
                return same.summaries
        return found

    def _stream(
        self,
        store: Store,
        inserter: ThreadPoolExecutor,
        reader: LogReader,
        parsed: Iterator[Parsed],
        written: list[str],
    ) -> list[IngestSummary]:
        """Read and write; while the inserter stores the rows of one part, the next is read.

        ``written`` becomes the ingest_ids of the sessions that are new.
        """
        from speclog.ingest.build import args_frames, row_frames

        pile = Pile()
        inserting: Future[None] | None = None
        while True:
            done = self._read(reader, parsed)
            sessions = self._finish(reader) if done else [s for s in reader.sessions if s.begun]
            best = {s.index for s in without_repeats(sessions)}
            drop = [s.index for s in reader.sessions if s.index not in best and (done or s.followed)]
            hold = [] if done else [s.index for s in sessions if s.index not in best and not s.followed]
            buffer = reader.buffer.take(hold, drop, all_events=done)
            for session in sessions:
                session.flushed = True
            frames = row_frames(buffer, reader.sessions)
            complete = [] if done else [s for s in sessions if s.followed and s.index in best]
            frames |= args_frames(complete)
            for session in complete:
                session.args_written = True
            if inserting is not None:
                inserting.result()
            inserting = inserter.submit(store.insert, pile.add(frames, last=done))
            if done:
                inserting.result()
                break
        states = known_states(store, sessions)
        states |= older_copies(store, [s for s in sessions if states[s.index] is None])
        summaries = self._summaries(sessions, states)
        new = [s for s in sessions if states[s.index] is None]
        if not new:
            raise _Unchanged(summaries or [nothing_in(self._path, reader)])
        written[:] = [s.ingest_id for s in new]
        # Summing up that many windows takes longer than reading them; `speclog gc` makes up for it.
        store.insert(self._session_frames(sessions, new), sum_up=False)
        return summaries

    def _finish(self, reader: LogReader) -> list[Session]:
        sessions = reader.finish()
        if sessions:
            self._take_sidecars(sessions[-1])
        once = without_repeats(sessions)
        if len(once) < len(sessions):
            left_out = len(sessions) - len(once)
            self._notes.append(f"{left_out} sessions are copies of others in this file: counted once")
        return once

    def _take_sidecars(self, session: Session) -> None:
        for path in sidecars.find(self._path) if self._only is None else ():
            problem = sidecars.take(session, path)
            if problem:
                self._notes.append(problem)

    def _session_frames(self, sessions: Sequence[Session], new: Sequence[Session]) -> Frames:
        from speclog.ingest.build import Origin, session_frames

        return session_frames(new, Origin(self._path, self._names(sessions)))

    def _names(self, sessions: Sequence[Session]) -> dict[int, str]:
        """The file's stem; ``#2`` on the second session of a file."""
        from speclog.ingest.named import name_of

        stem = "stdin" if self._path == "-" else sidecars.stem(self._path)
        if self._only is not None:
            stem = name_of(stem, self._only.name)
        return {s.index: stem if place == 0 else f"{stem}#{place + 1}" for place, s in enumerate(sessions)}

    def _summaries(self, sessions: Sequence[Session], states: dict[int, str | None]) -> list[IngestSummary]:
        names = self._names(sessions)
        return [summarise(self._path, s, names[s.index], states[s.index], self._notes) for s in sessions]


def without_repeats(sessions: Sequence[Session]) -> list[Session]:
    """Sessions that occur twice in a file (it was concatenated with itself) once: the first longest copy."""
    ids = [session.run_id for session in sessions]
    best: dict[str, Session] = {}
    for run_id, session in zip(ids, sessions, strict=True):
        old = best.get(run_id)
        if old is None or session.lines > old.lines:
            best[run_id] = session
    return [session for run_id, session in zip(ids, sessions, strict=True) if best[run_id] is session]


def known_states(store: Store, sessions: Sequence[Session]) -> dict[int, str | None]:
    """What the store knows of sessions, by their index: `Store.known`, asked once for all that are new.

    Of a session that is none - its lines are those of two servers - why not.
    """
    from speclog.ingest.build import PARSER_VERSION

    seen = _stored_runs(store, sessions)

    def state(s: Session) -> str | None:
        known = not s.strangers and s.run_id in seen
        return store.known(s.run_id, s.digest.hexdigest(), PARSER_VERSION) if known else s.strangers or None

    return {s.index: state(s) for s in sessions}


def _stored_runs(store: Store, sessions: Sequence[Session]) -> set[str]:
    """Ids of those sessions' runs that the store has any ingest of: one question, however many they are."""
    rows = store.rows(
        "SELECT DISTINCT run_id FROM raw_ingest WHERE run_id IN (SELECT unnest(?))",
        [[s.run_id for s in sessions]],
    )
    return {run_id for (run_id,) in rows}


class _NothingNew(Exception):
    """All that was written is the beginning of what the store has: take it back."""


def write_new(
    store: Store, rows: Iterable[Frames], new: Sequence[Session], told: Callable[[Sequence[Session]], Frames]
) -> dict[int, str]:
    """Append the rows of new sessions and what is ``told`` of them, in one transaction.

    Returns those that were not taken, by index, with the reason: the store has more of their runs.
    """
    from speclog.store import copies

    rows = list(rows)
    seen = _stored_runs(store, new)
    again = [s for s in new if s.run_id in seen]
    if len(rows) == 1 and not any(copies.longer(store, s.run_id, s.lines, s.size) for s in again):
        store.append({**rows[0], **told(new)})
        return {}
    older: dict[int, str] = {}

    def left() -> list[Session]:
        return [s for s in new if s.index not in older]

    def work() -> None:
        for part in rows:
            store.insert(part)
        older.update(older_copies(store, new))
        if not left():
            raise _NothingNew
        store.insert(told(left()))

    with suppress(_NothingNew):
        store.transaction(work, committed=lambda: store.holds([s.ingest_id for s in left()]))
    return older


def older_copies(store: Store, new: Sequence[Session]) -> dict[int, str]:
    """Sessions, written in this transaction, that are the beginning of what the store has: taken back.

    By index, with what a person is told.
    """
    from speclog.store import copies

    older: dict[int, str] = {}
    seen = _stored_runs(store, new)
    for session in new:
        if session.run_id not in seen:
            continue
        found = copies.longer(store, session.run_id, session.lines, session.size)
        if found and copies.begins(store, session.ingest_id, session.last_line, found.ingest_id):
            copies.forget(store, session.ingest_id)
            beside = "; nor was what lies beside it read" if session.sidecars else ""
            older[session.index] = copies.in_words(found, session.lines) + beside
    return older
