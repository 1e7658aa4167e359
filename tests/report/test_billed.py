"""The bill of phases is one of rounds and steps at equal context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from speclog.report import report_text
from speclog.report.charts.bill import ELSEWHERE
from speclog.store import open_store
from tests.fairness.build import Made, baseline, candidate


def round_ms(context: float) -> float:
    return 7.4 + 0.0022 * context


def step_ms(context: float) -> float:
    return 4.8 + 0.00046 * context


def decoded(made: Made, contexts: Sequence[int]) -> dict[str, pl.DataFrame]:
    """A run whose windows have their middle at these contexts."""
    frames, tau = made.frames(), 2.1 if made.speculative else 1.0
    rows = []
    for place, context in enumerate([contexts[0], *contexts]):
        took = round_ms(context) if made.speculative else step_ms(context)
        rows.append(
            {
                "source_index": 0, "line_no": 20 + place, "ts": made.started, "running_req": 1,
                "token": round(context + 20 * tau), "accept_len": tau if made.speculative else None,
                "graph": True, "gen_tok_s": 1000 * tau / (took * (1 + 0.0005 * (place % 3 - 1))),
                "queue_req": 0, "prefills_since": int(place == 0), "warmup": False,
            }
        )  # fmt: skip
    ids = {"ingest_id": f"{made.run_id}-1", "run_id": made.run_id}
    return frames | {"raw_decode_window": pl.DataFrame([ids | row for row in rows], infer_schema_length=None)}


def profiled(made: Made, contexts: Sequence[int | None]) -> pl.DataFrame:
    """A profile window at each context (None: the line has no ``seq``): verify grows, the rest stays."""
    rows = []
    for place, context in enumerate(contexts):
        cycle = round_ms(context or 400)
        rows.append(
            {
                "ingest_id": f"{made.run_id}-1", "run_id": made.run_id, "source_index": 0,
                "line_no": 1000 + place, "kind": "spec", "n": 100, "part": 0, "bs": 1.0, "steps": 5,
                "topk": 1, "ndraft": 6, "seq": context, "cycle_ms": cycle, "draft_ms": 1.2, "vprep_ms": 0.1,
                "verify_ms": cycle - 2.0, "accept_ms": 0.1, "extend_ms": 0.5, "gap_ms": 0.1, "reqs": 100,
                "acc_len": 2.1, "acc_hist": [20, 50 + place % 2, 30 - place % 2, 0, 0, 0],
            }
        )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def billed(tmp_path: Path, contexts: Sequence[int | None]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The bill of a run at contexts 200 to 4000 over a baseline at 200 to 600, and the chart of it."""
    spec, target = candidate("spec", facts={"profiling": "off"}), str(tmp_path / "s.duckdb")
    with open_store(target, read_only=False) as store:
        store.append(decoded(baseline("base"), range(200, 601, 20)))
        store.append(decoded(spec, range(200, 4001, 60)) | {"raw_profile_window": profiled(spec, contexts)})
    found = json.loads(report_text(target, vs="baseline", fmt="json"))["candidates"][0]
    (chart,) = [one for one in found["charts"] if "phase by phase" in one["question"]]
    return found["bill"], chart


def test_rounds_at_other_contexts_than_the_baseline_are_not_billed(tmp_path: Path) -> None:
    """They were held against the step at 400 tokens: 2.36 tokens, in a pair that wins with 2.1."""
    rows, chart = billed(tmp_path, range(200, 4001, 60))
    (context,) = {row["context"] for row in rows}
    assert 380 < context < 420
    assert sum(row["tokens"] for row in rows) == pytest.approx(round_ms(context) / step_ms(context), rel=2e-3)
    assert "FROM profile_window" in chart["source"]


def test_a_step_is_read_at_the_context_of_the_profiled_rounds(tmp_path: Path) -> None:
    rows, chart = billed(tmp_path, [500, 520, 540, 560, 580, 600])
    assert [row["context"] for row in rows] == pytest.approx([550] * len(rows))
    assert sum(row["tokens"] for row in rows) == pytest.approx(round_ms(550) / step_ms(550), rel=1e-3)
    assert "FROM phase" in chart["source"]


def test_rounds_without_a_context_are_billed_as_the_pair_is(tmp_path: Path) -> None:
    rows, _ = billed(tmp_path, [None] * 5)
    assert {row["context"] for row in rows} == {None}
    assert sum(row["tokens"] for row in rows) == pytest.approx(round_ms(400) / step_ms(400), rel=5e-3)


def test_without_a_common_context_there_is_no_bill(tmp_path: Path) -> None:
    rows, chart = billed(tmp_path, [3000, 3060, 3120])
    assert rows == []
    assert ELSEWHERE in str(chart)


def test_survival_is_of_the_rounds_with_the_steps_that_most_had(tmp_path: Path) -> None:
    """Rounds of three steps counted as five refused at the fourth."""
    spec, target = candidate("spec", facts={"profiling": "off"}), str(tmp_path / "s.duckdb")
    five = profiled(spec, [400] * 6).with_columns(acc_hist=pl.Series([[20, 30, 20, 10, 10, 10]] * 6))
    three = profiled(spec, [400] * 5).with_columns(
        pl.col("line_no") + 100,
        steps=pl.lit(3, pl.Int64),
        ndraft=pl.lit(4, pl.Int64),
        acc_hist=pl.Series([[20, 30, 20, 30]] * 5),
    )
    with open_store(target, read_only=False) as store:
        store.append(decoded(baseline("base"), range(200, 601, 20)))
        store.append(
            decoded(spec, range(200, 601, 20))
            | {"raw_profile_window": pl.concat([five, three], how="diagonal")}
        )
    found = json.loads(report_text(target, vs="baseline", fmt="json"))["candidates"][0]
    (chart,) = [one for one in found["charts"] if "drafts survive" in one["question"]]
    assert chart["title"].startswith("The first draft token is accepted in 80 % ")
    assert "all 5 in 10 % " in chart["title"]
