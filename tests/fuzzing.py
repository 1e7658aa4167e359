"""Feed hostile logs to ingest and look at what the store makes of them.

Cheap enough for a hundred thousand: every tenth log, and each with a sidecar, is a file and an ingest of
its own; the others are read in files that hold twenty, one after the other, as a service's log does over its
restarts. What ingest hands to the store is collected and written for some hundred logs at once. Any failure
is narrowed down to the one log that causes it; what takes too long is read again in a new process first.
"""

from __future__ import annotations

import faulthandler
import gc
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from time import process_time as cpu_clock
from typing import Any

import polars as pl
from mutants import Mutant, corpus, mutant

import speclog.store
from speclog.errors import SpeclogError
from speclog.ingest.api import ingest_paths
from speclog.ingest.summary import IngestSummary
from speclog.store import Rows, open_store, schema, summaries
from speclog.store.handle import Store

TOGETHER = 20
LOGS_A_STORE = 2000
INGESTS_A_WRITE = 50
LIMIT_MB = 1000
HANG_S = 600

OF_ONE_PAIR = ("level_pair", "comparison_factor", "impossible_pair")
OF_ALL_PAIRS = ("comparison", "comparison_group", "break_even", "factor_pair")
"""Views of pairs of runs, and those that judge all pairs whichever are asked for. No two hostile runs are
configured alike, so that thousands of them make millions of pairs: the first are asked for one."""


@dataclass
class Fuzzed:
    """What happened to so many logs."""

    logs: int = 0
    sessions: int = 0
    megabytes: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    again: int = 0

    def __add__(self, other: Fuzzed) -> Fuzzed:
        return Fuzzed(
            self.logs + other.logs, self.sessions + other.sessions, self.megabytes + other.megabytes,
            self.cpu_s + other.cpu_s, max(self.peak_mb, other.peak_mb), self.again + other.again,
        )  # fmt: skip


class TooSlow(AssertionError):
    """A file took more CPU than it may."""


