"""`ingest_paths`: logs into the store, one transaction a log, one summary a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from speclog.ingest.group import ingest_group, manifest_node
from speclog.ingest.sources import Source, by_age, expand, is_rotated
from speclog.ingest.summary import IngestSummary
from speclog.ingest.waiting import Waiting
from speclog.ingest.write import LogIngest, Progress, Unwritten

__all__ = ["IngestSummary", "Progress", "ingest_paths"]


_ROTATED = "a piece of a rotated log, read by itself; --group makes one run of the pieces of one server"


def ingest_paths(
    paths: Sequence[str | Path],
    *,
    store_target: str,
    lock_timeout: float = 20.0,
    group: bool = False,
    progress: Progress | None = None,
    on_summary: Callable[[IngestSummary], None] | None = None,
) -> list[IngestSummary]:
    """Read logs (files, globs, directories, '-') into a store; one summary a session, in order.

    ``group``: the logs are those of one server's nodes and make one run; logs whose manifests name one
    session and different nodes do so in any case. An input that cannot be used gives a summary with status
    'unusable' and its reason; the others are still ingested. Each log is one transaction; the store is opened
    once for several small ones, and a log is in it when ``on_summary`` tells of it. Raises StoreError when
    the store cannot be written.
    """
    summaries: list[IngestSummary] = []

    def tell(found: Sequence[IngestSummary]) -> None:
        for summary in found:
            if is_rotated(summary.path) and not group:
                summary.notes.append(_ROTATED)
            if on_summary is not None:
                on_summary(summary)
            summaries.append(summary)

    waiting = Waiting(store_target, lock_timeout, tell)
    expanded = expand(paths)
    for sources in grouped(by_age(expanded) if group else expanded, together=group):
        waiting.before([source.path for source in sources])
        outcome = _ingest(sources, store_target, lock_timeout, progress)
        if isinstance(outcome, list):
            waiting.write()
            tell(outcome)
        else:
            waiting.add(outcome)
    waiting.write()
    return summaries


def grouped(sources: Sequence[Source], *, together: bool) -> list[list[Source]]:
    """Sources that make one run: all usable ones if ``together``, else the nodes of one manifest session."""
    groups: dict[object, list[Source]] = {}
    seen: set[tuple[str, int]] = set()
    for source in sources:
        key: object = source
        if not source.problem:
            node = manifest_node(source.path)
            if together:
                key = "together"
            elif node is not None and node not in seen:
                seen.add(node)
                key = node[0]
        groups.setdefault(key, []).append(source)
    return list(groups.values())


def _ingest(
    sources: Sequence[Source], target: str, lock_timeout: float, progress: Progress | None
) -> list[IngestSummary] | Unwritten:
    first = sources[0].path
    if sources[0].problem:
        return [IngestSummary(first, "unusable", detail=sources[0].problem)]
    try:
        if len(sources) > 1:
            return ingest_group([source.path for source in sources], target, lock_timeout, progress)
        return LogIngest(first, target, lock_timeout, progress).read()
    except EOFError:
        return [IngestSummary(first, "unusable", detail="compressed file that ends too early")]
    except OSError as error:
        path = error.filename if isinstance(error.filename, str) else first
        return [IngestSummary(path, "unusable", detail=error.strerror or str(error))]
