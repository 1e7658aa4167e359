"""What is read ahead of a page must not change it, and is no more than was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speclog.errors import UsageError
from speclog.report import ahead, report_text
from speclog.report.sides import Sides
from speclog.runs import resolve
from speclog.store import open_store
from tests.report.make import ingest

CANDIDATE, BASELINE = "eagle3-5x6-untuned", "baseline-fresh"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, example_logs: Path) -> str:
    target = str(tmp_path_factory.mktemp("ahead") / "s.duckdb")
    ingest([example_logs / "kimi-k25-story"], target)
    return target


def page(store: str) -> dict[str, object]:
    found = json.loads(report_text(store, vs=BASELINE, candidates=[CANDIDATE], fmt="json"))
    assert isinstance(found, dict)
    return {name: value for name, value in found.items() if name != "made"}


def test_a_page_is_the_same_with_and_without_reading_ahead(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[ahead.Named] = []
    look = ahead.look

    def seen(target: str, runs: ahead.Named, lock_timeout: float) -> Sides:
        looked.append(runs)
        return look(target, runs, lock_timeout)

    monkeypatch.setattr(ahead, "look", seen)
    plain = page(store)
    assert looked == []
    monkeypatch.setattr(ahead, "FROM", 0)
    assert page(store) == plain
    assert [(len(runs.candidates), len(runs.baselines)) for runs in looked] == [(1, 1)]


def test_only_runs_that_are_named_are_read_ahead(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "FROM", 0)
    with open_store(store) as opened:
        found = ahead.named(opened, BASELINE, [CANDIDATE])
        assert found == ahead.Named(tuple(resolve(opened, CANDIDATE)), tuple(resolve(opened, BASELINE)))
        assert ahead.named(opened, "baseline", [CANDIDATE]) is None
        assert ahead.named(opened, BASELINE, None) is None
        assert ahead.named(opened, "no-such-run", [CANDIDATE]) is None
        monkeypatch.setattr(ahead, "MOST", 1)
        assert ahead.named(opened, BASELINE, [CANDIDATE]) is None


def test_a_name_that_fits_no_run_is_said_all_the_same(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "FROM", 0)
    with pytest.raises(UsageError, match="no-such-run: no run has this id, name or tag"):
        report_text(store, vs="no-such-run", candidates=[CANDIDATE])
