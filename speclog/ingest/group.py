"""Logs of the nodes of one server: one run, each file a ``source_index``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from speclog.formats.values import json_value
from speclog.ingest.sources import open_bytes, read_once
from speclog.ingest.summary import IngestSummary, nothing_in, summarise

if TYPE_CHECKING:
    from speclog.ingest.reader import LogReader
    from speclog.ingest.servers import Part, Server, Servers
    from speclog.ingest.session import Session
    from speclog.ingest.stitch import KeptRanks
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
        data = json_value(head[at + len(_MANIFEST) :].split(b"\n", 1)[0].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    session, node = (data.get("session"), data.get("node_rank")) if isinstance(data, dict) else (None, None)
    return (str(session), node) if session and isinstance(node, int) else None


def ingest_group(
    paths: Sequence[str], target: str, lock_timeout: float, progress: Progress | None
) -> list[IngestSummary]:
    """Read several logs as one server: its nodes', or pieces of a rotated log. Raises OSError, StoreError.

    Arguments, environment and facts are the first node's, completed by the others'; of pipeline stages and
    tensor ranks that print the same batch, the first node's count. A server that begins in a later piece of
    one rotated log is a run of its own; of nodes' logs only the first server is taken.
    """
    from speclog.ingest.named import SeveralServers
    from speclog.ingest.servers import Servers

    servers = Servers(partial(_read, {path: index for index, path in enumerate(paths)}, progress))
    try:
        for path in paths:
            servers.take(path)
    except SeveralServers as several:
        detail = f"one of the logs has lines of several servers ({several}): ingest it without --group"
        return [IngestSummary(path, "unusable", detail=detail) for path in paths]
    missing = [nothing_in(path, reader) for path, reader in servers.empty]
    missing += [
        summarise(path, session, _name(path), session.strangers, []) for path, session in servers.mixed
    ]
    taken = servers.found if servers.one_log else servers.found[:1]
    notes, left_out = _left_out(servers, taken)
    return [*_ingest_servers(taken, notes, target, lock_timeout), *left_out, *missing]


def _left_out(servers: Servers, taken: Sequence[Server]) -> tuple[list[str], list[IngestSummary]]:
    """What is said of logs that hold other servers, too; and of those that hold nothing else."""
    used = {part.path for server in taken for part in server.parts}
    why = dict(servers.foreign)
    notes, alone = [], []
    for server in servers.found[len(taken) :]:
        for part in server.parts:
            if part.path in used:
                start = part.session.first_line
                notes.append(f"{part.path}: from line {start} on it is another server's: not in the group")
            else:
                reason = why.get(part.path, "it goes on with lines of one")
                detail = f"another server's ({reason}): not in the group; ingest it by itself"
                alone.append(IngestSummary(part.path, "unusable", detail=detail))
    return notes, alone


def _ingest_servers(
    taken: Sequence[Server], notes: list[str], target: str, lock_timeout: float
) -> list[IngestSummary]:
    """Join the parts of each server and write it; what lies beside a log belongs to its last session."""
    from speclog.ingest.sidecars import find, take

    summaries = []
    names: Counter[str] = Counter()
    for before in taken[:-1]:
        before.parts[-1].session.followed = True
    for server in taken:
        first = server.parts[0]
        names[first.path] += 1
        number = names[first.path]
        name = _name(first.path) if number == 1 else f"{_name(first.path)}#{number}"
        _join_all(server)
        for path in dict.fromkeys(part.path for part in server.parts if _is_last(part)):
            notes += [note for sidecar in find(path) if (note := take(first.session, sidecar))]
        state = _write(server, name, target, lock_timeout)
        summaries.append(summarise(first.path, first.session, name, state, notes))
        notes = []
    return summaries


def _is_last(part: Part) -> bool:
    return part.session is part.reader.sessions[-1]


def _name(path: str) -> str:
    from speclog.ingest.sidecars import stem

    return stem(path)


def _read(
    index: dict[str, int], progress: Progress | None, path: str, kept: KeptRanks, before: Part | None
) -> LogReader:
    from speclog.ingest.parallel import parsed_chunks
    from speclog.ingest.reader import LogReader
    from speclog.ingest.sources import written_at

    reader = LogReader(index[path], newest=written_at(path), kept_ranks=kept)
    if before is not None:
        reader.go_on(before.reader, before.session)
    with parsed_chunks(path) as chunks:
        for chunk in chunks:
            reader.add(chunk)
            if progress is not None:
                progress(chunk.size)
    return reader


def _join_all(server: Server) -> None:
    """Let the first part know what the others say, and the others what holds for all of them."""
    main = server.parts[0].session
    for part in server.parts[1:]:
        _join_end(main, part)
        if part.goes_on and not main.args and part.session.args:
            main.identity = part.session.identity
        _join(main, part.session, part.path)
    for part in server.parts[1:]:
        other = part.session
        other.args = other.args or main.args
        other.version, other.version_source = main.version, main.version_source
        other.layout = main.layout
        if other.utc_offset_s is None:
            other.utc_offset_s = main.utc_offset_s


def _join_end(main: Session, part: Part) -> None:
    """How the server ended: as its last piece tells, or as any of its nodes does."""
    from speclog.ingest.build import end_reason

    other = part.session
    if not part.goes_on and end_reason(main) != "open":
        return
    if not part.goes_on or other.n_windows:
        main.ends, main.last_window_line = other.ends, other.last_window_line
    else:  # its lines come after all of the main's
        main.ends += [(main.last_window_line + 1, reason) for _, reason in other.ends]
    main.ended, main.followed = other.ended, other.followed


def _join(main: Session, other: Session, path: str) -> None:
    """Let another node's session, or that of a later piece of a rotated log, count for the first's."""
    for name, fact in other.facts.items():
        main.facts.setdefault(name, fact)
    main.started_at = min(filter(None, (main.started_at, other.started_at)), default=None)
    main.ended_at = max(filter(None, (main.ended_at, other.ended_at)), default=None)
    main.args = main.args or other.args
    main.size += other.size
    main.n_windows += other.n_windows
    main.n_prefills += other.n_prefills
    if other.first_prefill_line is not None:
        main.add_prompts(other.new_token, other.cached_token, other.first_prefill_line)
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


def _write(server: Server, name: str, target: str, lock_timeout: float) -> str | None:
    """Append all rows in one transaction unless the store has them; what the store knew."""
    from speclog.ingest.build import PARSER_VERSION, Origin, row_frames, session_frames
    from speclog.ingest.write import write_new
    from speclog.store import open_store

    main = server.parts[0].session
    with open_store(target, read_only=False, lock_timeout=lock_timeout) as store:
        state = store.known(main.run_id, main.digest.hexdigest(), PARSER_VERSION)
        if state is not None:
            return state
        origin = Origin(server.parts[0].path, {main.index: name})
        rows = (
            row_frames(part.reader.buffer.take(hold=_others(part)), part.reader.sessions)
            for part in server.parts
        )
        return write_new(store, rows, [main], lambda _: session_frames([main], origin)).get(main.index)


def _others(part: Part) -> list[int]:
    return [session.index for session in part.reader.sessions if session is not part.session]
