"""`make validate`: what speclog claims, recomputed from logs whose truth is known.

Every module here that is named in `SECTIONS` gives one section of docs/validation.md: a title and a function
``section(data) -> Section``. A claim that needs logs which are not there is listed as not checked, never as
held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from speclog.analysis.side import Side
from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "logs" / "h200-llama8b"
EXAMPLES = ROOT / "examples" / "logs" / "h200-llama8b"
SECTIONS = (
    "four_runs",
    "two_steps",
    "golden_rows",
    "coverage",
    "overhead",
    "verdicts",
    "worth",
    "gpu_launch",
    "gpu_profiler",
    "gpu_tp2",
)


@dataclass(frozen=True)
class Claim:
    """One row: what is claimed, what was found, and whether it holds (None: could not be checked)."""

    what: str
    expected: str
    found: str
    holds: bool | None


@dataclass
class Section:
    """One part of the page."""

    title: str
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    table: str = ""

    def claim(self, what: str, expected: str, found: str, holds: bool | None) -> None:
        """Add a row."""
        self.claims.append(Claim(what, expected, found, None if holds is None else bool(holds)))


class Data:
    """Runs of the H200 logs, by name. A run that is not there raises KeyError."""

    def __init__(self, store: Store, logs: Path) -> None:
        self.store = store
        self.logs = logs
        self._ids = dict(store.rows("SELECT name, run_id FROM run"))

    def has(self, *names: str) -> bool:
        """Whether all these runs are there."""
        return all(name in self._ids for name in names)

    @cache  # noqa: B019 - one Data lives as long as the script
    def windows(self, name: str) -> pl.DataFrame:
        """Rows of view decode_window."""
        return self.store.frame("SELECT * FROM decode_window WHERE run_id = ?", [self._ids[name]])

    def profile(self, name: str) -> pl.DataFrame:
        """Rows of view profile_window."""
        return self.store.frame("SELECT * FROM profile_window WHERE run_id = ?", [self._ids[name]])

    def ab(self, name: str) -> tuple[pl.DataFrame, list[int]]:
        """The kind=ab lines of a run, and the lines of its prefills."""
        events = self.store.rows(
            "SELECT line_no, fields FROM event WHERE run_id = ? AND kind = 'profile_ab' ORDER BY line_no",
            [self._ids[name]],
        )
        prefills = self.store.rows("SELECT line_no FROM prefill_batch WHERE run_id = ?", [self._ids[name]])
        lines = pl.DataFrame([{"line_no": line} | json.loads(fields) for line, fields in events])
        return lines, [line for (line,) in prefills]

    @cache  # noqa: B019
    def side(self, *names: str) -> Side:
        """One arm: a run, or repeats of it."""
        return Side([self.windows(name) for name in names])


@contextmanager
def measured() -> Iterator[Data]:
    """The real logs, ingested into a store of their own: ../shared where it is, else the examples."""
    logs = SHARED if SHARED.is_dir() else EXAMPLES
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "validate.duckdb")
        ingest_paths([logs], store_target=target)
        with open_store(target) as store:
            yield Data(store, logs)
