"""Two engines on one box with one model: refused unless asked for, and then labelled. Real logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from speclog.cli import cli
from speclog.errors import CheckFailed, UsageError
from speclog.ingest.api import ingest_paths
from speclog.report import report_text

pytestmark = pytest.mark.slow
SGLANG, VLLM = "01-dflash-sglang0516-*", "02-dflash-vllm-*"


@pytest.fixture(scope="module")
def target(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    name = str(tmp_path_factory.mktemp("engines") / "s.duckdb")
    logs = [path for start in ("01", "02", "57") for path in (shared / "logs/public").glob(f"{start}-*.log")]
    ingest_paths(logs, store_target=name, lock_timeout=20.0)
    return name


def run(target: str, *words: str) -> tuple[str, BaseException | None]:
    done = CliRunner().invoke(cli, ["--store", target, "check", *words])
    return done.stdout, done.exception


def test_the_pair_is_refused_and_the_reason_is_the_engines(target: str) -> None:
    out, error = run(target, "--vs", VLLM, "--run", SGLANG)
    assert out == ""
    assert isinstance(error, UsageError)
    assert "is a vllm run, the candidate sglang" in str(error)
    assert "--cross-engine" in str(error)


def test_asked_for_it_is_labelled_and_unfair(target: str) -> None:
    out, error = run(target, "--vs", VLLM, "--run", SGLANG, "--cross-engine", "--json")
    assert isinstance(error, CheckFailed)
    (row,) = json.loads(out)
    assert row["cross_engine"] is True
    assert row["verdict"] == "unfair"
    assert any(text.startswith("2 software factors differ: engine") for text in row["reasons"])


def test_the_report_refuses_too(target: str) -> None:
    text = report_text(target, vs="57-vllm-*", candidates=[SGLANG], fmt="json")
    (section,) = json.loads(text)["candidates"]
    assert section["verdict"] == "no baseline"
    assert section["comparisons"] == []
    assert "the baseline is a vllm run, the candidate sglang" in section["headline"]
