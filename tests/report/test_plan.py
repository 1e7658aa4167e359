"""`speclog plan` on the story: the missing run and its command."""

import json
import os
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


def test_the_script_vouches_for_nothing(example_logs: Path, tmp_path: Path) -> None:
    """An unproven pair of plain logs: run as it stands, the plan's script must not make it fair."""
    store, logs = tmp_path / "s.duckdb", example_logs / "h200-llama8b"
    done = run(store, "ingest", *map(str, sorted(logs.glob("*.log"))))
    assert done.returncode == 0, done.stderr
    script = run(store, "plan", "--script")
    speclog = tmp_path / "bin" / "speclog"
    speclog.parent.mkdir()
    speclog.write_text(f'#!/bin/bash\nexec {sys.executable} -m speclog "$@"\n')
    speclog.chmod(0o755)
    path = {"PATH": f"{speclog.parent}:/usr/bin:/bin"}
    ran = subprocess.run(
        ["bash"], input=script.stdout, text=True, capture_output=True, env=os.environ | path, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    before = json.loads(run(store, "check", "--json").stdout)
    assert {one["vouched"] for one in before} == {False}
    assert "unproven" in {one["verdict"] for one in before}
    # a person's word is a line without its mark, with labels in place of NAME
    offered = [line for line in script.stdout.splitlines() if line.startswith("# speclog --store")]
    assert offered
    words = "\n".join(line.removeprefix("# ").replace("NAME", "mine") for line in offered)
    ran = subprocess.run(["bash", "-e"], input=words, text=True, capture_output=True, env=os.environ | path)
    assert ran.returncode == 0, ran.stderr
    assert True in {one["vouched"] for one in json.loads(run(store, "check", "--json").stdout)}


def test_the_plan_names_the_missing_run_and_its_command(store: Path) -> None:
    (row,) = json.loads(run(store, "plan", *CANDIDATE, "--json").stdout)
    launched = row["command"].splitlines()[-1]
    assert launched == f"speclog --store {store} launch kimi-k25-tp8-eagle3-5x6"
    assert row["command"].count("export NCCL_") == 6
    script = run(store, "plan", *CANDIDATE, "--script").stdout
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
