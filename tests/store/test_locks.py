"""Who holds the file, for how long, and what is said about it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from speclog.errors import StoreError
from speclog.report import render, report_text
from speclog.store import handle, open_store

WRITE = "INSERT INTO raw_annotation VALUES ('r', 'tag', 'x', NULL, '2026-01-01')"
WRITER = f"""
import sys
from speclog.store import open_store
with open_store(sys.argv[1], read_only=False, lock_timeout=float(sys.argv[2])) as store:
    store.rows({WRITE!r})
"""


def start_writer(target: str, timeout: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, target, str(timeout)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_writer_gets_in_between_two_queries_of_a_long_reader(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "HOLD_S", 0.2)
    with open_store(target, give_way=True) as store:
        assert not store.changed
        writer = start_writer(target, 60)
        deadline = time.monotonic() + 60
        while writer.poll() is None and time.monotonic() < deadline:
            store.rows("SELECT count(*) FROM run")
        _, err = writer.communicate(timeout=60)
        assert writer.returncode == 0, err
        while not store.changed and time.monotonic() < deadline:
            store.rows("SELECT count(*) FROM run")
        assert store.changed
        assert store.rows("SELECT count(*) FROM raw_annotation") == [(1,)]


def test_a_reader_that_does_not_give_way_keeps_the_file(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "HOLD_S", 0.0)
    with open_store(target) as store:
        writer = start_writer(target, 0.2)
        _, err = writer.communicate(timeout=60)
        assert writer.returncode != 0
        assert f"(PID {os.getpid()})" in err
        assert store.rows("SELECT count(*) FROM raw_annotation") == [(0,)]


def test_a_report_holds_no_lock_while_it_is_rendered_and_is_of_one_state(
    target: str, example_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speclog.ingest.api import ingest_paths

    folder = example_logs / "h200-llama8b"
    ingest_paths([folder / "base.log", folder / "eagle3-s5-a2.1.log"], store_target=target)
    monkeypatch.setattr(handle, "HOLD_S", 0.0)  # as if every query took long
    wrote: list[int] = []
    real = render.html

    def slow(*arguments: object, **named: object) -> str:
        writer = start_writer(target, 5)
        writer.communicate(timeout=60)
        wrote.append(writer.returncode)
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(render, "html", slow)
    assert "eagle3-s5-a2.1" in report_text(target, vs="base")
    assert wrote == [0]


def test_who_holds_it_and_what_to_do_is_said(target: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); "
         "print(1, flush=True); time.sleep(60)", target],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        for read_only in (True, False):
            with (
                pytest.raises(
                    StoreError, match=rf"busy for 0.2 s, held by .*PID {holder.pid}.*--lock-timeout"
                ),
                open_store(target, read_only=read_only, lock_timeout=0.2),
            ):
                pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout and holder.stdout.close()
