"""Tuning measured on another driver, NCCL or GPU than the run's is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from speclog.analysis.staleness import load, stale
from speclog.ingest.api import ingest_paths
from speclog.report import report_text
from speclog.report.check import check
from speclog.report.evidence import told
from speclog.store import Store, open_store
from tests.fairness.build import baseline, candidate

HERE = {"gpu.name": "NVIDIA H200", "driver": "580.95.05", "nccl": "2.28.9", "torch": "2.11.0"}


@pytest.mark.parametrize(
    ("evidence", "texts"),
    [
        ({"gpu": "NVIDIA H200", "driver": "580.95.05", "nccl": "2.28.9"}, []),
        ({"measured": "2026-01", "note": "anything"}, []),
        ({"torch": "2.11.0+cu130"}, []),  # the run does not say which build: no other version is shown
        ({"torch": "2.10.0+cu130"}, ["tuning t was measured on torch 2.10.0+cu130, this run has 2.11.0"]),
        ({"nccl": "2.27.5"}, ["tuning t was measured on NCCL 2.27.5, this run has 2.28.9"]),
        (
            {"gpu": "NVIDIA H100", "driver": "570.1"},
            [
                "tuning t was measured on GPU NVIDIA H100, this run has NVIDIA H200",
                "tuning t was measured on driver 570.1, this run has 580.95.05",
            ],
        ),
        ({"sglang": "0.5.9"}, ["tuning t was measured on SGLang 0.5.9; this run's is not recorded"]),
    ],
)
def test_what_has_changed_since_is_named(evidence: dict[str, str], texts: list[str]) -> None:
    assert [one.text for one in stale("t", evidence, HERE)] == texts


@pytest.mark.slow
def test_a_manifest_carries_its_evidence_and_it_is_noise_for_the_verdict(
    store_of: Callable[..., Store],
) -> None:
    then = {"evidence.tuning.nccl": "2.27.5", "evidence.tuning.gpu": "NVIDIA H200"}
    tuned, plain = candidate("tuned", facts=then), baseline("plain")
    store = store_of(tuned, plain)
    assert store.rows("SELECT verdict FROM comparison") == [("fair",)]
    found = load(store, [tuned.run_id, plain.run_id])
    assert [one.text for one in found[tuned.run_id]] == [
        "tuning tuning was measured on NCCL 2.27.5, this run has 2.28.9"
    ]
    assert plain.run_id not in found
    (row,) = check(store, vs=None, candidates=None, reasons={}, fail_on=["unfair"])
    assert row.verdict == row.effective_verdict == "fair"
    assert any("candidate: tuning tuning was measured on NCCL 2.27.5" in text for text in row.caveats)


@pytest.mark.slow
def test_the_story_s_tuning_was_measured_on_another_nccl(example_logs: Path, tmp_path: Path) -> None:
    """Its manifests only name the overlay, so the overlay itself is asked."""
    target = str(tmp_path / "s.duckdb")
    ingest_paths([example_logs / "kimi-k25-story"], store_target=target, lock_timeout=20.0)
    evidence = told("nccl-pcie-ll")
    assert evidence is not None
    said = f"tuning nccl-pcie-ll was measured on NCCL {evidence['nccl']}, this run has 2.28.9"
    with open_store(target) as store:
        ids = dict(store.rows("SELECT name, run_id FROM run"))
        found = load(store, list(ids.values()), told)
    assert set(found) == {ids["baseline-remembered"], ids["baseline-retuned"]}
    assert [one.text for one in found[ids["baseline-retuned"]]] == [said]
    text = report_text(target, vs="baseline-retuned", candidates=["eagle3-5x6-untuned"], fmt="json")
    assert json.loads(text)["candidates"][0]["stale"] == [f"baseline-retuned: {said}"]
    page = report_text(target, vs="baseline-retuned", candidates=["eagle3-5x6-untuned"], fmt="html")
    assert "Tuning that was measured elsewhere: baseline-retuned" in page


def test_a_name_that_no_file_has_tells_nothing() -> None:
    assert told("no-such-overlay") is None
    assert told("profiling") is None
