"""Lines of two servers where one was taken to be: such a session is no run, its numbers are of neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speclog.ingest.session import Session

_ADVICE = (
    "two servers write into this log: give each its own, or keep what names the source of a line "
    "(docker compose and kubectl --prefix do)"
)


def find(sessions: Sequence[Session]) -> None:
    """Say of each session of a file, read to its end, whether its lines are those of two servers."""
    for session in sessions:
        session.strangers = _why(session)
    for before, session in pairwise(sessions):
        session.strangers = session.strangers or _started_together(before, session)


def _why(session: Session) -> str:
    if session.foreign_line:
        return f"line {session.foreign_line} is another engine's, among those of {session.engine}: {_ADVICE}"
    if session.engine == "sglang" and 0 < session.n_accept < session.n_windows:
        return (
            f"{session.n_accept} of {session.n_windows} decode lines have an accept length, which a server "
            f"prints always or never: {_ADVICE}"
        )
    if session.engine == "sglang" and session.n_accept and _is_plain(session):
        return (
            f"decode lines have an accept length, but line {session.args_line} says that the server does not "
            f"speculate: {_ADVICE}"
        )
    first, loaded = session.first_batch_line, session.loads[0][0] if session.loads else 0
    if session.args_line and session.args_line < first < loaded:
        return f"line {first} is a batch, before the weights were loaded in line {loaded}: {_ADVICE}"
    return ""


def _is_plain(session: Session) -> bool:
    """Whether arguments of its own log say that a server does not speculate."""
    return session.args_line is not None and session.args.get("speculative_algorithm") == "null"


def _started_together(before: Session, session: Session) -> str:
    """Whether a server that has not served loaded its weights after the next one's arguments."""
    served = before.n_windows or before.n_prefills
    if not before.args or not session.args or served or before.loads or before.ends or before.ended:
        return ""
    speculative = session.args.get("speculative_algorithm", "null") != "null"
    until = session.first_batch_line or session.last_line
    counts = Counter(rank for line, rank in session.loads if line < until)
    if max(counts.values(), default=0) <= 1 + speculative:
        return ""
    return f"weights were loaded more than once after line {session.args_line}: {_ADVICE}"
