"""A hundred thousand hostile logs through ingest (SPECLOG_FLEET_FUZZ: how many), two processes at a time."""

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from fuzzing import Fuzzed, fuzz

COUNT = int(os.environ.get("SPECLOG_FLEET_FUZZ", "100000"))
PROCESSES = int(os.environ.get("SPECLOG_FLEET_PROCESSES", "2"))
SLICE = 5000


def test_hostile_logs_are_read_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slices = [range(start, min(start + SLICE, COUNT)) for start in range(0, COUNT, SLICE)]
    folders = [tmp_path / str(numbers.start) for numbers in slices]
    began, done = time.monotonic(), Fuzzed()
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        for part in pool.map(fuzz, slices, folders):
            done += part
            with capsys.disabled():
                print(f"\n{done.logs} hostile logs, {done.sessions} sessions", end="", flush=True)
    seconds = time.monotonic() - began
    with capsys.disabled():
        print(
            f"\n{done.logs:,} hostile logs, {done.megabytes:,.0f} MB, {done.sessions:,} sessions in "
            f"{seconds:,.0f} s: {done.logs / seconds:.0f} logs/s, {done.logs / done.cpu_s:.0f} a CPU second, "
            f"peak {done.peak_mb:.0f} MB; {done.again} measured again"
        )
    assert done.logs == COUNT
    assert done.sessions > COUNT / 2  # most are still logs
    assert done.again < 10 + COUNT / 1000  # else this machine tells nothing of how long a log takes
