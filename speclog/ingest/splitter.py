"""Lines in order to sessions: where one server's life ends and the next begins, and what each line adds."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from speclog.formats.engine import Record, recognise, take_fields
from speclog.formats.prefix import Prefix, split_prefix
from speclog.formats.server_args import parse_server_args
from speclog.formats.spec import Kind
from speclog.ingest import facts, manifest
from speclog.ingest.session import Mark, Session

_MAX_MESSAGE = 65536
_MAX_PIECES = 40
_MAX_GAP = 3  # lines of other processes that may stand between two lines of one traceback


class Splitter:
    """Takes every kept line that is not a batch line, in order; holds the sessions."""

    def __init__(self, source_index: int = 0) -> None:
        self.sessions = [Session(0, 1)]
        self.source_index = source_index
        self._open: dict[str, Any] | None = None  # a multi-line event that may go on
        self._pieces: list[str] = []  # a server_args line that was cut
        self._pieces_line = 0
        self._synthetic = False

    @property
    def current(self) -> Session:
        """The session that the next line belongs to."""
        return self.sessions[-1]

    def at(self, line_no: int) -> Session:
        """The session a line belongs to."""
        starts = [session.first_line for session in self.sessions]
        return self.sessions[max(0, bisect_right(starts, line_no) - 1)]

    def take(self, line_no: int, text: str, *, batches_before: int) -> None:
        """Take one line; ``batches_before``: batch lines of the current session above it."""
        if line_no == 1 and "SYNTHETIC" in text:
            self.current.synthetic = self._synthetic = True
        prefix, message = split_prefix(text)
        if self._pieces and self._continue_args(line_no, prefix, message):
            return
        if self._open is not None and self._continue_event(line_no, prefix, message):
            return
        self._open = None
        if not message.strip():
            return
        kind = recognise(message)
        if kind is None:
            self.current.see_time(prefix.ts)
            self.current.miss(message)
            return
        self._record(line_no, text, kind, prefix, message, batches_before)

    def _record(
        self, line_no: int, text: str, kind: Kind, prefix: Prefix, message: str, batches_before: int
    ) -> None:
        if kind.session_start:
            self._maybe_start(line_no, kind, batches_before)
        session = self.current
        session.see_time(prefix.ts)
        if kind.noise:
            return
        session.engine = session.engine or kind.engine
        session.identity = session.identity or text
        values, extra = take_fields(kind, message)
        record = Record(kind, prefix, message, values, extra)
        if kind.shape == "server_args":
            self._args(line_no, text, record)
        elif kind.table == "profile_window":
            session.profile_rows.append(_profile_row(line_no, record, self.source_index))
            manifest.offset_from_profile(session, record)
        else:
            self._event(line_no, record)
        if kind.session_end:
            session.ended = True

    def _maybe_start(self, line_no: int, kind: Kind, batches_before: int) -> None:
        """Begin the next session if the current one already has such a start, a later one, or batches."""
        now = self.current
        again = kind.session_start <= now.start_rank or batches_before > 0 or now.ended
        if again or (now.engine and now.engine != kind.engine):
            self._begin(line_no)
        self.current.start_rank = kind.session_start
        self.current.engine = kind.engine

    def _begin(self, line_no: int) -> None:
        old = self.current
        old.followed = True
        new = Session(len(self.sessions), line_no, synthetic=self._synthetic)
        moved = _prestart_events(old) if not old.ended else _after_end(old)
        new.events = moved
        old.events = [event for event in old.events if event not in moved]
        new.first_line = min([line_no, *(event["line_no"] for event in moved)])
        self.sessions.append(new)

    def _args(self, line_no: int, text: str, record: Record) -> None:
        if "unreadable" in record.extra:
            self._pieces, self._pieces_line = [text], line_no
            return
        session = self.current
        session.identity = text
        session.args = {name: str(value) for name, value in record.fields.items()}
        session.args_line = line_no
        if record.message.startswith("server_args={"):
            session.layout.add("shape.args_dict")

    def _continue_args(self, line_no: int, prefix: Prefix, message: str) -> bool:
        """Join the pieces of a ``server_args`` line that a log driver cut at 16 KiB."""
        if prefix.style or len(self._pieces) >= _MAX_PIECES:
            self.current.miss("server_args line that cannot be read: " + self._pieces[0][:120])
            self._pieces = []
            return False
        self._pieces.append(message)
        text = "".join(self._pieces)
        found = parse_server_args(text[text.index("server_args=") :])
        if found is not None:
            session = self.current
            session.identity, session.args, session.args_line = text, found, self._pieces_line
            if "server_args={" in text:
                session.layout.add("shape.args_dict")
            self._pieces = []
        return True

    def _event(self, line_no: int, record: Record) -> None:
        session = self.current
        event: dict[str, Any] = {
            "source_index": self.source_index,
            "line_no": line_no,
            "line_end": line_no,
            "ts": record.prefix.ts,
            "rank": record.prefix.rank or None,
            "kind": record.kind.name,
            "message": record.message[:_MAX_MESSAGE],
            "fields": record.fields,
        }
        session.events.append(event)
        if record.kind.multiline:
            self._open = event
        facts.from_record(session, line_no, record)
        if record.kind.name == "speclog_manifest":
            manifest.take(session, record.fields, line_no)
        elif record.kind.name == "speclog_workload":
            session.marks.append(_mark(line_no, record))
        elif record.kind.name == "ready":
            session.ready_at = session.ready_at or record.prefix.ts

    def _continue_event(self, line_no: int, prefix: Prefix, message: str) -> bool:
        """Keep the lines of a traceback together: they carry no prefix."""
        event = self._open
        if event is None or prefix.style or line_no - event["line_end"] > _MAX_GAP:
            return False
        kind = recognise(message)
        if kind is not None and (kind.session_start or kind.noise or kind.end_reason == "killed"):
            return False
        if len(event["message"]) + len(message) < _MAX_MESSAGE:
            event["message"] += "\n" + message
        event["line_end"] = line_no
        return True


def _prestart_events(old: Session) -> list[dict[str, Any]]:
    """Trailing events that a server prints before its arguments: they belong to the session that follows."""
    from speclog.formats.spec import load_kinds

    early = {kind.name for kind in load_kinds() if kind.prestart}
    moved: list[dict[str, Any]] = []
    for event in reversed(old.events):
        if event["kind"] not in early or event["line_no"] <= max(old.last_window_line, old.args_line or 0):
            break
        moved.insert(0, event)
    return moved


def _after_end(old: Session) -> list[dict[str, Any]]:
    """Events below the line that ended the session."""
    end = max((e["line_no"] for e in old.events if e["kind"] == "speclog_end"), default=None)
    return [event for event in old.events if end is not None and event["line_no"] > end]


def _mark(line_no: int, record: Record) -> Mark:
    begins = record.fields.get("event") == "begin"
    step = record.fields.get("step")
    return Mark(
        line_no,
        str(step) if begins and step is not None else None,
        record.fields.get("kind") == "warmup" if begins else None,
    )


def _profile_row(line_no: int, record: Record, source_index: int) -> dict[str, Any]:
    import json

    row: dict[str, Any] = {"line_no": line_no, "source_index": source_index, "ts": record.prefix.ts}
    row |= record.fields
    row["graph_rounds"] = graph_rounds(str(record.fields.get("graph", "")))
    if record.extra:
        row["extra"] = json.dumps(record.extra, ensure_ascii=False)
    return row


def graph_rounds(text: str) -> int | None:
    """Rounds whose verify (or decode) ran as a graph: ``100`` or ``v100,d100,x100``."""
    for part in text.split(","):
        digits = part.removeprefix("v")
        if digits.isdigit():
            return int(digits)
    return None
