"""Signals and kills: no process left, the log readable, the manifest intact - whoever dies first."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from standin import Log, Place, processes_of

pytestmark = pytest.mark.slow


def begin(place: Place, *words: str, under: tuple[str, ...] = (), **env: str) -> subprocess.Popen:
    command = list(under) + place.command("launch", "plain", "--out", "out", "--no-ingest", *words)
    return subprocess.Popen(
        command,
        cwd=place.path,
        env=place.env | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(place: Place, text: str, timeout: float = 30) -> None:
    path = place.path / "out" / "plain.r1.log"
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if path.is_file() and text in path.read_text(errors="replace"):
            return
        time.sleep(0.05)
    raise AssertionError(f"{text!r} never came: {path.read_text() if path.is_file() else 'no log'}")


def gone(place: Place, timeout: float = 20) -> None:
    marker = str(place.path / "cache")
    deadline = time.monotonic() + timeout
    while processes_of(marker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(marker) == []


def check_log(place: Place) -> Log:
    log = place.log()
    assert log.manifest["profile"] == "plain"
    assert log.data.endswith(b"\n")
    return log


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda v: str(v),
)
def test_a_signal_stops_everything_in_order(place, number, code):
    process = begin(place, FAKE_WINDOW_S="5")
    wait_for(place, "SPECLOG_WORKLOAD")
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert f"stopped by {number.name}; go on with: speclog launch --resume out" in err
    assert "Traceback" not in err
    log = check_log(place)
    assert "SIGTERM received." in log.data.decode()
    assert log.end == log.end | {"exit_code": code, "reason": f"stopped by {number.name}"}
    assert place.state()[0]["state"] == "interrupted"
    gone(place)


def test_a_signal_while_it_boots(place):
    process = begin(place, FAKE_BOOT_S="60")
    wait_for(place, "Capturing batches")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    log = check_log(place)
    assert log.end["exit_code"] == 130
    assert b"| 0/1[" in log.data  # the server's own bytes, an unfinished progress bar, as it wrote them
    gone(place)


def test_a_signal_while_sglang_is_asked(place):
    """Its import takes long, and Ctrl-C reaches all processes of the terminal: nobody is blamed."""
    slow = place.path / "slow-python"
    slow.write_text(f'#!/bin/bash\nsleep 300 & wait\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    process = begin(place, "--python", str(slow))
    assert process.stderr is not None
    assert process.stderr.readline() == "asking SGLang about the arguments\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "speclog: error: stopped by SIGINT\n")
    assert not (place.path / "out").exists()
    gone(place)


def test_a_second_signal_does_not_wait_for_a_deaf_server(place):
    process = begin(place, "--set", "launch.stop_grace_s=300", FAKE_DEAF="1", FAKE_WINDOW_S="5")
    path = place.path / "out" / "plain,launch.stop_grace_s=300.r1.log"
    while not (path.is_file() and "SPECLOG_WORKLOAD" in path.read_text()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    gone(place)


def test_a_terminal_that_closes(place):
    """The stderr it narrates on is gone when the signal comes."""
    process = begin(place, FAKE_WINDOW_S="5")
    wait_for(place, "SPECLOG_WORKLOAD")
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    process.wait(timeout=30)
    process.stdout.close()
    assert check_log(place).end["reason"] == "stopped by SIGHUP"
    gone(place)


def test_under_nohup_it_goes_on(place):
    process = begin(place, FAKE_WINDOW_S="0.5", under=("nohup",))
    wait_for(place, "SPECLOG_WORKLOAD")
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert check_log(place).end["reason"] == "done"


def test_nobody_reads_stdout_any_more(place):
    process = begin(place, "--repeat", "2")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0, err
    assert [run["state"] for run in place.state()] == ["done", "done"]


def test_killed_at_any_moment_nothing_stays_and_the_log_is_whole(place):
    """SIGKILL gives speclog no chance to clean up: its keeper does."""
    moments = random.Random(6)
    for attempt in range(5):
        process = begin(
            place, "--out", f"out{attempt}", FAKE_BOOT_S="0.5", FAKE_WINDOW_S="0.3", FAKE_ORPHAN="1"
        )
        path = place.path / f"out{attempt}" / "plain.r1.log"
        while not path.is_file():
            time.sleep(0.02)
        time.sleep(moments.uniform(0.2, 3.0))
        process.kill()
        process.communicate()
        gone(place)
        log = Log(path.read_bytes())
        assert log.manifest["profile"] == "plain"
        assert log.end["exit_code"] == 137 and "speclog was killed" in log.end["reason"]
        assert len(log.told("END")) == 1


def test_a_killed_keeper_does_not_leave_the_server(place):
    process = begin(place, FAKE_WINDOW_S="5")
    wait_for(place, "SPECLOG_WORKLOAD")
    keepers = [p for p in processes_of(str(place.path / "cache")) if _is_keeper(p)]
    assert len(keepers) == 1
    os.kill(keepers[0], signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == 53
    assert check_log(place).end["exit_code"] == 53
    gone(place)


def _is_keeper(process: int) -> bool:
    return b"keeper.py" in Path(f"/proc/{process}/cmdline").read_bytes()


def test_a_time_limit_keeps_what_was_finished(place):
    done = place.launch("plain", "--repeat", "50", "--time-limit", "6")
    states = [run["state"] for run in place.state()]
    assert states.count("done") >= 1 and "planned" in states
    assert done.returncode == 142 and "time limit" in done.stderr
    assert set(states) <= {"done", "planned", "interrupted"}
    gone(place)
