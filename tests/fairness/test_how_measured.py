"""What the windows say: pipeline ranks count once, and what is impossible is so at equal context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from speclog.store import Store
from tests.fairness.build import Made, baseline, candidate

pytestmark = pytest.mark.slow
Stores = Callable[..., Store]
FOUR = {"args": {"pp_size": 4}, "facts": {"gpu.count": 4}}


class Pipeline(Made):
    """Each of four pipeline ranks prints every window, as SGLang's do."""

    def _windows(self) -> list[dict[str, Any]]:
        tau = self.tau if self.speculative else 1.0  # in a pipeline tokens grow by just what was generated
        grown = [w | {"token": int(200 + 40 * tau * place)} for place, w in enumerate(super()._windows())]
        copies = [window | {"pp_rank": rank} for window in grown for rank in range(4)]
        return [window | {"line_no": 20 + place} for place, window in enumerate(copies)]


class Growing(Made):
    """Round times grow with context, 1 ms a thousand tokens: the plain run goes on to 12,000 tokens."""

    def _windows(self) -> list[dict[str, Any]]:
        pace, base, tau = (20, 7.4, 2.1) if self.speculative else (40, self.round_ms or 4.8, 1.0)
        found = []
        for place, window in enumerate(super()._windows()):
            context = 200 + pace * place
            round_ms = base + 0.001 * context
            found.append(window | {"token": context, "gen_tok_s": tau / round_ms * 1000})
        return found


def _as(kind: type[Made], made: Made) -> Made:
    return kind(**{field.name: getattr(made, field.name) for field in fields(made)})


@pytest.mark.parametrize(("windows", "verdict"), [(3, "unproven"), (6, "fair")])
def test_a_window_that_four_pipeline_ranks_print_is_one(store_of: Stores, windows: int, verdict: str) -> None:
    """Two after the first are too few, however often they are printed; five are enough."""
    runs = [_as(Pipeline, made.but(windows=windows, **FOUR)) for made in (candidate(), baseline())]
    assert store_of(*runs).rows("SELECT verdict FROM comparison") == [(verdict,)]


def test_longer_contexts_of_one_side_make_nothing_impossible(store_of: Stores) -> None:
    """Medians of throughput: 11 ms a plain step at 6,000 tokens, so more than the accept length apart.

    At the middle of the common contexts (200 to 460 tokens) a round takes 7.772 ms and a step 5.150.
    """
    store = store_of(_as(Growing, candidate()), _as(Growing, baseline(windows=300)))
    ((naive, speedup),) = store.rows("SELECT naive_speedup, speedup FROM level_pair WHERE tau > 2")
    assert naive > 1.05 * 2.1
    assert speedup == pytest.approx(2.1 * 5.150 / 7.772, rel=1e-6)
    assert store.rows("SELECT verdict, reasons FROM comparison") == [("fair", [])]
    assert store.rows("SELECT * FROM impossible_pair") == []


def test_a_step_longer_than_a_round_at_equal_context_is_impossible(store_of: Stores) -> None:
    """The number in the reason is that of equal context: 2.1 times 9.350 / 7.772."""
    store = store_of(_as(Growing, candidate()), _as(Growing, baseline(windows=300, round_ms=9.0)))
    ((verdict, reasons),) = store.rows("SELECT verdict, reasons FROM comparison")
    assert verdict == "unfair"
    assert reasons[0].startswith("impossible: 2.53x faster at batch size 1 with accept length 2.10;")
