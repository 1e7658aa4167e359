"""Properties of verdicts over generated runs: order, names of the arms, company, and unknowns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speclog.store import Store, open_store
from tests.fairness.build import START, Made, append_all, baseline, candidate

pytestmark = pytest.mark.slow
FEW = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))

CHANGES: list[dict[str, Any]] = [
    {},
    {"env": {"NCCL_PROTO": "LL"}},
    {"env": {"NCCL_PROTO": "Simple", "OMP_NUM_THREADS": "8"}},
    {"env": {"NCCL_GRAPH_FILE": "/etc/g.xml"}},
    {"prefixes": ()},
    {"args": {"page_size": 64}},
    {"args": {"novel_option": 3, "port": 31000}},
    {"args": {"disable_cuda_graph": True}, "graph": False, "facts": {"graph.enabled": False}},
    {"facts": {"weight.target_gb": 15.01, "kv_tokens": 400000}},
    {"facts": {"driver": "570.10.00"}},
    {"facts": {"workload.temperature": "0.0"}},
    {"drop": ["fact.torch"]},
    {"drop": ["arg.dtype", "fact.workload.dataset"]},
    {"version": None, "version_range": ("0.5.13", "0.5.15")},
    {"version": None},
    {"known_args": False},
    {"windows": 3},
    {"served": False},
    {"queue": 3},
    {"doubts": ["peak below mean"]},
]
REQUIRED = [
    "fact.gpu.name", "fact.gpu.count", "fact.gpu.power_limit_w", "fact.driver", "fact.torch",
    "fact.workload.dataset", "fact.workload.input_len", "fact.workload.output_len",
]  # fmt: skip
changes = st.sampled_from(CHANGES)


@cache
def _empty() -> bytes:
    """An empty store's file: made once, as making the schema takes longer than any verdict."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.duckdb"
        with open_store(str(path), read_only=False):
            pass
        return path.read_bytes()


@contextmanager
def fresh() -> Iterator[Store]:
    """An empty store of its own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.duckdb"
        path.write_bytes(_empty())
        with open_store(str(path), read_only=False) as store:
            yield store


@st.composite
def experiments(draw: st.DrawFn) -> list[Made]:
    """Two to four plain runs and one or two speculative ones, each changed in its own way."""
    plain = draw(st.lists(changes, min_size=2, max_size=4))
    spec = draw(st.lists(changes, min_size=1, max_size=2))
    made = [baseline(f"b{n}").but(**change) for n, change in enumerate(plain)]
    made += [candidate(f"c{n}").but(**change) for n, change in enumerate(spec)]
    return [run.but(started=START + timedelta(minutes=n)) for n, run in enumerate(made)]


def verdicts(store: Store) -> list[tuple[Any, ...]]:
    sql = (
        "SELECT candidate_name, baseline_name, verdict, n_confounders, n_unknown, n_entailed, reasons, "
        "caveats, contract_hash FROM comparison ORDER BY ALL"
    )
    return store.rows(sql)


def judged(store: Store, runs: Sequence[Made]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """By ordered pair of run_ids: what makes it unfair, and what leaves it unproven (view factor_pair)."""
    sql = """
        SELECT candidate, baseline, list(name ORDER BY name) FILTER (does = 'unfair'),
            list(name ORDER BY name) FILTER (does = 'unproven'),
            list(name ORDER BY name) FILTER (class = 'entailed')
        FROM factor_pair GROUP BY candidate, baseline
    """
    found = {(left, right): tuple(rest) for left, right, *rest in store.rows(sql)}
    assert len(found) == len(runs) * (len(runs) - 1)
    return found


@FEW
@given(experiments(), st.randoms(use_true_random=False))
def test_the_order_of_ingestion_changes_no_verdict(runs: list[Made], random: Any) -> None:
    shuffled = list(runs)
    random.shuffle(shuffled)
    found = []
    for order in (runs, shuffled):
        with fresh() as store:
            for run in order:  # one transaction a run, as ingest makes them
                append_all(store, [run])
            found.append(verdicts(store))
    assert found[0] == found[1]


@FEW
@given(experiments())
def test_which_arm_is_named_first_changes_no_verdict(runs: list[Made]) -> None:
    with fresh() as store:
        append_all(store, runs)
        found = judged(store, runs)
        for left, right in found:
            assert found[left, right] == found[right, left]
        sql = "SELECT verdict, n_confounders, n_unknown, contract_hash FROM compare(?, ?)"
        pair = [runs[0].run_id, runs[-1].run_id]
        assert store.rows(sql, pair) == store.rows(sql, pair[::-1])


@FEW
@given(experiments(), st.sampled_from(REQUIRED), st.integers(0, 9))
def test_no_unknown_is_ever_fair(runs: list[Made], name: str, place: int) -> None:
    dark = runs[place % len(runs)]
    runs[place % len(runs)] = dark.but(drop=[*dark.drop, name])
    with fresh() as store:
        append_all(store, runs)
        for left, right, verdict, *_ in verdicts(store):
            if dark.name in (left, right):
                assert verdict != "fair", (left, right, name)
        for (left, right), (_, unknown, _) in judged(store, runs).items():
            if dark.run_id in (left, right):
                assert name in (unknown or []), (left, right, name)
