"""Events as rows of ``raw_event``; columns are made at once, as there may be very many."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from speclog.formats.texts import NO_TIME
from speclog.ingest.rows import MAX_MESSAGE
from speclog.ingest.schema import table_schema

if TYPE_CHECKING:
    from speclog.formats.texts import Said
    from speclog.ingest.rows import Buffer, Event, EventRun
    from speclog.ingest.session import Session

_COLUMNS = ("source_index", "line_no", "line_end", "ts", "rank", "kind", "fields")


def event_frame(sessions: Sequence[Session], buffer: Buffer) -> pl.DataFrame:
    """The events of a buffer, single ones and runs, in order of their lines; no columns if there are none."""
    parts = []
    if buffer.events:
        parts.append(_singles(sessions, buffer.events))
    if buffer.runs:
        parts.append(_runs(sessions, buffer.runs))
    if len(parts) < 2:
        return parts[0] if parts else pl.DataFrame()
    return pl.concat(parts).sort("line_no", maintain_order=True)


def in_utc(session: Session, ts: datetime | None) -> datetime | None:
    """A log time in UTC when the offset is known, as printed otherwise; None beyond the years 1 to 9999."""
    if ts is None or session.utc_offset_s is None:
        return ts
    try:
        return ts - timedelta(seconds=session.utc_offset_s)
    except OverflowError:
        return None


def _singles(sessions: Sequence[Session], events: Sequence[Event]) -> pl.DataFrame:
    owners = {index: sessions[index] for index in {event.session for event in events}}
    ids = {index: (session.ingest_id, session.run_id) for index, session in owners.items()}
    columns: dict[str, list[Any]] = {
        "ingest_id": [ids[event.session][0] for event in events],
        "run_id": [ids[event.session][1] for event in events],
        "message": [event.message.rstrip() for event in events],
    }
    rows = zip(*map(attrgetter(*_COLUMNS), events), strict=True)
    columns |= dict(zip(_COLUMNS, map(list, rows), strict=True))
    if any(session.utc_offset_s for session in owners.values()):
        columns["ts"] = [in_utc(owners[event.session], event.ts) for event in events]
    schema = table_schema("event")
    return pl.DataFrame({name: pl.Series(columns[name], dtype=schema[name]) for name in schema})


def _runs(sessions: Sequence[Session], runs: Sequence[EventRun]) -> pl.DataFrame:
    """Events of runs: what different lines say is made once and taken from there."""
    said: dict[int, tuple[int, Sequence[Said]]] = {}  # of each chunk: where it begins among all that is said
    every: list[Said] = []
    for run in runs:
        if id(run.said) not in said:
            said[id(run.said)] = (len(every), run.said)
            every += run.said
    codes = np.concatenate([run.codes + said[id(run.said)][0] for run in runs])
    used, places = np.unique(codes, return_inverse=True)
    texts = _texts([every[code] for code in used.tolist()])[places]
    owners = [sessions[run.session] for run in runs]
    heads = pl.DataFrame(
        {
            "ingest_id": [session.ingest_id for session in owners],
            "run_id": [session.run_id for session in owners],
            "source_index": pl.Series([run.source_index for run in runs], dtype=pl.Int32),
        }
    )
    counts = [len(run.lines) for run in runs]
    offsets = np.repeat([(session.utc_offset_s or 0) * 1_000_000 for session in owners], counts)
    micros = np.concatenate([run.micros for run in runs])
    micros -= np.where(micros == NO_TIME, 0, offsets)
    lines = np.concatenate([run.lines for run in runs])
    times = pl.DataFrame({"line_no": lines, "line_end": lines, "ts": micros.view("M8[us]")})
    rows = pl.concat([heads[np.repeat(np.arange(len(runs)), counts)], times, texts], how="horizontal")
    return rows.select(list(table_schema("event")))


def _texts(said: Sequence[Said]) -> pl.DataFrame:
    found = [
        (s.rank or None, what.kind.name, what.message[:MAX_MESSAGE].rstrip(), what.json)
        for s in said
        if (what := s.text.found) is not None
    ]
    return pl.DataFrame(
        found, schema=dict.fromkeys(("rank", "kind", "message", "fields"), pl.String()), orient="row"
    )
