"""Files that commands write: whole or not at all, with the caller's permissions, and never over a store."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import frames

from speclog import whole
from speclog.errors import UsageError
from speclog.store import open_store


def speclog(target: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "speclog", "--store", target, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_an_answer_never_takes_the_place_of_a_store(target: str, tmp_path: Path, fmt: str) -> None:
    with open_store(target, read_only=False) as store:
        store.append(frames("a"))
    link = tmp_path / "answer.csv"
    link.symlink_to(target)
    before = Path(target).read_bytes()
    for output in (target, str(link)):
        done = speclog(target, "sql", "SELECT 1 AS one", "--format", fmt, "-o", output)
        assert (done.returncode, done.stdout) == (2, "")
        assert "a database; it is not overwritten" in done.stderr
    assert Path(target).read_bytes() == before


def test_a_lake_s_catalog_is_a_database_too(tmp_path: Path) -> None:
    catalog = tmp_path / "m.sqlite"
    with sqlite3.connect(catalog) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(UsageError, match="not overwritten"):
        whole.write(catalog, "x")


def test_a_file_has_the_permissions_that_the_caller_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        whole.write(tmp_path / "new", "x")
        (tmp_path / "old").write_text("old")
        (tmp_path / "old").chmod(0o664)
        (tmp_path / "link").symlink_to("old")
        whole.write(tmp_path / "link", b"new")
    finally:
        os.umask(before)
    assert oct((tmp_path / "new").stat().st_mode & 0o777) == "0o640"
    assert (oct((tmp_path / "old").stat().st_mode & 0o777), (tmp_path / "old").read_text()) == (
        "0o664", "new",
    )  # fmt: skip
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new", "old"]


def test_an_answer_goes_into_a_pipe(target: str, tmp_path: Path) -> None:
    done = speclog(target, "sql", "SELECT 1 AS one", "--format", "csv", "-o", "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, "one\n1\n/dev/stdout\n")
