"""`speclog plan` on the story: the missing run and its command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CANDIDATE = ("--run", "eagle3-5x6-untuned")


@pytest.fixture(scope="module")
def store(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("check") / "s.duckdb"
    done = run(path, "ingest", str(example_logs / "kimi-k25-story"))
    assert done.returncode == 0, done.stderr
    return path


def run(store: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "speclog", "--store", str(store), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_plan_names_the_missing_run_and_its_command(store: Path) -> None:
    (row,) = json.loads(run(store, "plan", *CANDIDATE, "--json").stdout)
    launched = row["command"].splitlines()[-1]
    assert launched == f"speclog --store {store} launch kimi-k25-tp8-eagle3-5x6"
    assert row["command"].count("export NCCL_") == 6
    script = run(store, "plan", *CANDIDATE, "--script").stdout
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
