"""Accepted drafts: how many of the draft tokens survive, and would fewer steps do?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Run

QUESTION = "How far do the drafts survive?"
COLUMNS = ("accepted", "rounds", "share_pct", "survival_pct")


def chart(run: Run, histogram: Sequence[int]) -> Chart | Absent:
    """Share of request-rounds by accepted drafts, and the share that accepts at least that many.

    ``histogram[i]`` is the number of request-rounds with i accepted drafts, summed over the run's windows.
    """
    key = f"acceptance-{run.run_id[:10]}"
    total = sum(histogram)
    if not total:
        return Absent(key, QUESTION, "no acceptance histogram: the run was not profiled (EAGLE3_PROFILE=1)")
    survival = [sum(histogram[i:]) / total for i in range(len(histogram))]
    points = [
        {"accepted": i, "rounds": n, "share_pct": 100 * n / total, "survival_pct": 100 * survival[i]}
        for i, n in enumerate(histogram)
    ]
    rows = base.data(key, points, COLUMNS)
    title, alt_text = _title(survival), _alt(points, total)
    note = (
        "Bars: request-rounds with exactly so many accepted drafts. Line: with at least so many (survival)."
    )
    return Chart(key, QUESTION, title, alt_text, base.spec(_draw, height=200), (rows,), note)


def _title(survival: Sequence[float]) -> str:
    if len(survival) < 2:
        return "No draft token was measured"
    last = len(survival) - 1
    return (
        f"The first draft token is accepted in {100 * survival[1]:.0f} % of rounds, "
        f"all {last} in {100 * survival[last]:.0f} %"
    )


def _alt(points: Sequence[dict[str, Any]], total: int) -> str:
    parts = [
        f"{p['accepted']} accepted: {p['share_pct']:.1f} %, at least: {p['survival_pct']:.1f} %"
        for p in points
    ]
    return f"Distribution of accepted drafts over {total:,} request-rounds. {'; '.join(parts)}."


def _draw() -> Any:
    import altair as alt

    tips = [
        alt.Tooltip("accepted:O", title="accepted drafts"),
        alt.Tooltip("rounds:Q", title="request-rounds", format=",d"),
        alt.Tooltip("share_pct:Q", title="exactly (%)", format=".1f"),
        alt.Tooltip("survival_pct:Q", title="at least (%)", format=".1f"),
    ]
    whole = alt.Chart(base.named()).encode(
        x=alt.X("accepted:O", title="accepted drafts in a round", axis=alt.Axis(labelAngle=0)), tooltip=tips
    )
    bars = whole.mark_bar(color=base.BASELINE, opacity=0.75).encode(
        y=alt.Y("share_pct:Q", title="% of request-rounds")
    )
    line = whole.mark_line(
        color=base.CANDIDATE, point=alt.OverlayMarkDef(color=base.CANDIDATE, size=50)
    ).encode(y="survival_pct:Q")
    return alt.layer(bars, line)
