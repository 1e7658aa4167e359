"""Full disks, read-only directories, stores that vanish, a catalog that restarts: clear errors, no loss."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_helpers import Postgres, speclog, start

from speclog.store import Store, open_store, summaries


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """The command failed as the contract says: its exit code, one line that says why, no traceback."""
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("speclog: error:")]
    assert len(errors) == 1, done.stderr
    for word in words:
        assert word in errors[0], errors[0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(mount)], capture_output=True
    )
    if made.returncode:
        pytest.skip("a small file system cannot be mounted here (needs root)")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=False)


def test_a_full_disk(small_disk: Path, tmp_path: Path, log_maker: Callable[..., list[Path]]) -> None:
    target = str(small_disk / "s.duckdb")
    first, second = log_maker(tmp_path / "logs", 2, more_windows=2000)
    speclog(target, "ingest", str(first)).check_returncode()
    with open_store(target) as store:
        before = store.rows("SELECT * FROM run")
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space"):
        while True:
            stream.write(b"x" * 4096)
    assert_one_line(speclog(target, "ingest", str(second)), 4, "disk is full")
    new = small_disk / "new.duckdb"
    assert_one_line(speclog(str(new), "init"), 4, "free some space")
    assert not new.exists()
    with open_store(target) as store:
        assert store.rows("SELECT * FROM run") == before
    filler.unlink()
    speclog(target, "ingest", str(second)).check_returncode()
    with open_store(target) as store:
        assert store.rows("SELECT name, windows FROM run ORDER BY name") == [
            (first.stem, 2030), (second.stem, 2030)
        ]  # fmt: skip


def test_a_full_disk_under_a_lake(
    postgres: Postgres, counter: Iterator[int], small_disk: Path, tmp_path: Path,
    log_maker: Callable[..., list[Path]],
) -> None:  # fmt: skip
    database = f"lake{next(counter)}"
    postgres.create(database)
    target = f"ducklake:postgres:{postgres.dsn(database)}"
    speclog(target, "init", "--data-path", str(small_disk / "data")).check_returncode()
    first, second = log_maker(tmp_path / "logs", 2, more_windows=2000)
    speclog(target, "ingest", str(first)).check_returncode()
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space"):
        while True:
            stream.write(b"x" * 4096)
    assert_one_line(speclog(target, "ingest", str(second)), 4, "disk is full")
    with open_store(target) as store:
        assert store.rows("SELECT name, windows FROM run") == [(first.stem, 2030)]
    filler.unlink()
    speclog(target, "ingest", str(second)).check_returncode()
    with open_store(target) as store:
        assert store.rows("SELECT count(*) FROM run") == [(2,)]


def test_a_read_only_directory(tmp_path: Path, log_maker: Callable[..., list[Path]]) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    target = str(folder / "s.duckdb")
    first, second = log_maker(tmp_path / "logs", 2)
    speclog(target, "ingest", str(first)).check_returncode()
    root = os.geteuid() == 0
    if root:  # permissions do not bind root: mount it read-only
        for options in (["--bind"], ["-o", "remount,bind,ro"]):
            source = [str(folder)] if options == ["--bind"] else []
            if subprocess.run(["mount", *options, *source, str(folder)], capture_output=True).returncode:
                pytest.skip("a read-only mount cannot be made here")
    else:
        folder.chmod(0o555)
        (folder / "s.duckdb").chmod(0o444)
    try:
        assert_one_line(speclog(target, "ingest", str(second)), 4)
        assert_one_line(speclog(str(folder / "new.duckdb"), "init"), 4)
        assert first.stem in speclog(target, "runs").stdout  # reading needs no writing
    finally:
        if root:
            subprocess.run(["umount", "-l", str(folder)], check=False)
        else:
            folder.chmod(0o755)
            (folder / "s.duckdb").chmod(0o644)
    speclog(target, "ingest", str(second)).check_returncode()


def test_the_store_deleted_under_a_writer(tmp_path: Path, log_maker: Callable[..., list[Path]]) -> None:
    from speclog.errors import StoreError

    target = tmp_path / "s.duckdb"
    log_maker(tmp_path / "logs", 60, more_windows=100)
    writer = start(str(target), "ingest", str(tmp_path / "logs"))
    while not target.exists():
        time.sleep(0.01)
    time.sleep(1.5)
    target.unlink()
    target.with_name("s.duckdb.wal").unlink(missing_ok=True)
    _, err = writer.communicate(timeout=300)
    assert "Traceback" not in err
    assert writer.returncode in (0, 4), err  # between two logs nobody notices: the next one makes a new store
    speclog(str(target), "ingest", str(tmp_path / "logs")).check_returncode()
    with open_store(str(target)) as store:
        assert store.rows("SELECT count(*), min(windows), max(windows) FROM run") == [(60, 130, 130)]
    with open_store(str(target), read_only=False) as store:
        target.unlink()
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.append({})


def test_postgres_restarted_during_an_ingest(
    postgres: Postgres, lake: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    log_maker(tmp_path / "logs", 80)
    writer = start(lake, "ingest", str(tmp_path / "logs"))
    for mode in ("fast", "immediate"):
        time.sleep(4)
        postgres.stop(mode)
        time.sleep(1)
        postgres.start()
    _, err = writer.communicate(timeout=300)
    assert "Traceback" not in err
    assert writer.returncode == 0, err
    with open_store(lake) as store:
        assert store.rows("SELECT count(*), sum(windows) FROM run") == [(80, 80 * 30)]
        assert store.rows("SELECT count(*) FROM raw_decode_window") == [(80 * 30,)]


@pytest.mark.parametrize("long", [False, True], ids=["many small logs", "one long log"])
def test_postgres_crashes_between_any_two_statements(
    postgres: Postgres,
    lake: str,
    tmp_path: Path,
    log_maker: Callable[..., list[Path]],
    monkeypatch: pytest.MonkeyPatch,
    long: bool,
) -> None:
    """Before rows are written, and before the runs of several logs are summed up together."""
    from speclog.ingest import write
    from speclog.ingest.api import ingest_paths

    log_maker(tmp_path / "logs", 1 if long else 6, more_windows=200)
    if long:
        monkeypatch.setattr(write, "FLUSH_ROWS", 10)
    crashed = []

    def crash_before(owner: Any, name: str, call: int) -> None:
        """Crash the catalog's server before one call of a function."""
        real, calls = getattr(owner, name), []

        def wrapped(*args: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) == call:
                postgres.stop("immediate")
                postgres.start()
                crashed.append(name)
            return real(*args, **named)

        monkeypatch.setattr(owner, name, wrapped)

    crash_before(Store, "insert", 2)
    if not long:
        crash_before(summaries, "write", 1)
    found = ingest_paths([tmp_path / "logs"], store_target=lake, lock_timeout=60)
    assert crashed == (["insert"] if long else ["insert", "write"])
    assert {s.status for s in found} == {"ingested"}
    with open_store(lake) as store:
        windows = 230 * len(found)
        assert store.rows("SELECT count(*), sum(windows) FROM run") == [(len(found), windows)]
        assert store.rows("SELECT count(*) FROM raw_decode_window") == [(windows,)]
        assert store.rows("SELECT count(*) FROM raw_ingest") == [(len(found),)]
        summed = store.rows("SELECT count(DISTINCT run_id), count(*) FROM raw_summary")
        assert summed == [(0, 0) if long else (len(found), len(found))]


