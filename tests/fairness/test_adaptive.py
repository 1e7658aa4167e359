"""A server that changes its draft steps: nothing is judged by the number of steps it begins with."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from speclog.analysis import golden
from speclog.ingest import sidecars
from speclog.report import rows
from speclog.store import Store
from tests.fairness.build import baseline, candidate

pytestmark = pytest.mark.slow
MODEL = {"model_path": "/models/Kimi-K2.5"}


@pytest.mark.parametrize("adaptive", [True, False])
def test_steps_are_unknown_where_they_change(store_of: Callable[..., Store], adaptive: bool) -> None:
    """Five steps at the start, one or seven later: 1.9 is no broken draft and 6.4 no ceiling."""
    low = candidate("low", args={**MODEL, "speculative_adaptive": adaptive}, tau=1.9)
    high = candidate("high", args={**MODEL, "speculative_adaptive": adaptive}, tau=6.4, round_ms=14.0)
    store = store_of(low, high, baseline(args={**MODEL, "speculative_adaptive": False}))
    run = rows.runs(store)[low.run_id]
    assert run.adaptive is adaptive
    assert (run.steps, run.draft_tokens) == ((None, None) if adaptive else (5, 6))
    assert run.treatment == ("EAGLE3 adaptive steps" if adaptive else "EAGLE3 5 steps, 6 draft tokens")
    assert run.short_treatment == ("EAGLE3 adaptive" if adaptive else "EAGLE3 5/6")
    assert bool(golden.broken(store, [low.run_id])) is not adaptive
    sql = "SELECT value FROM measured WHERE name = 'measure.accept_length' AND run_id = ?"
    assert store.rows(sql, [high.run_id]) == [("measured" if adaptive else "at its ceiling",)]
    assert store.rows("SELECT DISTINCT verdict FROM comparison") == [("fair",)]


@pytest.mark.parametrize(("adaptive", "ceiling"), [("true", None), ("false", 6)])
def test_a_client_s_accept_length_has_no_ceiling_either(adaptive: str, ceiling: int | None) -> None:
    session = SimpleNamespace(args={"speculative_num_steps": "5", "speculative_adaptive": adaptive})
    assert sidecars._ceiling(session) == ceiling  # type: ignore[arg-type]
