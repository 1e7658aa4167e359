"""kill -9 of a writer at random moments: what was acknowledged stays whole, no half is seen, work resumes."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fleet_helpers import speclog

from speclog.store import open_store

MOMENTS = int(os.environ.get("SPECLOG_FLEET_KILLS", "50"))

# A writer that ingests its logs for ever, one after the other, and says so after each: an acknowledgement.
WRITER = """
import sys
from speclog.ingest.api import ingest_paths
for path in sys.argv[2:]:
    (summary,) = ingest_paths([path], store_target=sys.argv[1], lock_timeout=120)
    print(summary.status, path, flush=True)
"""


def start_writer(target: str, paths: list[Path], out: Path) -> subprocess.Popen[bytes]:
    """Start a writer in a process group of its own."""
    command = [sys.executable, "-c", WRITER, target, *map(str, paths)]
    with out.open("wb") as stream:
        return subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)


def test_kill_at_random_moments(
    shared_store: str, tmp_path: Path, log_maker: Callable[..., list[Path]]
) -> None:
    dice = random.Random(20261129)
    paths = log_maker(tmp_path / "logs", 400, more_windows=170)  # 200 windows each
    names = {path.stem: path for path in paths}
    acknowledged: set[str] = set()
    killed_midway = 0
    for moment in range(MOMENTS):
        left = [path for path in paths if path.stem not in acknowledged]
        out = tmp_path / f"out-{moment}"
        writer = start_writer(shared_store, left, out)
        deadline = time.monotonic() + 60
        while not out.read_bytes() and time.monotonic() < deadline:  # until the first log is in
            time.sleep(0.02)
        time.sleep(dice.uniform(0, 0.6))
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
        text = out.read_text()
        assert "Traceback" not in text, text
        said = [line.split()[1] for line in text.splitlines() if line.endswith(".log")]
        acknowledged |= {Path(path).stem for path in said}
        with open_store(shared_store, lock_timeout=30) as store:
            rows = store.rows("SELECT name, windows FROM run")
            assert {name for name, _ in rows} >= acknowledged, f"moment {moment}: an acknowledged log is gone"
            assert {windows for _, windows in rows} <= {200}, f"moment {moment}: half a log is visible"
            assert store.rows(
                "SELECT count(*) FROM raw_decode_window "
                "WHERE ingest_id NOT IN (SELECT ingest_id FROM raw_ingest)"
            ) == [(0,)], f"moment {moment}: rows of an ingest that did not happen"
        unacknowledged = {name for name, _ in rows} - acknowledged
        assert len(unacknowledged) <= 1  # committed, killed before it said so
        killed_midway += 1 if len(rows) < len(paths) else 0
        victim = next(path for path in paths if path.stem not in acknowledged)
        done = speclog(shared_store, "ingest", str(victim))
        assert done.returncode == 0, done.stderr
        acknowledged.add(victim.stem)
        if len(acknowledged) > 380:
            acknowledged -= set(list(names)[:300])  # read again: nothing may change
    assert killed_midway == MOMENTS
    with open_store(shared_store) as store:
        assert store.rows("SELECT count(*) - count(DISTINCT (run_id, line_no)) FROM decode_window") == [(0,)]
        assert store.rows("SELECT count(*) - count(DISTINCT run_id) FROM run") == [(0,)]
