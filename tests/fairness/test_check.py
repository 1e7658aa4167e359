"""`speclog check` and `speclog annotate` as a user calls them, on the story's logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from speclog.cli import cli
from speclog.errors import CheckFailed, UsageError
from speclog.ingest.api import ingest_paths


@pytest.fixture(scope="module")
def target(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    name = str(tmp_path_factory.mktemp("check") / "s.duckdb")
    ingest_paths([example_logs / "kimi-k25-story"], store_target=name, lock_timeout=20.0)
    return name


def check(target: str, *words: str) -> tuple[list[dict[str, object]], object]:
    done = CliRunner().invoke(cli, ["--store", target, "check", "--json", *words])
    return json.loads(done.stdout or "[]"), done.exception


def test_the_fair_baseline_is_found_and_the_naive_one_named(target: str) -> None:
    rows, error = check(target, "--run", "eagle3-5x6-untuned")
    assert error is None
    assert rows[0]["baseline_name"] == "baseline-fresh"
    assert rows[0]["verdict"] == rows[0]["effective_verdict"] == "fair"
    assert rows[0]["naive_baseline_name"] == "baseline-remembered"


def test_an_unfair_pair_fails_and_an_allowance_is_stamped(target: str) -> None:
    words = ["--run", "eagle3-5x6-untuned", "--vs", "baseline-retuned"]
    rows, error = check(target, *words)
    assert isinstance(error, CheckFailed)
    assert rows[0]["n_confounders"] == 6
    names = ["PROTO", "ALGO", "P2P_LEVEL", "MAX_NCHANNELS", "BUFFSIZE", "NTHREADS"]
    allowed = [word for name in names for word in ("--allow", f"env.NCCL_{name}=known")]
    rows, error = check(target, *words, *allowed)
    assert error is None
    assert rows[0]["verdict"] == "unfair"
    assert rows[0]["effective_verdict"] == "fair"
    assert len(rows[0]["allowed"]) == 6  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", ["", " , ", "slow", "none,unfair"])
def test_a_check_that_could_not_fail_is_refused(target: str, kinds: str) -> None:
    """A variable that is empty in CI would make every build green."""
    _, error = check(target, "--fail-on", kinds)
    assert isinstance(error, UsageError)
    assert str(error).startswith(f"--fail-on '{kinds}': of unfair, unproven, regression, with commas between")


def test_a_check_that_only_says_it(target: str) -> None:
    words = ["--run", "eagle3-5x6-untuned", "--vs", "baseline-retuned"]
    rows, error = check(target, *words, "--fail-on", "none")
    assert error is None
    assert (rows[0]["verdict"], rows[0]["failed"]) == ("unfair", [])


def test_what_was_not_compared_and_what_was_not_needed_is_said(example_logs: Path, tmp_path: Path) -> None:
    dead = tmp_path / "dead.log"
    lines = (example_logs / "kimi-k25-story" / "eagle3-5x6-untuned.log").read_text().splitlines(keepends=True)
    told = json.loads(lines[1].partition(" v=1 ")[2]) | {"session": "dead"}
    dead.write_text(f"SPECLOG_MANIFEST v=1 {json.dumps(told)}\n" + "".join(lines[2:8]))  # until it loads
    store = str(tmp_path / "s.duckdb")
    ingest_paths([example_logs / "kimi-k25-story", dead], store_target=store, lock_timeout=20.0)
    words = ["check", "--run", "*", "--allow", "env.NCCL_PORTO=a typo", "--json"]
    done = CliRunner().invoke(cli, ["--store", store, *words])
    assert "not compared: dead (never served)" in done.stderr
    assert "--allow env.NCCL_PORTO: no comparison needs it" in done.stderr
    alone = CliRunner().invoke(cli, ["--store", store, "check", "--run", "dead"])
    assert isinstance(alone.exception, UsageError)
    assert "not compared: dead (never served)" in str(alone.exception)


def test_a_catalogue_of_ones_own_decides_and_its_faults_are_named(target: str, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[factor]]\nkeys = ["env.NCCL_*"]\nclass = "noise"\n')
    words = ["--run", "eagle3-5x6-untuned", "--vs", "baseline-retuned", "--factors", str(own)]
    rows, error = check(target, *words)
    assert error is None
    assert rows[0]["verdict"] == "fair"
    own.write_text('[[factor]]\nkeys = ["env.NCCL_*"]\nclas = "noise"\n')
    _, error = check(target, *words)
    assert isinstance(error, UsageError)
    assert f"{own}: factor 1: clas: no such key; did you mean class?" in str(error)


def test_a_record_is_not_overruled_by_memory(target: str) -> None:
    words = ["--store", target, "annotate", "baseline-fresh", "env.NCCL_PROTO=LL"]
    done = CliRunner().invoke(cli, words)
    assert isinstance(done.exception, UsageError)
    assert "the log says env.NCCL_PROTO=(unset)" in str(done.exception)
