"""Small logs share an opening of the store: each is told of when it is in it; none waits for a slow one."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sglang_lines import ARGS, decode, prefill, start

from speclog.errors import StoreError
from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.ingest.waiting import Waiting
from speclog.ingest.write import LogIngest, Unwritten
from speclog.store import open_store


def _log(path: Path, seed: int, windows: int = 3) -> Path:
    lines = [
        start(args=ARGS.replace("tp_size=1", f"tp_size=1, random_seed={seed}")),
        prefill(1),
        *(decode(2 + n, tok_s=90 + seed) for n in range(windows)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_logs_written_together_are_told_of_in_order_and_summed_up_once(tmp_path: Path, store: str) -> None:
    paths = [_log(tmp_path / f"{n}.log", n, windows=3 + n) for n in range(4)]
    bad = tmp_path / "2b.log"
    bad.write_text("nothing of a server\n")
    told: list[IngestSummary] = []
    ingest_paths([*paths[:3], bad, paths[3]], store_target=store, on_summary=told.append)
    assert [(Path(s.path).name, s.status) for s in told] == [
        ("0.log", "ingested"), ("1.log", "ingested"), ("2.log", "ingested"), ("2b.log", "unusable"),
        ("3.log", "ingested"),
    ]  # fmt: skip
    with open_store(store) as opened:
        sums = opened.rows(
            "SELECT name, s.windows, method, summed_at FROM raw_summary AS s JOIN run USING (run_id)"
        )
        assert sorted(row[:2] for row in sums) == [("0", 3), ("1", 4), ("2", 5), ("3", 6)]
        assert all(method for _, _, method, _ in sums)
        assert opened.rows("SELECT count(*) FROM open_run") == [(0,)]
    first_three = {at for name, _, _, at in sums if name != "3"}
    assert len(first_three) == 1


def test_copies_among_the_waiting_are_recognised(tmp_path: Path, store: str) -> None:
    path = _log(tmp_path / "a.log", 1, windows=5)
    again = tmp_path / "b.log"
    again.write_text(path.read_text())
    cut = tmp_path / "c.log"
    cut.write_text("\n".join(path.read_text().splitlines()[:-2]) + "\n")
    found = ingest_paths([path, again, cut], store_target=store)
    assert [s.status for s in found][:2] == ["ingested", "unchanged"]
    assert found[2].status != "ingested"
    with open_store(store) as opened:
        assert opened.rows("SELECT windows FROM run") == [(5,)]


def test_a_slow_pipe_holds_up_no_log_before_it(tmp_path: Path, store: str) -> None:
    log = _log(tmp_path / "a.log", 1)
    fifo = tmp_path / "server"
    os.mkfifo(fifo)
    told = threading.Event()
    told_before: list[bool] = []

    def write() -> None:
        with fifo.open("w") as pipe:  # opens when the reader does: by then the log before is told of
            told_before.append(told.wait(20))
            pipe.write("\n".join([start(), decode(2)]) + "\n")

    writer = threading.Thread(target=write)
    writer.start()
    found = ingest_paths([log, fifo], store_target=store, on_summary=lambda _: told.set())
    writer.join()
    assert told_before == [True]
    assert [s.status for s in found] == ["ingested", "ingested"]


def test_what_was_told_of_stays_when_the_store_fails(tmp_path: Path, store: str) -> None:
    told: list[IngestSummary] = []
    waiting = Waiting(store, 5, told.extend)

    def fails(_: object) -> list[IngestSummary]:
        raise StoreError("the disk is full")

    log = LogIngest(str(_log(tmp_path / "a.log", 1)), store, 5).read()
    assert not isinstance(log, list)
    waiting.add(log)
    waiting.add(Unwritten(1, fails))
    with pytest.raises(StoreError, match="full"):
        waiting.write()
    assert [s.status for s in told] == ["ingested"]
    with open_store(store) as opened:  # not summed up, and seen all the same
        assert opened.rows("SELECT name, windows FROM run") == [("a", 3)]
        assert opened.rows("SELECT count(*) FROM open_run") == [(1,)]
        assert opened.rows("SELECT count(*) > 0 FROM level") == [(True,)]


def test_while_another_process_holds_the_store_more_logs_are_read(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speclog.ingest.waiting.LONGEST_S", 0.0)
    paths = [_log(tmp_path / f"{n}.log", n) for n in range(5)]
    code = "import sys, duckdb; _ = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.readline()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder:
        holder.stdout.readline()
        threading.Timer(4.0, holder.stdin.close).start()
        found = ingest_paths(paths, store_target=store)
    assert [s.status for s in found] == ["ingested"] * 5
    with open_store(store) as opened:  # one opening for all: they were summed up at once
        assert opened.rows("SELECT count(*), count(DISTINCT summed_at) FROM raw_summary") == [(5, 1)]
    ingest_paths([_log(tmp_path / f"later-{n}.log", 10 + n) for n in range(2)], store_target=store)
    with open_store(store) as opened:  # nobody held it
        assert opened.rows("SELECT count(DISTINCT summed_at) FROM raw_summary") == [(3,)]


def test_what_waits_is_bounded(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speclog.ingest.waiting.MOST_BYTES", 1000)
    ingest_paths([_log(tmp_path / f"{n}.log", n) for n in range(4)], store_target=store)
    sizes = [path.stat().st_size for path in tmp_path.glob("?.log")]
    assert all(500 < size < 1000 for size in sizes)
    with open_store(store) as opened:  # two and two
        assert opened.rows("SELECT count(*) FROM raw_summary GROUP BY summed_at") == [(2,), (2,)]


def test_the_store_is_not_held_for_all_that_waits(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speclog.ingest.waiting.HELD_S", 0.0)
    found = ingest_paths([_log(tmp_path / f"{n}.log", n) for n in range(3)], store_target=store)
    assert [s.status for s in found] == ["ingested"] * 3
    with open_store(store) as opened:  # an opening each
        assert opened.rows("SELECT count(DISTINCT summed_at) FROM raw_summary") == [(3,)]