class _Gathering:
    """A store that takes many ingests in one transaction; everything else is the real one's."""

    is_lake = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[dict[str, pl.DataFrame]] = []
        self._known: set[tuple[str, str, int]] = set()

    def rows(self, sql: str, params: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        return self._store.rows(sql, params)

    def known(self, run_id: str, sha256: str, parser_version: int) -> str | None:
        key = (run_id, sha256, parser_version)
        if key in self._known:
            return "complete"
        self._known.add(key)
        return None

    def append(self, frames: dict[str, Rows]) -> None:
        self._waiting.append({name: rows.whole() for name, rows in frames.items()})

    def transaction(self, work: Callable[[], None], *, committed: Callable[[], bool]) -> None:
        """For what has to look at rows it has just written: at once, after what waits."""
        self.flush()
        self._store.transaction(work, committed=committed)

    def holds(self, ingest_ids: Sequence[str]) -> bool:
        return self._store.holds(ingest_ids)

    def insert(self, frames: dict[str, pl.DataFrame]) -> None:
        self._store.insert(frames, sum_up=False)

    def script(self, sql: str) -> None:
        self._store.script(sql)

    @contextmanager
    def summing_up_once(self) -> Iterator[None]:
        """All is summed up at the end."""
        yield

    def flush(self, at_least: int = 1) -> None:
        """Write what waits, if it is so much."""
        if len(self._waiting) < at_least:
            return
        names = {name for frames in self._waiting for name in frames}
        together = {
            name: pl.concat([f[name] for f in self._waiting if name in f], how="diagonal") for name in names
        }
        try:
            self._store.append(together, sum_up=False)
        except Exception:
            for frames in self._waiting:
                self._store.append(frames)
            raise
        self._waiting.clear()


def fuzz(numbers: Iterable[int], folder: Path) -> Fuzzed:
    """Ingest these mutants. Raises AssertionError with the mutant's number for anything but a clean answer,
    and when a store is not consistent afterwards.
    """
    folder.mkdir(parents=True, exist_ok=True)
    todo, done = list(numbers), Fuzzed()
    began = cpu_clock()
    for start in range(0, len(todo), LOGS_A_STORE):
        target = folder / f"fuzz-{start}.duckdb"
        with open_store(str(target), read_only=False) as store:
            with _gathered(store) as gathering:
                _forget_peak()
                for batch in _files(todo[start : start + LOGS_A_STORE]):
                    done += _file(batch, folder)
                    gathering.flush(INGESTS_A_WRITE)
                gathering.flush()
            store.transaction(lambda store=store: summaries.write(store))  # type: ignore[misc]
            done.peak_mb = max(done.peak_mb, _peak_mb())
            assert done.peak_mb < LIMIT_MB, f"{done.peak_mb:.0f} MB"
            check(store)
        target.unlink()
        gc.collect()
    done.cpu_s = cpu_clock() - began
    return done


def _files(numbers: Sequence[int]) -> Iterator[list[tuple[int, Mutant]]]:
    made = [(number, mutant(number)) for number in numbers]
    shared = []
    for number, log in made:
        if number % 10 == 0 or log.sidecar:
            yield [(number, log)]
        else:
            shared.append((number, log))
    for _, group in groupby(enumerate(shared), key=lambda item: item[0] // TOGETHER):
        yield [item for _, item in group]


@contextmanager
def _gathered(store: Store) -> Iterator[_Gathering]:
    gathering = _Gathering(store)

    @contextmanager
    def same(*_: object, **__: object) -> Iterator[_Gathering]:
        yield gathering

    real, speclog.store.open_store = speclog.store.open_store, same  # type: ignore[assignment]
    try:
        yield gathering
    finally:
        speclog.store.open_store = real


def _file(batch: Sequence[tuple[int, Mutant]], folder: Path) -> Fuzzed:
    """One file through ingest; if it fails, its logs one by one, so that the guilty one is named.

    What a busy machine does meanwhile may count as this process's work: what is slow is slow again elsewhere.
    """
    try:
        return _narrowed(batch, folder)
    except TooSlow:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(anew, batch, folder).result()


def anew(batch: Sequence[tuple[int, Mutant]], folder: Path) -> Fuzzed:
    """The same in a process of its own, where nothing is known of these logs."""
    target = folder / "again.duckdb"
    with open_store(str(target), read_only=False) as store, _gathered(store):
        with suppress(TooSlow):  # the first loads what reading needs
            _ingest([(-1, Mutant(b"".join(corpus()[0])))], folder)
        done = _narrowed(batch, folder)
    target.unlink()
    done.again = 1
    return done


def _narrowed(batch: Sequence[tuple[int, Mutant]], folder: Path) -> Fuzzed:
    try:
        return _ingest(batch, folder)
    except AssertionError:
        for one in batch if len(batch) > 1 else []:
            _ingest([one], folder)
        raise


def _ingest(batch: Sequence[tuple[int, Mutant]], folder: Path) -> Fuzzed:
    name = f"mutants {batch[0][0]}..{batch[-1][0]}" if len(batch) > 1 else f"mutant {batch[0][0]}"
    path = folder / f"m{batch[0][0]}{batch[0][1].suffix}"
    data = b"".join(log.log for _, log in batch)
    path.write_bytes(data)
    sidecar = batch[0][1].sidecar
    beside = folder / f"m{batch[0][0]}{sidecar[0]}" if sidecar else None
    if beside is not None and sidecar is not None:
        beside.write_bytes(sidecar[1])
    size = len(data) + (len(sidecar[1]) if sidecar else 0)
    summaries = _timed(name, path, 1 + 0.05 * len(batch) + size / 1e6)
    path.unlink()
    if beside is not None:
        beside.unlink()
    for summary in summaries:
        assert summary.status in ("ingested", "unchanged", "unusable"), name
        assert summary.detail or summary.status != "unusable", f"{name}: no reason given"
    stored = sum(summary.status == "ingested" for summary in summaries)
    return Fuzzed(logs=len(batch), sessions=stored, megabytes=size / 1e6)


def _timed(name: str, path: Path, limit_s: float) -> list[IngestSummary]:
    """Ingest one file: no error, and no more CPU than so much (a second, and a second a MB)."""
    faulthandler.dump_traceback_later(HANG_S, exit=True)  # also out of a hang inside the engine
    began = cpu_clock()
    try:
        summaries = ingest_paths([path], store_target="the store that is open")
    except SpeclogError as error:
        raise AssertionError(f"{name}: refused as a whole: {error}") from error
    except BaseException as error:
        raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
    finally:
        faulthandler.cancel_dump_traceback_later()
    seconds = cpu_clock() - began
    if seconds >= limit_s:
        raise TooSlow(f"{name}: {seconds:.1f} s of CPU")
    return summaries


def _forget_peak() -> None:
    """Have `_peak_mb` count from now on, where the system can: views of hostile runs are not meant."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def check(store: Store) -> None:
    """Every fact belongs to an ingest, and every view answers."""
    tables = [item.name for item in schema.definitions() if item.part == "tables"]
    sql = "SELECT table_name FROM duckdb_columns() WHERE column_name = 'ingest_id'"
    have = {row[0] for row in store.rows(sql)}
    for table in tables:
        if table in have:
            sql = f"SELECT count(*) FROM {table} WHERE ingest_id NOT IN (SELECT ingest_id FROM raw_ingest)"
            assert store.rows(sql) == [(0,)], table
    assert store.rows("SELECT count(*) - count(DISTINCT run_id) FROM run") == [(0,)]
    for item in schema.definitions():
        if item.part == "views" and item.name not in OF_ONE_PAIR + OF_ALL_PAIRS:
            store.rows(f"SELECT count(*) FROM (SELECT hash(t) AS h FROM {item.name} AS t) WHERE h = 0")
    runs = "SELECT min(run_id) FROM run WHERE windows > 0 AND speculative = ?"
    pair = [store.rows(runs, [speculative])[0][0] for speculative in (True, False)]
    for name in OF_ONE_PAIR:
        one = f"SELECT * FROM {name} WHERE candidate = ? AND baseline = ?"
        store.rows(f"SELECT count(*) FROM (SELECT hash(t) AS h FROM ({one}) AS t) WHERE h = 0", pair)
