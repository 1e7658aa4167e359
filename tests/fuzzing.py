"""Feed hostile logs to ingest and look at what the store makes of them."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mutants import mutant

import speclog.store
from speclog.errors import SpeclogError
from speclog.ingest.api import ingest_paths
from speclog.store import open_store, schema
from speclog.store.handle import Store

LOGS_A_STORE = 2000


def fuzz(numbers: Iterable[int], folder: Path) -> tuple[int, float]:
    """Ingest these mutants; return (sessions stored, slowest CPU seconds a MB above the fixed cost).

    Raises AssertionError with the mutant's number for anything but a clean answer, and when the store is not
    consistent afterwards. One store takes `LOGS_A_STORE` logs and stays open: its opening is not under test.
    """
    todo, stored, slowest = list(numbers), 0, 0.0
    for start in range(0, len(todo), LOGS_A_STORE):
        target = str(folder / f"fuzz-{start}.duckdb")
        with open_store(target, read_only=False) as store:
            with _kept_open(store):
                for number in todo[start : start + LOGS_A_STORE]:
                    count, seconds = _one(number, target, folder)
                    stored += count
                    slowest = max(slowest, seconds)
            check(store)
        Path(target).unlink()
    return stored, slowest


@contextmanager
def _kept_open(store: Store) -> Iterator[None]:
    @contextmanager
    def same(*_: object, **__: object) -> Iterator[Store]:
        yield store

    real, speclog.store.open_store = speclog.store.open_store, same
    try:
        yield
    finally:
        speclog.store.open_store = real


def _one(number: int, target: str, folder: Path) -> tuple[int, float]:
    made = mutant(number)
    path = folder / f"m{number}{made.suffix}"
    path.write_bytes(made.log)
    beside = folder / f"m{number}{made.sidecar[0]}" if made.sidecar else None
    if beside is not None and made.sidecar is not None:
        beside.write_bytes(made.sidecar[1])
    began = time.process_time()
    try:
        summaries = ingest_paths([path], store_target=target)
    except SpeclogError as error:
        raise AssertionError(f"mutant {number}: refused as a whole: {error}") from error
    except BaseException as error:
        raise AssertionError(f"mutant {number}: {type(error).__name__}: {error}") from error
    seconds = time.process_time() - began
    size = len(made.log) + (len(made.sidecar[1]) if made.sidecar else 0)
    assert seconds < 1 + size / 1e6, f"mutant {number}: {seconds:.1f} s for {size} bytes"
    path.unlink()
    if beside is not None:
        beside.unlink()
    stored = [summary for summary in summaries if summary.status == "ingested"]
    for summary in summaries:
        assert summary.status in ("ingested", "unchanged", "unusable"), number
        assert summary.detail or summary.status != "unusable", f"mutant {number}: no reason given"
    return len(stored), max(seconds - 0.2, 0) / max(size / 1e6, 0.01)


def check(store: Store) -> None:
    """Every fact belongs to an ingest, every view answers, and the memory has stayed small."""
    tables = [item.name for item in schema.definitions() if item.part == "tables"]
    have = {
        row[0]
        for row in store.rows("SELECT table_name FROM duckdb_columns() WHERE column_name = 'ingest_id'")
    }
    for table in tables:
        if table in have:
            sql = f"SELECT count(*) FROM {table} WHERE ingest_id NOT IN (SELECT ingest_id FROM raw_ingest)"
            assert store.rows(sql) == [(0,)], table
    assert store.rows("SELECT count(*) - count(DISTINCT run_id) FROM run") == [(0,)]
    for item in schema.definitions():
        if item.part == "views" and item.name not in PAIRS:
            store.rows(f"SELECT count(*) FROM (SELECT hash(t) AS h FROM {item.name} AS t) WHERE h = 0")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    assert peak < 2000, f"{peak:.0f} MB"


PAIRS = frozenset({"level_pair", "break_even", "comparison", "comparison_factor"})
"""Views of every pair of runs: thousands of hostile runs make millions. They are asked for some pairs."""
