"""What big queries put on the disk: where, and who clears up after a killed process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from speclog.store import open_store, spill

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are looked up as POSIX has them")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left_by(pid: int, parent: Path, days: float) -> Path:
    folder = parent / f"speclog-spill-{pid}"
    folder.mkdir()
    (folder / "duckdb_temp_storage.tmp").write_bytes(b"x" * 1000)
    then = time.time() - days * 86_400
    for path in (folder / "duckdb_temp_storage.tmp", folder):
        os.utime(path, (then, then))
    return folder


def test_what_a_killed_process_left_is_removed_after_a_day(temporary: Path) -> None:
    old = left_by(dead_process(), temporary, days=2)
    recent = left_by(dead_process() + 100_000_000, temporary, days=0.5)
    assert spill.directory() == temporary / f"speclog-spill-{os.getpid()}"
    assert not old.exists()
    assert recent.exists(), "perhaps of a process in another container"


def test_what_a_living_process_spills_stays(temporary: Path) -> None:
    mine = left_by(os.getpid(), temporary, days=2)
    spill.directory()
    assert mine.exists()


def test_nothing_but_such_directories_is_touched(
    temporary: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept").touch()
    dead = dead_process()
    link = temporary / f"speclog-spill-{dead}"
    link.symlink_to(elsewhere)
    named_alike = temporary / f"speclog-spill-{dead}-notes"
    named_alike.mkdir()
    os.utime(named_alike, (0, 0))
    spill.directory()
    assert link.is_symlink()
    assert (elsewhere / "kept").exists()
    assert named_alike.exists()


def test_a_file_that_is_only_read_spills_among_the_temporary_files(temporary: Path) -> None:
    target = str(temporary / "s.duckdb")
    with open_store(target, read_only=False):
        pass
    with open_store(target) as store:
        assert store.rows("SELECT current_setting('temp_directory')") == [
            (str(temporary / f"speclog-spill-{os.getpid()}"),)
        ]
