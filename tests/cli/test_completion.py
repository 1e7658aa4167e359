"""What the shell is offered: commands, runs of the store, profiles, overlays, queries."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from speclog.ingest.api import ingest_paths


@pytest.fixture(scope="module")
def store(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("complete") / "s.duckdb"
    ingest_paths([example_logs / "kimi-k25-story" / "baseline-fresh.log"], store_target=str(path))
    return path


def offered(*words: str, store: Path | None = None) -> list[str]:
    """The words that bash would be offered for the last of ``words``."""
    env = os.environ | {
        "_SPECLOG_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["speclog", *words]),
        "COMP_CWORD": str(len(words)),
        "SPECLOG_STORE": str(store or "/nowhere/none.duckdb"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "speclog"], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return [line.split(",", 1)[1] for line in done.stdout.splitlines() if line]


def test_commands() -> None:
    assert offered("wh") == ["whatif"]


def test_runs_of_the_store(store: Path) -> None:
    assert offered("report", "--vs", "b", store=store) == ["baseline", "baseline-fresh"]
    assert offered("report", "--run", "", store=store) == ["baseline-fresh"]
    assert offered("--store", str(store), "annotate", "base") == ["baseline-fresh"]


def test_a_store_that_is_not_there_offers_nothing_and_says_nothing() -> None:
    assert offered("annotate", "b") == []
    assert offered("report", "--vs", "") == []


def test_profiles_overlays_and_queries() -> None:
    assert offered("launch", "tiny") == ["tiny-cpu-baseline", "tiny-cpu-eagle3"]
    assert offered("doctor", "--with", "nccl") == ["nccl-pcie-ll"]
    assert "levels" in offered("query", "l")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("no bash here")
    done = subprocess.run(
        [sys.executable, "-m", "speclog", "completion", shell], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "_SPECLOG_COMPLETE" in done.stdout
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=done.stdout, text=True).returncode == 0
