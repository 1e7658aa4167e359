"""`ingest_paths`: logs into the store, one transaction a log, one summary a session."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speclog.ingest.sources import Source, chunks, expand, open_bytes

if TYPE_CHECKING:
    from speclog.ingest.reader import LogReader
    from speclog.ingest.session import Session
    from speclog.store import Store

Progress = Callable[[int], None]
"""Called with the bytes read since the last call."""

STATUSES = ("ingested", "unchanged", "unusable")


@dataclass
class IngestSummary:
    """What one session (or one unusable input) gave. ``detail`` is the reason when it is unusable."""

    path: str
    status: str
    run: str | None = None
    run_id: str | None = None
    engine: str | None = None
    version: str | None = None
    served: bool | None = None
    end_reason: str | None = None
    windows: int = 0
    prefills: int = 0
    profile_windows: int = 0
    events: int = 0
    bench_results: int = 0
    lines: int = 0
    unknown_lines: int = 0
    first_line: int | None = None
    last_line: int | None = None
    detail: str = ""
    notes: list[str] = field(default_factory=list)
    unknown_samples: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return asdict(self)


def ingest_paths(
    paths: Sequence[str | Path],
    *,
    store_target: str,
    lock_timeout: float = 20.0,
    progress: Progress | None = None,
    on_summary: Callable[[IngestSummary], None] | None = None,
) -> list[IngestSummary]:
    """Read logs (files, globs, directories, '-') into a store; one summary a session, in order.

    An input that cannot be used gives a summary with status 'unusable' and its reason; the others are still
    ingested. Each log is one transaction. Raises StoreError when the store cannot be written.
    """
    summaries: list[IngestSummary] = []
    for source in expand(paths):
        found = _ingest_source(source, store_target, lock_timeout, progress)
        for summary in found:
            if on_summary is not None:
                on_summary(summary)
        summaries += found
    return summaries


def _ingest_source(
    source: Source, target: str, lock_timeout: float, progress: Progress | None
) -> list[IngestSummary]:
    if source.problem:
        return [IngestSummary(source.path, "unusable", detail=source.problem)]
    try:
        reader = read_log(source.path, progress)
    except OSError as error:
        return [IngestSummary(source.path, "unusable", detail=error.strerror or str(error))]
    except EOFError:
        return [IngestSummary(source.path, "unusable", detail="compressed file that ends too early")]
    sessions = reader.finish()
    if not sessions:
        return [IngestSummary(source.path, "unusable", detail=why_nothing(source.path, reader))]
    return _write(source, reader, sessions, target, lock_timeout)


def read_log(path: str, progress: Progress | None = None) -> LogReader:
    """Read one log into sessions. Raises OSError when it cannot be read."""
    from speclog.ingest.reader import LogReader

    reader = LogReader()
    with open_bytes(path) as stream:
        for chunk in chunks(stream):
            reader.feed(chunk)
            if progress is not None:
                progress(len(chunk))
    return reader


def why_nothing(path: str, reader: LogReader) -> str:
    """Why a file gave no session, in words."""
    if reader.bytes == 0:
        return "empty file"
    if reader.binary:
        return "binary file, not a log"
    return "no line of SGLang or vLLM in it" + (" (another engine's log?)" if reader.lines > 1 else "")


def _write(
    source: Source, reader: LogReader, sessions: list[Session], target: str, lock_timeout: float
) -> list[IngestSummary]:
    from speclog.ingest import sidecars
    from speclog.store import open_store

    notes = []
    for path in sidecars.find(source.path):
        problem = sidecars.take(sessions[-1], path)
        if problem:
            notes.append(problem)
    sessions, repeats = _without_repeats(sessions)
    if repeats:
        notes.append(repeats)
    with open_store(target, read_only=False, lock_timeout=lock_timeout) as store:
        return _append(store, source, reader, sessions, notes)


def _without_repeats(sessions: list[Session]) -> tuple[list[Session], str]:
    """Sessions that occur twice in a file (it was concatenated with itself) once, the longest copy."""
    best: dict[str, Session] = {}
    for session in sessions:
        old = best.get(session.run_id)
        if old is None or session.last_line - session.first_line > old.last_line - old.first_line:
            best[session.run_id] = session
    kept = [session for session in sessions if best[session.run_id] is session]
    left_out = len(sessions) - len(kept)
    return kept, f"{left_out} sessions are copies of others in this file: counted once" if left_out else ""


def _append(
    store: Store, source: Source, reader: LogReader, sessions: list[Session], notes: list[str]
) -> list[IngestSummary]:
    """Append the sessions the store does not have yet, in one transaction."""
    import polars as pl

    from speclog.ingest.build import Ids, frames
    from speclog.ingest.sidecars import stem

    summaries, parts = [], []
    name = "stdin" if source.path == "-" else stem(source.path)
    for session in sessions:
        label = name if session.index == 0 or len(sessions) == 1 else f"{name}#{session.index + 1}"
        known = _is_known(store, session)
        if not known:
            ids = Ids(uuid.uuid4().hex, session.run_id, label, source.path)
            parts.append(frames(session, ids, reader.bytes))
        summaries.append(_summary(source.path, session, label, "unchanged" if known else "ingested", notes))
    tables = dict.fromkeys(table for part in parts for table in part)
    order = sorted(tables, key=lambda table: table == "raw_ingest")
    store.append(
        {t: pl.concat([p[t] for p in parts if t in p], how="diagonal_relaxed") for t in order}
        if parts
        else {}
    )
    return summaries


def _is_known(store: Store, session: Session) -> bool:
    from speclog.ingest.build import PARSER_VERSION

    sql = "SELECT 1 FROM current_ingest WHERE run_id = ? AND sha256 = ? AND parser_version = ?"
    return bool(store.rows(sql, [session.run_id, session.digest.hexdigest(), PARSER_VERSION]))


def _summary(path: str, session: Session, label: str, status: str, notes: Iterable[str]) -> IngestSummary:
    from speclog.ingest.build import end_reason, version_range

    low, high = version_range(session)
    return IngestSummary(
        path=path,
        status=status,
        run=label,
        run_id=session.run_id,
        engine=session.engine,
        version=session.version or (f"{low}..{high or ''}" if low else None),
        served=session.n_windows > 0,
        end_reason=end_reason(session),
        windows=session.n_windows,
        prefills=session.n_prefills,
        profile_windows=len(session.profile_rows),
        events=len(session.events),
        bench_results=len(session.bench_rows),
        lines=session.last_line - session.first_line + 1,
        unknown_lines=session.unknown,
        first_line=session.first_line,
        last_line=session.last_line,
        detail="" if session.n_windows else "never served",
        notes=list(notes),
        unknown_samples=session.unknown_samples,
    )
