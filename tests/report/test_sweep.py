"""The ranking of settings: one bar a setting, whatever number of runs it has."""

import math
from statistics import stdev
from typing import Any

import pytest

from speclog.report.charts import sweep
from speclog.report.experiments import at_one_context
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
    error = 1.2533 * 1.4826 * 0.05 / 20**0.5  # of a median of 40 windows, two counted as one, in ms
    both = (
        2 * 11.1 * math.hypot(math.hypot(error / 11.0, error / 11.2) / 2, stdev([11.0, 11.2]) / 11.1 / 2**0.5)
    )
    one = 2 * 15.54 * math.hypot(error / 15.54, 0.01)  # of a single start nothing says more than a per cent
    assert (kept[0]["low_ms"], kept[0]["high_ms"]) == pytest.approx((11.1 - both, 11.1 + both))
    assert (kept[1]["low_ms"], kept[1]["high_ms"]) == pytest.approx((15.54 - one, 15.54 + one))
    assert kept[1]["change_pct_lo"] == pytest.approx(100 * ((15.54 - one) / (11.1 + both) - 1))
    assert kept[0]["change_pct_lo"] == kept[0]["change_pct_hi"] == 0
    assert chart.title == (
        "NCCL_ALGO=Ring with 2 more is fastest: 11.10 (10.90 to 11.30) ms a round; the slowest takes 40 % "
        "(+35 to +45 %) longer"
    )


def test_what_two_starts_differ_by_is_no_rank() -> None:
    """Thousands of windows say which start was the faster, and nothing of the setting."""
    chart = drawn(*(row(setting, setting, ms, 0.01) for setting, ms in (("LL", 11.0), ("Simple", 11.15))))
    assert chart.title == "LL and Simple are first and cannot be told apart"
    repeated = [
        row(setting, f"{setting}{n}", ms, 0.01)
        for setting, ms in (("LL", 11.0), ("Simple", 11.5))
        for n in range(4)
    ]
    assert drawn(*repeated).title.startswith("LL is fastest: 11.00 (10.89 to 11.11) ms a round")


def test_one_window_says_nothing_about_a_rank() -> None:
    chart = drawn(row("LL", "a", 11.0), row("Simple", "b", 15.0) | {"n_clean": 1})
    assert chart.title == "LL and Simple are first and cannot be told apart"


def test_settings_whose_whiskers_overlap_are_not_ranked() -> None:
    chart = drawn(row("LL", "a", 11.0, 0.3), row("LL128", "b", 11.2, 0.3), row("Simple", "c", 15.0))
    assert chart.title == "LL and LL128 are first and cannot be told apart"


def test_two_runs_of_one_setting_are_no_ranking() -> None:
    assert isinstance(sweep.chart("k", "NCCL", [row("LL", "a", 11.0), row("LL", "b", 11.2)]), Absent)


def part(run_id: str, setting: str, low: float, high: float, **more: Any) -> dict[str, Any]:
    """A server whose step takes 4.8 ms and 0.46 more per 1,000 tokens, at contexts ``low`` to ``high``."""
    line = {"fit_a_ms": 4.8, "fit_c_ms_per_token": 0.00046, "n": 30, "eager": False, "mixed": False}
    return line | {"run_id": run_id, "setting": setting, "context_min": low, "context_max": high} | more


def test_settings_are_read_at_one_context() -> None:
    """One server at two contexts was ranked as two settings, 13 % apart."""
    context, read = at_one_context([part("a", "LL", 200, 1400), part("b", "Simple", 1200, 3400)])
    assert context == 1300
    assert [row["round_ms"] for row in read] == pytest.approx([4.8 + 0.598] * 2)


def test_the_context_that_most_settings_share_is_taken_and_others_are_left_out() -> None:
    parts = [part("a", "LL", 200, 900), part("b", "Simple", 300, 800), part("c", "LL", 4000, 5000)]
    parts += [part("d", "LL128", 250, 700, eager=True), part("b", "Simple", 5100, 6000, n=90)]
    context, read = at_one_context(parts)
    assert context == 550
    assert [row["run_id"] for row in read] == ["a", "b"]
    assert at_one_context([]) == (0.0, [])
    apart = at_one_context([part("a", "LL", 200, 900), part("b", "Simple", 2000, 2900)])[1]
    assert len({row["setting"] for row in apart}) == 1
