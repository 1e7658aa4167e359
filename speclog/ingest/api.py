"""`ingest_paths`: logs into the store, one transaction a log, one summary a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from speclog.ingest.sources import Source, expand
from speclog.ingest.summary import IngestSummary
from speclog.ingest.write import LogIngest, Progress

__all__ = ["IngestSummary", "Progress", "ingest_paths"]


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
        for summary in _ingest(source, store_target, lock_timeout, progress):
            if on_summary is not None:
                on_summary(summary)
            summaries.append(summary)
    return summaries


def _ingest(
    source: Source, target: str, lock_timeout: float, progress: Progress | None
) -> list[IngestSummary]:
    if source.problem:
        return [IngestSummary(source.path, "unusable", detail=source.problem)]
    try:
        return LogIngest(source.path, target, lock_timeout, progress).run()
    except EOFError:
        return [IngestSummary(source.path, "unusable", detail="compressed file that ends too early")]
    except OSError as error:
        return [IngestSummary(source.path, "unusable", detail=error.strerror or str(error))]
