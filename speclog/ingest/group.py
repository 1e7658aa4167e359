"""Logs of the nodes of one server: one run, each file a ``source_index``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from speclog.ingest.sources import open_bytes, read_once
from speclog.ingest.summary import IngestSummary, summarise, why_nothing

if TYPE_CHECKING:
    from speclog.ingest.reader import LogReader
    from speclog.ingest.session import Session
    from speclog.ingest.write import Progress

_HEAD = 1 << 18
_MANIFEST = b"SPECLOG_MANIFEST v=1 "


def manifest_node(path: str) -> tuple[str, int] | None:
    """(session id, node) of the manifest near the top of a log; None without one that names its node."""
    if read_once(path):
        return None
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD)
    except (OSError, EOFError):
        return None  # whoever reads the log says what is wrong with it
    at = head.find(_MANIFEST)
    if at < 0 or head.find(_MANIFEST, at + 1) > 0:
        return None
    try:
        data = json.loads(head[at + len(_MANIFEST) :].split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None
    session, node = (data.get("session"), data.get("node_rank")) if isinstance(data, dict) else (None, None)
    return (str(session), node) if session and isinstance(node, int) else None


def ingest_group(
    paths: Sequence[str], target: str, lock_timeout: float, progress: Progress | None
) -> list[IngestSummary]:
    """Read several logs as one server: the first session of each. Raises OSError, StoreError.

    Arguments, environment and facts are the first node's, completed by the others'; of pipeline stages and
    tensor ranks that print the same batch, the first node's count.
    """
    from speclog.ingest.named import SeveralServers
    from speclog.ingest.sidecars import find, take

    try:
        readers = _read(paths, progress)
    except SeveralServers as several:
        detail = f"one of the logs has lines of several servers ({several}): ingest it without --group"
        return [IngestSummary(path, "unusable", detail=detail) for path in paths]
    found = [(path, reader, reader.finish()) for path, reader in zip(paths, readers, strict=True)]
    missing = [
        IngestSummary(path, "unusable", detail=why_nothing(reader))
        for path, reader, sessions in found
        if not sessions
    ]
    missing += [
        summarise(path, sessions[0], _name(path), sessions[0].strangers, [])
        for path, _, sessions in found
        if sessions and sessions[0].strangers
    ]
    usable = [one for one in found if one[2] and not one[2][0].strangers]
    if not usable:
        return missing
    _, _, (main, *_) = usable[0]
    for path, _, sessions in usable[1:]:
        _join(main, sessions[0], path)
    notes = [note for path, *_ in usable for sidecar in find(path) if (note := take(main, sidecar))]
    notes += [
        f"{path}: only its first of {len(sessions)} sessions was taken into the group"
        for path, _, sessions in usable
        if len(sessions) > 1
    ]
    state = _write(
        main, [(reader, sessions[0]) for _, reader, sessions in usable], usable[0][0], target, lock_timeout
    )
    return [summarise(usable[0][0], main, _name(usable[0][0]), state, notes), *missing]


def _name(path: str) -> str:
    from speclog.ingest.sidecars import stem

    return stem(path)


def _read(paths: Sequence[str], progress: Progress | None) -> list[LogReader]:
    from speclog.ingest.parallel import parsed_chunks
    from speclog.ingest.reader import LogReader
    from speclog.ingest.sources import written_at

    readers: list[LogReader] = []
    for index, path in enumerate(paths):
        kept = readers[0].kept_ranks if readers else None
        reader = LogReader(index, newest=written_at(path), kept_ranks=kept)
        with parsed_chunks(path) as chunks:
            for chunk in chunks:
                reader.add(chunk)
                if progress is not None:
                    progress(chunk.size)
        readers.append(reader)
    return readers


def _join(main: Session, other: Session, path: str) -> None:
    """Let another node's session, or that of a later piece of a rotated log, count for the first's."""
    from speclog.ingest.build import end_reason

    for name, fact in other.facts.items():
        main.facts.setdefault(name, fact)
    if end_reason(main) == "open":  # the piece of a rotated log that tells how the server ended
        main.ends, main.last_window_line = other.ends, other.last_window_line
        main.ended, main.followed = other.ended, other.followed
    main.started_at = min(filter(None, (main.started_at, other.started_at)), default=None)
    main.ended_at = max(filter(None, (main.ended_at, other.ended_at)), default=None)
    main.args = main.args or other.args
    main.size += other.size
    main.n_windows += other.n_windows
    main.n_prefills += other.n_prefills
    main.n_events += other.n_events
    main.n_profile += other.n_profile
    main.duplicates += other.duplicates
    main.unknown += other.unknown
    main.profile_mode = main.profile_mode or other.profile_mode
    main.ready_at = main.ready_at or other.ready_at
    main.set_version(other.version, other.version_source or "")
    main.layout |= other.layout
    main.digest.update(other.digest.digest())
    main.sidecars.append(path)
    other.ingest_id, other.identity, other.manifest = main.ingest_id, main.identity, main.manifest
    other.first_decode = main.first_decode


def _write(
    main: Session, parts: Sequence[tuple[LogReader, Session]], source: str, target: str, lock_timeout: float
) -> str | None:
    """Append all rows in one transaction unless the store has them; what the store knew."""
    from speclog.ingest.build import PARSER_VERSION, Origin, row_frames, session_frames
    from speclog.ingest.write import write_new
    from speclog.store import open_store

    with open_store(target, read_only=False, lock_timeout=lock_timeout) as store:
        state = store.known(main.run_id, main.digest.hexdigest(), PARSER_VERSION)
        if state is not None:
            return state
        origin = Origin(source, {main.index: _name(source)})
        rows = (
            row_frames(reader.buffer.take(drop=_others(reader, session)), reader.sessions)
            for reader, session in parts
        )
        return write_new(store, rows, [main], lambda _: session_frames([main], origin)).get(main.index)


def _others(reader: LogReader, session: Session) -> list[int]:
    return [s.index for s in reader.sessions if s is not session]
