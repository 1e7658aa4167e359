"""Who holds the file, for how long, and what is said about it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from speclog.errors import StoreError
from speclog.report import render, report_text
from speclog.store import open_store

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


def test_a_reader_keeps_the_file(target: str) -> None:
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
