"""Lines in order to sessions: where one server's life ends and the next begins, and what each line adds."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

import numpy as np

from speclog.formats.engine import Record, Understood
from speclog.formats.server_args import parse_server_args
from speclog.formats.spec import Kind, early_kinds
from speclog.formats.texts import Lines, Said, Text
from speclog.formats.values import whole_number
from speclog.ingest import manifest
from speclog.ingest.rows import MAX_MESSAGE, Buffer, Event
from speclog.ingest.runs import SHORTEST, Runs, tell
from speclog.ingest.session import Session

_MAX_PIECES = 40
_ARGUMENTS = frozenset({"server_args", "python"})
_MAX_GAP = 3  # lines of other processes that may stand between two lines of one traceback

BatchesBetween = Callable[[int, int], int]
"""How many batch lines of the chunk at hand stand from one line up to (not including) another."""


class Splitter:
    """Takes every kept line that is not a batch line, in order; holds the sessions."""

    def __init__(self, buffer: Buffer, source_index: int = 0, newest: datetime | None = None) -> None:
        self.sessions = [Session(0, 1)]
        self.buffer = buffer
        self.source_index = source_index
        self._pieces: list[str] = []  # a server_args line that was cut
        self._pieces_line = 0
        self._unread: Session | None = None  # in which arguments were met that cannot be read
        self._synthetic = False
        self._early: list[tuple[Event, Said, Understood]] = []  # of this server, or of one that follows
        self._newest = newest or datetime.now()  # dates without a year are not after this

    @property
    def current(self) -> Session:
        """The session that the next line belongs to."""
        return self.sessions[-1]

    def take_all(self, first: int, lines: Lines, batches: BatchesBetween) -> None:
        """Take lines in order, their numbers counted from ``first``."""
        if first == 1:
            self._see_first(lines)
        runs = Runs(lines, first)
        numbers, times, codes = lines.numbers.tolist(), lines.times(), lines.codes.tolist()
        at = 0
        for stop in [*np.flatnonzero(~runs.plain).tolist(), lines.height]:
            try_run = stop - at >= SHORTEST
            while at < min(stop + 1, lines.height):
                if try_run and stop - at >= SHORTEST and self._takes_runs():
                    try_run = False  # if that did not work, it will not further down
                    events = runs.take(at, stop, self.sessions[-1], self.source_index)
                    if events is not None:
                        self.buffer.add_run(events)
                        at = stop
                        continue
                self._take(first + numbers[at], times[at], lines.said[codes[at]], batches)
                at += 1

    def _take(self, line_no: int, ts: datetime | None, said: Said, batches: BatchesBetween) -> None:
        """Take one line."""
        buffer, text = self.buffer, said.text
        if said.style == "vllm":
            ts = self._with_year(ts)
        if self._pieces and self._continue_args(line_no, said.style, text.message):
            return
        if buffer.open_event is not None:
            if self._continue_event(line_no, ts, said.style, text):
                return
            buffer.open_event = None
        if text.found is not None:
            self._record(line_no, ts, said, text.found, batches)
        elif not text.blank:
            self.sessions[-1].see_time(ts)
            self.sessions[-1].miss(text.message)

    def _takes_runs(self) -> bool:
        """Whether the next line neither goes on with one before it nor says whose lines these are."""
        session = self.sessions[-1]
        waiting = (
            self._pieces or self._early or self.buffer.open_event is not None or session.ended is not None
        )
        return not waiting and bool(session.engine and session.identity)

    def _see_first(self, lines: Lines) -> None:
        """The first line of a file says whether it is made up."""
        firsts = lines.only(lines.numbers == 0)
        if any("SYNTHETIC" in line for _, line in firsts.whole()):
            self.current.synthetic = self._synthetic = True

    def _record(
        self, line_no: int, ts: datetime | None, said: Said, found: Understood, batches: BatchesBetween
    ) -> None:
        kind = found.kind
        if kind.session_start and not self._begins_again(line_no, found, batches):
            self._maybe_start(line_no, kind, batches)
        session = self.sessions[-1]
        session.see_time(ts)
        if kind.noise:
            return
        if kind.shape == "pieces":  # the column reader left it: it was cut short
            session.miss(found.message)
            return
        if kind.engine and session.engine and kind.engine != session.engine:
            if kind.table == "decode_window":
                session.foreign_line = session.foreign_line or line_no
            elif kind.prestart and session.start_rank:
                self._event(line_no, ts, said, found)
            return
        if not kind.prestart:
            session.known_until = ts or session.known_until
            if not kind.session_start:
                self._tell_early()
        if kind.engine and not kind.joins:
            session.engine = session.engine or kind.engine
            session.identity = session.identity or said.line(ts)
        if kind.shape in _ARGUMENTS:
            self._args(line_no, said.line(ts), found)
        elif kind.table == "profile_window":
            self._profile(line_no, said.record(ts))
        elif kind.table == "decode_window":
            self._interval(line_no, said.record(ts))
        else:
            self._event(line_no, ts, said, found)
        if kind.session_end:
            session.ended = dict(found.fields[0])

    def _begins_again(self, line_no: int, found: Understood, batches: BatchesBetween) -> bool:
        """Whether arguments that cannot be read follow others that could not, and nothing between them."""
        if found.kind.shape not in _ARGUMENTS or "unreadable" not in found.fields[1]:
            return False
        now = self.sessions[-1]
        rows = now.n_windows + now.n_prefills + now.n_events + now.n_profile
        return self._unread is now and not rows and not now.args and not batches(now.first_line, line_no)

    def _maybe_start(self, line_no: int, kind: Kind, batches: BatchesBetween) -> None:
        """Begin the next session if the current one already has such a start, a later one, or batches."""
        now = self.current
        served = bool(now.n_windows or now.n_prefills or batches(now.first_line, line_no))
        again = kind.session_start <= now.start_rank or served or now.ended is not None
        if again or (now.engine and now.engine != kind.engine):
            self._begin(line_no, batches)
        self.current.start_rank = kind.session_start
        self.current.engine = kind.engine
        self._tell_early()

    def _begin(self, line_no: int, batches: BatchesBetween) -> None:
        """A new session; events a server prints before its arguments come along."""
        old = self.current
        old.followed = True
        new = Session(len(self.sessions), line_no, synthetic=self._synthetic)
        for event in reversed(self.buffer.events):
            mine = event.session == old.index and event.line_no > self.buffer.last_run_line
            if not mine or not _belongs_to_next(event, old) or batches(event.line_no, line_no):
                break
            event.session = new.index
            new.started_at = event.ts or new.started_at
            new.first_line = event.line_no
            old.n_events -= 1
            new.n_events += 1
        old.last_line = new.first_line - 1
        old.ended_at = old.known_until or old.ended_at
        self.sessions.append(new)

    def _args(self, line_no: int, text: str, found: Understood) -> None:
        fields, extra = found.fields
        if "unreadable" in extra:
            self._pieces, self._pieces_line = [text], line_no
            self._unread = self.current
            return
        self._set_args(line_no, text, cast(dict[str, str], dict(fields)))

    def _set_args(self, line_no: int, text: str, args: dict[str, str]) -> None:
        session = self.current
        if not session.flushed:
            session.identity = text
        session.args, session.args_line = args, line_no
        if "server_args={" in text:
            session.layout.add("shape.args_dict")
        elif "server_args=ServerArgs(" in text:
            session.layout.add("shape.args_call")

    def _continue_args(self, line_no: int, style: str, message: str) -> bool:
        """Join the pieces of a ``server_args`` line that a log driver cut at 16 KiB."""
        if style or len(self._pieces) >= _MAX_PIECES:
            self.current.miss("server_args line that cannot be read: " + self._pieces[0][:120])
            self._pieces = []
            return False
        self._pieces.append(message)
        text = "".join(self._pieces)
        found = parse_server_args(text[max(text.find("server_args="), 0) :])
        if found is not None:
            self._set_args(self._pieces_line, text, found)
            self._pieces = []
        return True

    def _interval(self, line_no: int, record: Record) -> None:
        """A window that an engine reports for an interval of time, in one line or two."""
        session, rows = self.current, self.buffer.intervals
        if record.kind.joins:
            if rows and rows[-1]["session"] == session.index and line_no - rows[-1]["line_no"] <= _MAX_GAP:
                rows[-1] |= record.fields | {"joined": True}
            return
        row: dict[str, Any] = {
            "session": session.index,
            "source_index": self.source_index,
            "line_no": line_no,
        }
        row |= record.fields
        row["ts"] = record.prefix.ts
        row["prefills_since"] = int(bool(record.fields.get("prompt_tok_s")))
        rows.append(row)
        session.add_batches("decode_window", 1, record.prefix.ts, record.prefix.ts, line_no)

    def _with_year(self, ts: datetime | None) -> datetime | None:
        """A time printed without its year, in the last year that does not put it after the log's end."""
        for year in (self._newest.year, self._newest.year - 1):
            try:
                found = ts.replace(year=year) if ts else None
            except ValueError:  # 29 February
                continue
            if found is None or found <= self._newest + timedelta(days=1):
                return found
        return None

    def _profile(self, line_no: int, record: Record) -> None:
        session = self.current
        self.buffer.profile.append(_profile_row(line_no, record, self.source_index, session.index))
        session.n_profile += 1
        mode = record.fields.get("mode")
        if mode and (session.profile_mode is None or session.profile_mode[0] is None):
            session.profile_mode = (str(mode), line_no)
        manifest.offset_from_profile(session, record)

    def _event(self, line_no: int, ts: datetime | None, said: Said, found: Understood) -> None:
        session, kind = self.sessions[-1], found.kind
        event = Event(
            session.index, self.source_index, line_no, line_no, ts, said.rank or None, kind.name,
            found.message[:MAX_MESSAGE], found.json,
        )  # fmt: skip
        self.buffer.events.append(event)
        session.n_events += 1
        if kind.multiline:
            self.buffer.open_event = event
        if kind.prestart and session.start_rank:
            self._early.append((event, said, found))
        else:
            tell(session, line_no, lambda: ts, said, found)

    @property
    def undecided(self) -> bool:
        """Whether the newest lines may be the first of a server that follows."""
        served = max(self.current.last_window_line, self.current.first_batch_line)
        return bool(self._early) and self._early[-1][0].line_no > served

    def _tell_early(self) -> None:
        """Let sessions know what lines said that they, or the server after them, may have printed."""
        for early in self._early:
            self._tell_one(*early)
        self._early.clear()

    def _tell_one(self, event: Event, said: Said, found: Understood) -> None:
        session = self.sessions[event.session]
        if session.engine == found.kind.engine:
            tell(session, event.line_no, lambda: event.ts, said, found)

    def settle(self) -> None:
        """At the end of what there is: a server that has served prints nothing more of its start."""
        session = self.current
        served = max(session.last_window_line, session.first_batch_line)
        for early in self._early:
            if not served or early[0].line_no < served:
                self._tell_one(*early)

    def _continue_event(self, line_no: int, ts: datetime | None, style: str, text: Text) -> bool:
        """Keep the lines of a traceback together: they carry no prefix, or each of them its own (vLLM)."""
        event = self.buffer.open_event
        if event is None or line_no - event.line_end > _MAX_GAP or not _may_continue(event, ts, style, text):
            return False
        kind = text.found.kind if text.found is not None else None
        if kind is not None and (
            kind.session_start or kind.noise or kind.end_reason == "killed" or kind.prestart
        ):
            return False
        if len(event.message) + len(text.message) < MAX_MESSAGE:
            event.message += "\n" + text.message
        event.line_end = line_no
        return True


def _may_continue(event: Event, ts: datetime | None, style: str, text: Text) -> bool:
    """Whether a line's prefix is one that a line of an event may have."""
    return not style or (style == "vllm" and ts == event.ts and text.raw.startswith("ERROR "))


def _belongs_to_next(event: Event, old: Session) -> bool:
    """Whether an event at the end of a session was printed by the server that follows."""
    if old.ended is not None:
        return event.kind != "speclog_end"
    return event.kind in early_kinds() and event.line_no > max(old.last_window_line, old.args_line or 0)


def _profile_row(line_no: int, record: Record, source_index: int, session: int) -> dict[str, Any]:
    row: dict[str, Any] = {"line_no": line_no, "source_index": source_index, "session": session}
    row |= record.fields
    row["ts"] = record.prefix.ts
    row["graph_rounds"] = graph_rounds(str(record.fields.get("graph", "")))
    if record.extra:
        row["extra"] = json.dumps(record.extra, ensure_ascii=False)
    return row


def graph_rounds(text: str) -> int | None:
    """Rounds whose verify (or decode) ran as a graph: ``100`` or ``v100,d100,x100``."""
    for part in text.split(","):
        number = whole_number(part.removeprefix("v"))
        if number is not None:
            return number
    return None
