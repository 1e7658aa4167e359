"""Runs of plain lines: they say something about their session and cannot end it or begin one.

`speclog.ingest.splitter` takes lines one by one; a run of plain ones is taken at once, to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from speclog.formats.block import Mask, Places
from speclog.formats.spec import early_kinds
from speclog.formats.texts import NO_TIME, Lines, Said
from speclog.ingest import facts
from speclog.ingest.rows import EventRun

if TYPE_CHECKING:
    from datetime import datetime

    from speclog.formats.engine import Understood
    from speclog.ingest.session import Session

SHORTEST = 16
"""Lines of the shortest run that is worth it."""
_PIECES = frozenset({"pieces", "server_args", "python"})


def is_plain(said: Said) -> bool:
    """Whether a line that says this changes nothing but what its session knows, and is one event at most."""
    if said.style == "vllm":
        return False
    if said.text.found is None:
        return True
    kind = said.text.found.kind
    decides = kind.session_start or kind.session_end or kind.multiline or kind.joins or kind.shape in _PIECES
    return not decides and kind.table == "event" and kind.name not in early_kinds()


@dataclass
class Runs:
    """The lines of a chunk, their numbers counted from ``first``."""

    lines: Lines
    first: int
    plain: Mask = field(init=False)
    _foreign: dict[str, Mask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._of_code = _WhatItIs(self.lines.said)
        self.plain = self._of_code.plain[self.lines.codes]

    def take(self, start: int, stop: int, session: Session, source_index: int) -> EventRun | None:
        """Let a session have plain lines; their events. None, with nothing done, for another engine's."""
        codes, micros = self.lines.codes[start:stop], self.lines.micros[start:stop]
        if self._foreign_to(session.engine)[codes].any():
            return None
        of_code = self._of_code
        numbers = self.lines.numbers[start:stop] + self.first
        timed = micros[of_code.sees_time[codes] & (micros != NO_TIME)]
        if len(timed):
            first, last = timed[[0, -1]].view("M8[us]").tolist()
            session.see_time(first)
            session.see_time(last)
        events = of_code.is_event[codes]
        own = micros[events & (micros != NO_TIME)]
        if len(own):
            session.known_until = own[-1].view("M8[us]").item()
        session.n_events += int(np.count_nonzero(events))
        session.unknown += int(np.count_nonzero(of_code.unknown[codes]))
        places = np.flatnonzero(of_code.matters[codes])
        self._tell(session, codes[places].tolist(), numbers[places].tolist(), micros[places])
        return EventRun(
            session.index, source_index, numbers[events], micros[events], codes[events], self.lines.said
        )

    def _tell(self, session: Session, codes: Sequence[int], numbers: Sequence[int], micros: Places) -> None:
        """What single lines say about their session; most say what another one has said."""
        told: set[int] = set()
        for place, (code, line_no) in enumerate(zip(codes, numbers, strict=True)):
            if code in told:
                continue
            said = self.lines.said[code]
            if said.text.found is None:
                session.sample(said.text.message)
                told.add(code)
            elif not tell(session, line_no, micros[place].view("M8[us]").item, said, said.text.found):
                told.add(code)

    def _foreign_to(self, engine: str) -> Mask:
        """Which codes stand for lines of another engine."""
        if engine not in self._foreign:
            others = (bool(e) and e != engine for e in self._of_code.engines)
            self._foreign[engine] = np.fromiter(others, np.bool_, len(self.lines.said))
        return self._foreign[engine]


class _WhatItIs:
    """What lines are, by their code."""

    def __init__(self, said: Sequence[Said]) -> None:
        def mask(test: Callable[[Said], bool]) -> Mask:
            return np.fromiter(map(test, said), np.bool_, len(said))

        self.plain = mask(is_plain)
        self.engines = [s.text.found.kind.engine if s.text.found is not None else "" for s in said]
        self.unknown = mask(lambda s: s.text.found is None and not s.text.blank)
        self.sees_time = self.unknown | mask(lambda s: s.text.found is not None)
        self.is_event = mask(lambda s: s.text.found is not None and not s.text.found.kind.noise)
        self.matters = mask(_matters)


def _matters(said: Said) -> bool:
    found = said.text.found
    if found is None:
        return not said.text.blank
    kind = found.kind
    return not kind.noise and bool(kind.end_reason or kind.ready or facts.told(found) is not None)


def tell(
    session: Session, line_no: int, when: Callable[[], datetime | None], said: Said, found: Understood
) -> bool:
    """Let a session know what a line of an event says; whether the same line would say more further down."""
    kind = found.kind
    if kind.end_reason:
        session.may_end(line_no, kind.end_reason)
    told = facts.told(found)
    if told is not None:
        facts.take(session, line_no, told)
        if told.rule is not None:
            told.rule(session, line_no, said.record(when()))
    if kind.ready:
        session.ready_at = session.ready_at or when()
    return bool(kind.end_reason or kind.ready or (told is not None and told.rule is not None))