def test_postgres_restarted_during_a_report(
    postgres: Postgres, lake: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    (path,) = log_maker(tmp_path / "logs", 1)
    speclog(lake, "ingest", str(path)).check_returncode()
    script = """
import sys
from speclog.store import snapshot
seen = []
def work(store):
    seen.append(store.rows("SELECT count(*) FROM run"))
    if len(seen) <= int(sys.argv[2]):
        print("go", flush=True)
        sys.stdin.readline()
    return store.rows("SELECT count(*) > 0 FROM raw_decode_window")
print(snapshot.read(sys.argv[1], work), len(seen), flush=True)
"""
    for losses, said in ((1, "[(True,)] 2"), (2, "the catalog cannot be reached")):
        reader = subprocess.Popen(
            [sys.executable, "-c", script, lake, str(losses)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert reader.stdout and reader.stdin
        for _ in range(losses):
            assert reader.stdout.readline() == "go\n"
            postgres.stop("immediate")
            reader.stdin.write("\n")
            reader.stdin.flush()
            time.sleep(1)
            postgres.start()
        out, err = reader.communicate(timeout=60)
        assert said in out + err


def test_postgres_away(
    postgres: Postgres, lake: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    (path,) = log_maker(tmp_path / "logs", 1)
    postgres.stop()
    try:
        for arguments in (("ingest", str(path)), ("runs",), ("gc",)):
            done = speclog(lake, *arguments, lock_timeout="1")
            assert_one_line(done, 4, "the catalog cannot be reached")
    finally:
        postgres.start()
    speclog(lake, "ingest", str(path)).check_returncode()


def test_a_lake_whose_parquet_is_gone(
    lake: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    (path,) = log_maker(tmp_path / "logs", 1)
    speclog(lake, "ingest", str(path)).check_returncode()
    shutil.rmtree(tmp_path / "lake")
    assert_one_line(speclog(lake, "sql", "SELECT count(*) FROM decode_window WHERE round_ms > 0"), 4)


def test_a_busy_file_names_its_holder(tmp_path: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    with open_store(target, read_only=False):
        done = speclog(target, "runs", lock_timeout="0.5")
    assert_one_line(done, 4, "busy", f"(PID {os.getpid()})", "--lock-timeout")
