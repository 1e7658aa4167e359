"""The labelled set: no unfair pair missed, none accused falsely, no unknown called fair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from speclog.store import Store, open_store
from tests.fairness.build import append_all
from tests.fairness.pairs import OWN, Labelled, built

pytestmark = pytest.mark.slow
PAIRS = built()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    target = str(tmp_path_factory.mktemp("labelled") / "s.duckdb")
    with open_store(target, read_only=False) as opened:
        append_all(opened, [run for pair in PAIRS for run in (pair.candidate, pair.baseline)])
        yield opened


@pytest.fixture(scope="module")
def verdicts(store: Store) -> dict[tuple[str, str], tuple[str, list[str]]]:
    rows = store.rows("SELECT candidate_name, baseline_name, verdict, reasons FROM comparison")
    return {(c, b): (verdict, reasons) for c, b, verdict, reasons in rows}


def test_there_are_enough_pairs_of_every_kind() -> None:
    assert len(PAIRS) + len(OWN) >= 60
    assert len({pair.kind for pair in PAIRS}) >= 10


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}: {pair.name}")
def test_verdict(
    pair: Labelled, verdicts: dict[tuple[str, str], tuple[str, list[str]]], store: Store
) -> None:
    if pair.swapped:
        ((verdict, reasons),) = store.rows(
            "SELECT verdict, reasons FROM compare(?, ?)", [pair.baseline.run_id, pair.candidate.run_id]
        )
    else:
        verdict, reasons = verdicts[pair.candidate.name, pair.baseline.name]
    assert verdict == pair.label, reasons
    assert bool(reasons) == (verdict != "fair")


def test_own_logs(shared: Path, example_logs: Path, tmp_path: Path) -> None:
    from speclog.ingest.api import ingest_paths

    target = str(tmp_path / "own.duckdb")
    logs = [*sorted((shared / "logs/h200-llama8b").glob("*.log")), example_logs / "kimi-k25-story"]
    ingest_paths(logs, store_target=target, lock_timeout=20.0)
    with open_store(target) as opened:
        fast = {
            (c, b): verdict
            for c, b, verdict in opened.rows("SELECT candidate_name, baseline_name, verdict FROM comparison")
        }
        ids = dict(opened.rows("SELECT name, run_id FROM run"))
        for left, right, label in OWN:
            found = fast.get((left, right))
            if found is None:
                sql = "SELECT verdict FROM compare(?, ?)"
                ((found,),) = opened.rows(sql, [ids[left], ids[right]])
            assert found == label, (left, right)
