"""What a store does with a log it has, has more of, or has otherwise."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.ingest.follow import follow_log
from speclog.store import gc, open_store, parquet

Ingest = Callable[..., list[IngestSummary]]

LINES = [start(), prefill(1), *(decode(2 + i, token=240 + 40 * i, tok_s=100 + i) for i in range(30))]
FULL = "\n".join(LINES) + "\n"
HALF = "\n".join(LINES[:16]) + "\n"


def windows(store: str) -> int:
    with open_store(store) as opened:
        return int(opened.rows("SELECT count(*) FROM decode_window")[0][0])


def collect(store: str) -> None:
    with open_store(store, read_only=False) as opened:
        gc.collect(opened, older_than=timedelta(0))


def test_an_older_copy_does_not_replace_the_run(ingest: Ingest, store: str) -> None:
    ingest(FULL, "srv.log")
    (older,) = ingest(HALF, "srv.log.1")
    assert (older.status, older.windows) == ("unchanged", 14)
    assert older.detail == "older copy: the store has 32 lines of this run, this has 16; kept"
    assert windows(store) == 30
    collect(store)
    assert [s.status for s in ingest(FULL, "srv.log")] == ["unchanged"]
    assert windows(store) == 30


@pytest.mark.parametrize(
    "cut", [len(FULL) - 1, len(FULL) - 18, len(FULL) - 40, len(HALF) - 12, len(LINES[0]) + 9]
)
def test_a_copy_that_is_cut_within_a_line_is_an_older_copy(ingest: Ingest, store: str, cut: int) -> None:
    ingest(FULL)
    (older,) = ingest(FULL[:cut], "cut.log")
    assert older.status == "unchanged"
    assert windows(store) == 30


def test_a_log_that_has_grown_is_read(ingest: Ingest, store: str) -> None:
    ingest(HALF)
    assert windows(store) == 14
    assert [s.status for s in ingest(FULL)] == ["ingested"]
    assert windows(store) == 30
    assert [s.status for s in ingest(FULL, "copy.log")] == ["unchanged"]


def test_an_older_copy_without_access_lines_is_one(ingest: Ingest, store: str) -> None:
    access = '[2026-01-29 01:16:03] INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK'
    ingest("\n".join([LINES[0], access, *LINES[1:]]) + "\n")
    assert [s.status for s in ingest(HALF, "grepped.log")] == ["unchanged"]
    assert windows(store) == 30


def test_of_other_content_the_newest_reading_counts_also_the_second_time(ingest: Ingest, store: str) -> None:
    other = HALF.replace("101.00", "77.00")
    assert other != HALF
    assert [s.status for s in ingest(FULL, "a.log")] == ["ingested"]
    assert [s.status for s in ingest(other, "b.log")] == ["ingested"]
    assert windows(store) == 14
    assert [s.status for s in ingest(FULL, "a.log")] == ["ingested"]
    assert windows(store) == 30
    collect(store)
    assert windows(store) == 30


def test_one_session_of_a_file_may_be_an_older_copy(ingest: Ingest, store: str) -> None:
    ingest(FULL)
    found = ingest(HALF + start(59) + "\n" + decode(59) + "\n" + decode(59) + "\n", "two.log")
    assert [s.status for s in found] == ["unchanged", "ingested"]
    assert windows(store) == 32


def test_a_long_log_is_held_against_the_store_too(
    ingest: Ingest, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(FULL)
    monkeypatch.setattr("speclog.ingest.write.FLUSH_BYTES", 1)
    (older,) = ingest(HALF, "half.log")
    assert (older.status, older.detail[:10]) == ("unchanged", "older copy")
    assert windows(store) == 30
    assert [s.status for s in ingest(FULL.replace("101.00", "77.00"), "other.log")] == ["ingested"]


def test_one_node_is_part_of_its_group(tmp_path: Path, store: str) -> None:
    paths = [tmp_path / "n0.log", tmp_path / "n1.log"]
    for n, path in enumerate(paths):
        lines = [start(), *(decode(2 + i, rank=f" DP{n} TP0", tok_s=100 + i) for i in range(4))]
        path.write_text("\n".join(lines) + "\n")
    assert [s.status for s in ingest_paths(paths, store_target=store, group=True)] == ["ingested"]
    assert [s.status for s in ingest_paths(paths[:1], store_target=store)] == ["unchanged"]
    assert windows(store) == 8
    paths[1].write_text("\n".join(paths[1].read_text().splitlines()[:3]) + "\n")
    assert [s.status for s in ingest_paths(paths, store_target=store, group=True)] == ["unchanged"]
    assert windows(store) == 8


def test_an_import_does_not_replace_a_run_by_its_beginning(
    tmp_path: Path, ingest: Ingest, store: str
) -> None:
    ingest(FULL)
    half, other = tmp_path / "half.log", str(tmp_path / "other.duckdb")
    half.write_text(HALF)
    ingest_paths([half], store_target=other)
    with open_store(other) as opened:
        parquet.export(opened, tmp_path / "out")
    with open_store(store, read_only=False) as opened:
        done = parquet.import_(opened, tmp_path / "out")
        assert (done.runs, done.already_there, done.rows) == (0, 1, 0)
        assert opened.rows("SELECT count(DISTINCT ingest_id) FROM raw_decode_window") == [(1,)]
    assert windows(store) == 30


def test_an_import_of_the_whole_log_is_shown_though_its_beginning_was_read_later(
    tmp_path: Path, ingest: Ingest, store: str
) -> None:
    full, other = tmp_path / "full.log", str(tmp_path / "other.duckdb")
    full.write_text(FULL)
    ingest_paths([full], store_target=other)
    ingest(HALF)  # later
    with open_store(other) as opened:
        parquet.export(opened, tmp_path / "out")
    with open_store(store, read_only=False) as opened:
        done = parquet.import_(opened, tmp_path / "out")
        assert (done.runs, done.already_there) == (1, 0)
        assert opened.rows("SELECT count(*) FROM open_run") == [(0,)]  # its sums came with it
    assert windows(store) == 30
    collect(store)
    assert windows(store) == 30


def test_following_shows_no_less_than_the_store_has(tmp_path: Path, ingest: Ingest, store: str) -> None:
    ingest(FULL)
    log = tmp_path / "grows.log"
    log.write_text(HALF)
    seen: list[int] = []
    calls: list[None] = []

    def stop() -> bool:
        calls.append(None)
        seen.append(windows(store))
        if len(calls) == 4:
            log.write_text(FULL + decode(40) + "\n")
        return len(calls) > 8

    (found,) = follow_log(str(log), store_target=store, stop=stop, flush_s=0, poll_s=0.01)
    assert found.status == "ingested"
    assert (min(seen), windows(store)) == (30, 31)


def test_following_an_older_copy_changes_nothing(tmp_path: Path, ingest: Ingest, store: str) -> None:
    ingest(FULL)
    log = tmp_path / "half.log"
    log.write_text(HALF)
    (found,) = follow_log(str(log), store_target=store, stop=lambda: True)
    assert (found.status, found.detail[:10]) == ("unchanged", "older copy")
    assert windows(store) == 30


def test_hosts_of_two_versions_do_not_take_turns(
    ingest: Ingest, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a newer speclog has read stays as it reads it; what an older one has read is read again."""
    from speclog.ingest import build

    mine = build.PARSER_VERSION
    ingest(FULL)
    monkeypatch.setattr(build, "PARSER_VERSION", mine + 1)
    assert [s.status for s in ingest(FULL)] == ["ingested"]
    monkeypatch.setattr(build, "PARSER_VERSION", mine)
    assert [s.status for s in ingest(FULL)] == ["unchanged"]
    with open_store(store) as opened:
        assert opened.rows("SELECT parser_version FROM raw_ingest ORDER BY 1") == [(mine,), (mine + 1,)]
        assert opened.rows("SELECT parser_version FROM current_ingest") == [(mine + 1,)]
