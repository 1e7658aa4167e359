"""Point estimates of the report are those of view ``break_even``, and refuse alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from speclog.report import rows
from speclog.report.points import Points
from speclog.store import open_store
from tests.report.make import ingest

pytestmark = pytest.mark.slow

SAME = ("n_candidate", "n_baseline", "refused", "candidate_lines", "baseline_lines")
CLOSE = (
    "context_from", "context_to", "context", "tau", "t_spec_ms", "t_base_ms", "tau_star", "margin_tokens",
    "margin_ms", "speedup", "naive_speedup",
)  # fmt: skip


def test_points_equal_the_view(tmp_path: Path, example_logs: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    ingest([example_logs], target)
    with open_store(target) as store:
        known = rows.runs(store)
        points = Points(store)
        found = rows.query(store, "SELECT * FROM break_even")
    assert len(found) > 20
    assert any(row["refused"] for row in found)
    for row in found:
        pair = points.pair(known[row["candidate"]], known[row["baseline"]])
        mine = next(one for one in pair if one["batch_size"] == row["batch_size"])
        where = f"{row['candidate_name']} against {row['baseline_name']}, batch {row['batch_size']}"
        for name in SAME:
            assert mine.get(name) == row[name], (where, name)
        for name in CLOSE:
            wanted = row[name] if row[name] is None else pytest.approx(row[name], rel=1e-9)
            assert mine.get(name) == wanted, (where, name)
