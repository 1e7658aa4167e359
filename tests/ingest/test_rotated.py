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


def spec(second: int, token: int, tau: float) -> str:
    return decode(second, token=token).replace("cuda graph", f"accept len: {tau}, cuda graph")


def server(model: str, second: int, tau: float, n: int) -> list[str]:
    args = f"server_args=ServerArgs(model_path='{model}', tp_size=1, speculative_algorithm='EAGLE3')"
    return [start(second, args), prefill(second)] + [spec(second + i, 200 + 40 * i, tau) for i in range(n)]


def pieces(tmp_path: Path, lines: list[str], *cuts: int) -> list[Path]:
    bounds = [0, *cuts, len(lines)]
    paths = [tmp_path / name for name in ("srv.log.3", "srv.log.2", "srv.log.1", "srv.log")[-len(cuts) - 1 :]]
    for path, low, high in zip(paths, bounds, bounds[1:], strict=False):
        path.write_text("\n".join(lines[low:high]) + "\n")
    return paths


@pytest.mark.parametrize("cuts", [(15,), (10,), (11,), (6, 14), (4, 10, 13), (7, 15, 18)])
def test_a_server_that_begins_in_a_later_piece_is_a_run_of_its_own(
    tmp_path: Path, store: str, rows: Rows, cuts: tuple[int, ...]
) -> None:
    lines = [*server("A", 0, 2.0, 8), *server("B", 20, 3.0, 12)]
    found = ingest_paths(pieces(tmp_path, lines, *cuts), store_target=store, group=True)
    assert [(s.status, s.windows, s.prefills, s.end_reason) for s in found] == [
        ("ingested", 8, 1, "killed"), ("ingested", 12, 1, "open"),
    ]  # fmt: skip
    assert rows("SELECT r.model, count(*), min(w.accept_len), max(w.accept_len) FROM run AS r "
                "JOIN raw_decode_window AS w USING (run_id) GROUP BY 1 ORDER BY 1") == [
        ("A", 8, 2.0, 2.0), ("B", 12, 3.0, 3.0),
    ]  # fmt: skip
    whole = tmp_path / "whole.log"
    whole.write_text("\n".join(lines) + "\n")
    assert [s.run_id for s in ingest_paths([whole], store_target=store)] == [s.run_id for s in found]


def test_the_ranks_that_count_are_those_of_the_server_that_goes_on(
    tmp_path: Path, store: str, rows: Rows
) -> None:
    """The first server's stages said which lines count; those of the second have no stages."""
    first = [start(0), prefill(1, rank=" PP1 TP0"), *(decode(2 + i, rank=" PP1 TP0") for i in range(4))]
    first += [decode(5, rank=" PP0 TP0")]
    second = [start(20), prefill(21, rank=" TP0"), *(decode(22 + i, rank=" TP0") for i in range(6))]
    cut = len(first) + 4
    found = ingest_paths(pieces(tmp_path, first + second, 4, cut), store_target=store, group=True)
    assert [s.windows for s in found] == [4, 6]
    assert rows("SELECT count(*) FROM fact WHERE name = 'duplicate_rank_lines'") == [(1,)]


def test_later_pieces_know_what_the_first_one_said(tmp_path: Path, store: str, rows: Rows) -> None:
    manifest = 'SPECLOG_MANIFEST v=1 {"session": "x", "utc_offset_s": 3600}'
    args = "server_args=ServerArgs(model_path='A', speculative_algorithm='EAGLE3', enable_beta_spec=True)"
    begin = 'SPECLOG_WORKLOAD v=1 {"event": "begin", "step": "w", "kind": "warmup"}'
    end = 'SPECLOG_WORKLOAD v=1 {"event": "end", "step": "w"}'
    lines = [manifest, start(0, args), begin, *(spec(2 + i, 200 + 40 * i, 3.0) for i in range(6)), end]
    lines += [spec(10, 600, 3.0)]
    ingest_paths(pieces(tmp_path, lines, 5, 7), store_target=store, group=True)
    assert rows("SELECT source_index, CAST(ts AS VARCHAR), accept_len, warmup FROM raw_decode_window "
                "ORDER BY source_index, line_no") == [
        (0, "2026-01-29 00:16:02", 2.0, True), (0, "2026-01-29 00:16:03", 2.0, True),
        (1, "2026-01-29 00:16:04", 2.0, True), (1, "2026-01-29 00:16:05", 2.0, True),
        (2, "2026-01-29 00:16:06", 2.0, True), (2, "2026-01-29 00:16:07", 2.0, True),
        (2, "2026-01-29 00:16:10", 2.0, None),
    ]  # fmt: skip


def test_an_error_that_the_server_outlived_is_not_its_end(tmp_path: Path, store: str) -> None:
    error = ["[2026-01-29 01:16:08] Traceback (most recent call last):", "  File 'x'", "ValueError: x"]
    lines = [*server("A", 0, 2.0, 8), *error, spec(20, 900, 2.0), spec(21, 940, 2.0)]
    (found,) = ingest_paths(pieces(tmp_path, lines, len(lines) - 2), store_target=store, group=True)
    assert found.end_reason == "open"
    (found,) = ingest_paths(pieces(tmp_path, lines[:-2], 6), store_target=store, group=True)
    assert found.end_reason == "crash"


def test_a_piece_that_holds_nothing_but_the_crash_tells_how_the_server_ended(
    tmp_path: Path, store: str, rows: Rows
) -> None:
    crash = [
        "[2026-01-29 01:17:09] Scheduler hit an exception: Traceback (most recent call last):",
        "  File x.py", "ValueError: no",
    ]  # fmt: skip
    (tmp_path / "srv.log.1").write_text("\n".join(WHOLE[:20]) + "\n")
    (tmp_path / "srv.log").write_text("\n".join(crash) + "\n")
    (found,) = ingest_paths([tmp_path], store_target=store, group=True)
    assert (found.windows, found.end_reason) == (18, "crash")
    assert rows("SELECT end_reason, CAST(ended_at AS VARCHAR) FROM run") == [("crash", "2026-01-29 01:17:09")]
    assert rows("SELECT source_index, message FROM event WHERE kind = 'traceback'") == [
        (1, "\n".join(crash)[len("[2026-01-29 01:17:09] ") :])
    ]


def test_a_piece_of_other_lines_is_none(tmp_path: Path, store: str) -> None:
    (tmp_path / "srv.log.1").write_text("\n".join(WHOLE[:20]) + "\n")
    (tmp_path / "srv.log").write_text("nginx: started\nnginx: stopped\n")
    found = ingest_paths([tmp_path], store_target=store, group=True)
    assert [s.status for s in found] == ["ingested", "unusable"]
