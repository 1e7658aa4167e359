"""What an ingest says about each session, and about each input that gave none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from speclog.ingest.reader import LogReader
    from speclog.ingest.session import Session


@dataclass
class IngestSummary:
    """What one session (or one unusable input) gave.

    ``status``: 'ingested', 'unchanged' (the store has it, or more of it), 'removed' (it has it, someone
    removed the run) or 'unusable'; ``detail`` says why or what is odd.
    """

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


_STATUS = {None: "ingested", "removed": "removed"}


def summarise(
    path: str, session: Session, name: str, state: str | None, notes: Iterable[str]
) -> IngestSummary:
    """The summary of a session.

    ``state`` is what the store knew of it: None, 'complete', 'removed', or in words why it was not taken.
    """
    from speclog.ingest.build import end_reason, version_range

    low, high = version_range(session)
    span = low if low == high else f"{low}..{high or ''}"
    detail = "" if session.n_windows else "never served"
    if session.bench_rows and session.start_rank == 0 and not session.n_windows:
        detail = "client results without a server log"
    if state == "removed":
        detail = f"the run was removed; speclog runs restore {session.run_id} brings it back"
    elif state not in {None, "complete"}:
        detail = str(state)
    return IngestSummary(
        path=path,
        status="unusable" if session.strangers else _STATUS.get(state, "unchanged"),
        run=name,
        run_id=session.run_id,
        engine=session.engine,
        version=session.version or span,
        served=session.n_windows > 0,
        end_reason=end_reason(session),
        windows=session.n_windows,
        prefills=session.n_prefills,
        profile_windows=session.n_profile,
        events=session.n_events,
        bench_results=len(session.bench_rows),
        lines=session.lines,
        unknown_lines=session.unknown,
        first_line=session.first_line,
        last_line=session.last_line,
        detail=detail,
        notes=list(notes),
        unknown_samples=session.unknown_samples,
    )


def nothing_in(path: str, reader: LogReader) -> IngestSummary:
    """Of a file that gave no session: that it cannot be used, and why."""
    return IngestSummary(path, "unusable", detail=_why_nothing(reader))


def _why_nothing(reader: LogReader) -> str:
    if reader.bytes == 0:
        return "empty file"
    if reader.binary:
        return "binary file, not a log"
    return "no line of SGLang or vLLM in it" + (" (another engine's log?)" if reader.lines > 1 else "")
