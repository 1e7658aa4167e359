"""The ranking of settings: one bar a setting, whatever number of runs it has."""

from typing import Any

from speclog.report.charts import sweep
from speclog.report.model import Absent, Chart

SIX = "NCCL_ALGO=Ring NCCL_BUFFSIZE=16777216 NCCL_PROTO=LL"


def row(setting: str, run: str, round_ms: float, mad: float = 0.05) -> dict[str, Any]:
    return {"setting": setting, "run": run, "round_ms": round_ms, "round_mad_ms": mad, "n_clean": 40}


def drawn(*rows: dict[str, Any]) -> Chart:
    chart = sweep.chart("k", "NCCL", rows)
    assert isinstance(chart, Chart)
    return chart


def test_repeats_of_a_setting_are_one_bar_at_their_mean() -> None:
    chart = drawn(row(SIX, "remembered", 11.0), row(SIX, "retuned", 11.2), row("none set", "fresh", 15.54))
    (data,) = chart.data
    kept = [dict(zip(data.columns, values, strict=True)) for values in data.rows]
    assert [(r["setting"], r["n_runs"], round(r["round_ms"], 2)) for r in kept] == [
        (SIX, 2, 11.1),
        ("none set", 1, 15.54),
    ]
    assert (kept[0]["low_ms"], kept[0]["high_ms"]) == (11.0, 11.2)
    assert chart.title == (
        "NCCL_ALGO=Ring with 2 more is fastest: 11.10 ms a round; the slowest takes 40 % longer"
    )


def test_settings_whose_whiskers_overlap_are_not_ranked() -> None:
    chart = drawn(row("LL", "a", 11.0, 0.3), row("LL128", "b", 11.2, 0.3), row("Simple", "c", 15.0))
    assert chart.title == "LL and LL128 are first and cannot be told apart"


def test_two_runs_of_one_setting_are_no_ranking() -> None:
    assert isinstance(sweep.chart("k", "NCCL", [row("LL", "a", 11.0), row("LL", "b", 11.2)]), Absent)
