"""Pieces of a rotated log: found in a directory, and one run with --group."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths
from speclog.ingest.sources import Source, by_age, is_rotated

Rows = Callable[..., list[tuple[Any, ...]]]

WHOLE = [
    start(), prefill(1), *(decode(2 + i, token=240 + 40 * i, tok_s=100 + i) for i in range(30)),
    "[2026-01-29 01:16:40] SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
]  # fmt: skip
PIECES = {"srv.log.2.gz": WHOLE[:12], "srv.log.1": WHOLE[12:22], "srv.log": WHOLE[22:]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    for name, lines in PIECES.items():
        data = ("\n".join(lines) + "\n").encode()
        (path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_a_directory_gives_them_and_says_what_they_are(folder: Path, store: str) -> None:
    found = ingest_paths([folder], store_target=store)
    assert {Path(s.path).name: s.windows for s in found} == {
        "srv.log": 10,
        "srv.log.1": 10,
        "srv.log.2.gz": 10,
    }
    notes = {Path(s.path).name: s.notes for s in found}
    assert notes["srv.log"] == []
    assert ["rotated" in note for name in ("srv.log.1", "srv.log.2.gz") for note in notes[name]] == [True] * 2


def test_grouped_they_are_the_run_of_the_whole_log(folder: Path, store: str, rows: Rows) -> None:
    (found,) = ingest_paths([folder], store_target=store, group=True)
    assert (found.windows, found.end_reason) == (30, "shutdown")
    assert rows("SELECT end_reason, CAST(ended_at AS VARCHAR) FROM run") == [
        ("shutdown", "2026-01-29 01:16:40")
    ]
    assert rows("SELECT source_index, count(*) FROM decode_window GROUP BY 1 ORDER BY 1") == [
        (0, 10), (1, 10), (2, 10),
    ]  # fmt: skip
    # The first window of each piece has no line before it that tells the batch.
    assert rows("SELECT n_windows, n_clean FROM level") == [(30, 27)]
    whole = folder.parent / "whole.log"
    whole.write_text("\n".join(WHOLE) + "\n")
    assert ingest_paths([whole], store_target=store)[0].run_id == found.run_id


@pytest.mark.parametrize(
    ("name", "rotated"),
    [
        ("srv.log", False), ("srv.log.gz", False), ("srv.log.1", True), ("srv.log.12.gz", True),
        ("srv.log-20260129", True), ("srv.out.2026-01-29.zst", True), ("srv.log.bak", False),
        ("run.1.log", False), ("notes.1", False),
    ],
)  # fmt: skip
def test_names(name: str, rotated: bool) -> None:
    assert is_rotated(name) == rotated


def test_oldest_first() -> None:
    names = ["a.log", "a.log.1", "a.log.10.gz", "a.log.2"]
    assert [s.path for s in by_age([Source(n) for n in names])] == [
        "a.log.10.gz",
        "a.log.2",
        "a.log.1",
        "a.log",
    ]
    dated = ["a.log", "a.log-20260130", "a.log-20260129"]
    assert [s.path for s in by_age([Source(n) for n in dated])] == dated[::-1]
    nodes = ["n0.log", "n1.log"]
    assert [s.path for s in by_age([Source(n) for n in nodes])] == nodes
