"""What a command asks of the cores."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
import os
from speclog.threads import load_numpy_alone
load_numpy_alone()
import numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


def counted(**asked: str) -> list[str]:
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    return subprocess.run(
        [sys.executable, "-c", COUNT], env=env | asked, capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_numpy_brings_no_threads() -> None:
    """And what speclog starts, a server say, does not find the variable set."""
    assert counted() == ["1", "None"]


def test_numpy_brings_the_threads_that_the_user_asks_for() -> None:
    assert counted(OPENBLAS_NUM_THREADS="2")[1] == "2"
