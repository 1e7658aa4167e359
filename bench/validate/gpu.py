"""Sessions run by `speclog launch` on H200 GPUs, kept cut in tests/data and examples: what all three GPU sections read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.validate import ROOT, Data
from speclog.ingest.api import ingest_paths
from speclog.store import open_store

DATA = ROOT / "tests" / "data"
TP2 = ROOT / "examples" / "logs" / "h200-tp2"


@contextmanager
def visit(logs: Path) -> Iterator[Data]:
    """The logs of one visit, in a store of their own."""
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "visit.duckdb")
        ingest_paths([logs], store_target=target)
        with open_store(target) as store:
            yield Data(store, logs)


def interval(row: dict[str, object], name: str, digits: int = 3) -> str:
    """A number with its interval."""
    return f"{row[name]:.{digits}f} ({row[name + '_lo']:.{digits}f} to {row[name + '_hi']:.{digits}f})"
