"""Many writers and readers at once: counts exact, no error reaches a user, the same log appears once."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fleet_helpers import Postgres, speclog, start

from speclog.store import open_store

WRITERS = int(os.environ.get("SPECLOG_FLEET_WRITERS", "8"))
LOGS = int(os.environ.get("SPECLOG_FLEET_LOGS", "200"))


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a command that must not fail; return its stderr."""
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    assert "Traceback" not in out + err
    return err


@pytest.mark.parametrize(("writers", "logs"), [(WRITERS, LOGS)])
def test_eight_writers_with_readers(
    shared_store: str, tmp_path: Path, log_maker: Callable[..., list[Path]], writers: int, logs: int,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for number in range(writers):
        log_maker(tmp_path / f"host{number}", logs, first=number * logs)
    began = time.monotonic()
    running = [start(shared_store, "ingest", str(tmp_path / f"host{number}")) for number in range(writers)]
    seen, reads = [], 0
    while any(process.poll() is None for process in running):
        with open_store(shared_store, lock_timeout=120) as store:
            ((runs, windows, halves),) = store.rows(
                "SELECT count(*), sum(windows), count(*) FILTER (windows <> 30) FROM run"
            )
        assert halves == 0, "a reader saw half a log"
        assert (windows or 0) == 30 * runs
        seen.append(runs)
        reads += 1
        time.sleep(0.5)
    seconds = time.monotonic() - began
    for process in running:
        finish(process)
    assert seen == sorted(seen)
    with open_store(shared_store) as store:
        assert store.rows("SELECT count(*), count(DISTINCT run_id), sum(windows) FROM run") == [
            (writers * logs, writers * logs, 30 * writers * logs)
        ]
        assert store.rows("SELECT count(*), count(DISTINCT (run_id, line_no)) FROM decode_window") == [
            (30 * writers * logs, 30 * writers * logs)
        ]
        rows = sum(
            store.rows(f"SELECT count(*) FROM {name}")[0][0]
            for (name,) in store.rows(
                "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
                "AND starts_with(table_name, 'raw_') AND table_name <> 'raw_meta'"
            )
        )
    with capsys.disabled():
        kind = "lake" if shared_store.startswith("ducklake") else "file"
        print(
            f"\n{kind}: {writers} writers x {logs} logs in {seconds:.0f} s with {reads} reads: "
            f"{writers * logs / seconds:.1f} logs/s, {rows / seconds:,.0f} rows/s"
        )


def test_the_same_log_from_two_hosts_at_once_appears_once(
    shared_store: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    (path,) = log_maker(tmp_path / "logs", 1)
    running = [start(shared_store, "ingest", str(path)) for _ in range(4)]
    for process in running:
        finish(process)
    with open_store(shared_store) as store:
        assert store.rows("SELECT count(*), sum(windows) FROM run") == [(1, 30)]
        assert store.rows("SELECT count(*) FROM decode_window") == [(30,)]
    speclog(shared_store, "gc", "--older-than", "0s").check_returncode()
    with open_store(shared_store) as store:
        assert store.rows("SELECT count(*) FROM raw_decode_window") == [(30,)]
        assert store.rows("SELECT count(*) FROM decode_window") == [(30,)]


def test_hosts_that_open_an_empty_store_at_once_make_one_schema(
    postgres: Postgres, tmp_path: Path, counter: Iterator[int], log_maker: Callable[..., list[Path]]
) -> None:
    database = f"lake{next(counter)}"
    postgres.create(database)
    target = f"ducklake:postgres:{postgres.dsn(database)}?data_path={tmp_path}/data"
    paths = log_maker(tmp_path / "logs", 6)
    running = [start(target, "ingest", str(path)) for path in paths]
    for process in running:
        finish(process)
    with open_store(target) as store:
        assert store.rows("SELECT count(*), sum(windows) FROM run") == [(6, 180)]


def test_gc_beside_writers_loses_nothing(
    lake: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    first = log_maker(tmp_path / "old", 20)
    speclog(lake, "ingest", str(tmp_path / "old")).check_returncode()
    for path in first:  # they grow, and are read again: twenty superseded ingests
        path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[-1])
    speclog(lake, "ingest", str(tmp_path / "old")).check_returncode()
    log_maker(tmp_path / "new", 60, first=1000)
    writer = start(lake, "ingest", str(tmp_path / "new"))
    collected = 0
    while writer.poll() is None:
        done = speclog(lake, "gc", "--older-than", "0s", "--json")
        assert done.returncode == 0, done.stderr
        collected += json.loads(done.stdout)[0]["superseded_ingests"]
    finish(writer)
    assert collected == 20
    with open_store(lake) as store:
        assert store.rows("SELECT count(*), sum(windows) FROM run") == [(80, 80 * 30)]
        assert store.rows("SELECT count(*) FROM decode_window") == [(80 * 30,)]
