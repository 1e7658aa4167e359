"""How far drafts survive: by position where that was measured, else only how windows are spread."""

from __future__ import annotations

import polars as pl

from speclog.report.charts import acceptance
from speclog.report.model import Absent, Chart
from tests.report import build

RUN = build.run("spec", speculative=True)


def windows(*taus: float, left_out: float | None = None) -> pl.DataFrame:
    rows = [{"tau": tau, "running_req": 1, "excluded": None} for tau in taus]
    spare = [] if left_out is None else [{"tau": left_out, "running_req": 1, "excluded": "prefill"}]
    return pl.DataFrame([*rows, *spare], schema_overrides={"excluded": pl.String})


def test_a_histogram_gives_shares_and_survival() -> None:
    ends = [(100.0, 100.0), (78.0, 82.0), (19.5, 20.5)]
    spans = [{"survival_pct_lo": low, "survival_pct_hi": high} for low, high in ends]
    chart = acceptance.chart(RUN, [20, 60, 20], survived=spans)
    assert isinstance(chart, Chart)
    first, last = "80 % (78 to 82 %)", "20.0 % (19.5 to 20.5 %)"
    assert chart.title == f"The first draft token is accepted in {first} of rounds, all 2 in {last}"
    assert [row[-3:] for row in chart.data[0].rows] == [
        (100.0, 100.0, 100.0), (80.0, 78.0, 82.0), (20.0, 19.5, 20.5),
    ]  # fmt: skip
    bare = acceptance.chart(RUN, [20, 60, 20])
    assert isinstance(bare, Chart)
    assert "in 80 % (no interval) of rounds" in bare.title


def test_without_a_histogram_clean_windows_are_counted_by_accept_length() -> None:
    found = acceptance.chart(RUN, [], windows(2.05, 2.07, 2.10, 2.14, left_out=9.0))
    assert isinstance(found, Chart)
    assert found.title == "Accept length 2.09 on average, 2.05 to 2.14 from window to window"
    bins = [(round(low, 2), round(high, 2), number) for low, high, _, number in found.data[0].rows]
    assert bins == [(2.05, 2.1, 2), (2.1, 2.15, 2)]
    assert "by position is in profiled" in found.note


def test_without_windows_too_it_says_why_not() -> None:
    for run, given in ((RUN, windows(2.0)), (build.run("base", speculative=False), windows(1.0, 1.0))):
        found = acceptance.chart(run, [0, 0], given)
        assert isinstance(found, Absent)
        assert "not profiled" in found.reason
