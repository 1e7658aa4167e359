"""How commands end when the machine refuses, a disk is full, a person interrupts: one line, the code."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from speclog import console
from speclog.store import open_store

SPECLOG = [sys.executable, "-m", "speclog"]
START = "[2026-11-29 12:00:00] server_args=ServerArgs(model_path='m')\n"
ENV = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command there; it must not show a traceback."""
    done = subprocess.run([*SPECLOG, *words], cwd=cwd, env=ENV, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done


def refused(done: subprocess.CompletedProcess[str], code: int, *said: str) -> None:
    """One line on stderr that says so, and this exit code."""
    assert done.returncode == code, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for text in said:
        assert text in done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with an empty store and a log without a line of use."""
    with open_store(str(tmp_path / "speclog.duckdb"), read_only=False):
        pass
    (tmp_path / "x.log").write_text(START)
    return tmp_path


def test_an_output_that_cannot_be_written(place: Path) -> None:
    refused(run("sql", "SELECT 1", "-o", "/nonexistent/x.csv", cwd=place), 3, "/nonexistent/x.csv: No such")
    refused(run("export", "--parquet", "/proc/x", cwd=place), 3, "No such file or directory")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_stdout_is_said(place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        done = subprocess.run(
            [*SPECLOG, "query"],
            cwd=place,
            env=env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    refused(done, 3, "No space left on device")  # type: ignore[arg-type]


def test_a_directory_in_the_place_of_a_store_or_a_followed_log(place: Path) -> None:
    refused(run("--store", ".", "ingest", "x.log", cwd=place), 4, "a directory", "such as speclog.duckdb")
    refused(run("--store", ".", "runs", cwd=place), 4, "a directory")
    (place / "logs").mkdir()
    refused(run("ingest", "--follow", "logs", cwd=place), 3, "logs: a directory")


def test_what_is_packed_cannot_be_followed(place: Path) -> None:
    (place / "x.log.gz").write_bytes(b"\x1f\x8b")
    refused(run("ingest", "--follow", "x.log.gz", cwd=place), 3, "packed", "leave out --follow")
    refused(run("watch", "x.log.gz", "--once", cwd=place), 3, "packed", "speclog ingest")


def test_a_log_that_is_not_there_cannot_be_watched_once(place: Path) -> None:
    refused(run("watch", "none.log", "--once", cwd=place), 3, "none.log: no such file")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_directory_of_somebody_else() -> None:
    script = (
        "import os, sys; os.setgid(65534); os.setuid(65534); "
        "from speclog.__main__ import main; sys.argv = ['speclog', *sys.argv[1:]]; main()"
    )
    with tempfile.TemporaryDirectory() as locked:  # only its owner may enter
        command = [sys.executable, "-c", script, "--store", f"{locked}/s.duckdb", "runs"]
        done = subprocess.run(command, cwd="/", env=ENV, capture_output=True, text=True, timeout=60)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip("this Python is closed to other users")
    refused(done, 4, "cannot be reached: Permission denied", "check --store")


@pytest.mark.parametrize("words", [("gc",), ("annotate", "r", "note=x"), ("runs", "rm", "r")])
def test_upkeep_makes_no_store_of_a_mistyped_name(place: Path, words: tuple[str, ...]) -> None:
    refused(run("--store", "typo.duckdb", *words, cwd=place), 4, "typo.duckdb: no store here")
    assert not (place / "typo.duckdb").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--lock-timeout", "nan", "runs"), "nan is not a number of seconds"),
        (("--lock-timeout", "-1", "runs"), "not in the range"),
        (("--lock-timeout", "2x", "runs"), "'2x' is no time: write seconds, or a duration such as 90s"),
        (("--lock-timeout", "9" * 30 + "w", "runs"), "is no time"),
        (("watch", "x.log", "--interval", "-1"), "not in the range"),
        (("watch", "x.log", "--interval", "inf"), "inf is not a number of seconds"),
    ],
)
def test_seconds_are_finite_and_not_negative(place: Path, words: tuple[str, ...], said: str) -> None:
    done = run(*words, cwd=place)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("0.5", 0.5)])
def test_seconds_are_typed_as_durations_too(text: str, seconds: float) -> None:
    from speclog.durations import Seconds

    assert Seconds().convert(text, None, None) == seconds


def test_sql_on_stdin_that_is_no_text(place: Path) -> None:
    done = subprocess.run(
        [*SPECLOG, "sql", "-"], cwd=place, env=ENV, capture_output=True, input=b"SELECT\xff", timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.decode() == "speclog: error: SQL on stdin: byte 7 is not UTF-8 text\n"


def _started(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*SPECLOG, *words], cwd=cwd, env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _interrupted(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    return err


def test_ctrl_c_while_watching_is_130(place: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen(
        [*SPECLOG, "watch", "x.log"],
        cwd=place,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "no margin" in process.stderr.readline()
    assert _interrupted(process).strip() == "speclog: error: interrupted"


def test_ctrl_c_during_a_query_is_130(place: Path) -> None:
    endless = "SELECT sum(hash(range)) FROM range(1000000000000)"
    process = _started("sql", endless, cwd=place)
    spent = Path(f"/proc/{process.pid}/stat")
    while int(spent.read_text().rsplit(")", 1)[1].split()[11]) < 300:  # 3 s of CPU: the query runs by now
        time.sleep(0.1)
    assert _interrupted(process).strip().endswith("speclog: error: interrupted")


HOSTILE = "a\x1b[2J\x9bb\u202ec\u2028d"


def on_terminal(*words: str, cwd: Path, columns: int = 80) -> str:
    """What a command writes to a terminal of so many columns."""
    master, slave = pty.openpty()
    env = ENV | {"COLUMNS": str(columns)}
    process = subprocess.Popen([*SPECLOG, *words], cwd=cwd, env=env, stdout=slave, stderr=slave)
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        out += piece
    os.close(master)
    assert process.wait(timeout=60) == 0
    return out.decode()


def test_csv_is_exact_in_a_pipe_and_harmless_on_a_terminal(place: Path) -> None:
    words = ("sql", "SELECT 'a' || chr(27) || '[2J' || chr(8238) AS x", "--format", "csv")
    assert run(*words, cwd=place).stdout == "x\na\x1b[2J\u202e\n"
    assert on_terminal(*words, cwd=place).split() == ["x", "a\\x1b[2J\\u202e"]


def test_json_says_the_same_without_a_character_a_terminal_obeys() -> None:
    written = console.clean_json(json.dumps([{"x": HOSTILE}], ensure_ascii=False, indent=1))
    assert json.loads(written) == [{"x": HOSTILE}]
    assert console.clean(written.replace("\n", "")) == written.replace("\n", "")
    assert "\n" in written


def test_a_table_too_wide_for_the_terminal_is_printed_row_by_row(place: Path) -> None:
    columns = ", ".join(f"1234567.25 + {i} AS quite_long_name_{i}" for i in range(8))
    lines = on_terminal("sql", f"SELECT {columns}, NULL AS nothing", cwd=place).splitlines()
    assert lines[0] == "-- 1 of 1 --"
    assert lines[1] == "quite_long_name_0  1234567.25"
    assert len(lines) == 9
    narrow = on_terminal("sql", "SELECT 1 AS a, 'text' AS b", cwd=place)
    assert "-- 1 of 1 --" not in narrow
