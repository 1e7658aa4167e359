"""Settings ranked by their measured round time: which tuning is best here?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Row

QUESTION = "Which setting is fastest?"
COLUMNS = ("setting", "run", "round_ms", "round_mad_ms", "low_ms", "high_ms", "change_pct", "n_clean")


def chart(key: str, factor: str, settings: Sequence[Row]) -> Chart | Absent:
    """Round times of runs that differ only in ``factor``, fastest first.

    ``settings`` are rows of setting, run, round_ms, round_mad_ms, n_clean.
    """
    known = sorted(
        (row for row in settings if row.get("round_ms") is not None), key=lambda row: row["round_ms"]
    )
    if len(known) < 2:
        return Absent(f"sweep-{key}", QUESTION, f"fewer than two runs differ only in {factor}")
    best, worst = known[0], known[-1]
    points = [_point(row, best["round_ms"]) for row in known]
    rows = base.data(f"sweep-{key}", points, COLUMNS)
    title = (
        f"{best['setting']} is fastest: {numbers.ms(best['round_ms'])} ms a round, "
        f"{100 * (worst['round_ms'] / best['round_ms'] - 1):.0f} % before the slowest"
    )
    alt_text = f"Ranking by {factor}: " + "; ".join(
        f"{p['setting']} {numbers.ms(p['round_ms'])} ms" for p in points
    )
    note = "Whiskers: median absolute deviation of one run's windows. Where they overlap, this ranks nothing."
    return Chart(
        rows.name,
        QUESTION,
        title,
        f"{alt_text}.",
        base.spec(_draw, height=26 * len(points) + 20),
        (rows,),
        note,
    )


def _point(row: Row, best: float) -> Row:
    spread = row.get("round_mad_ms") or 0.0
    change = 100 * (row["round_ms"] / best - 1)
    return {
        **row,
        "low_ms": row["round_ms"] - spread,
        "high_ms": row["round_ms"] + spread,
        "change_pct": change,
    }


def _draw() -> Any:
    import altair as alt

    y = alt.Y("setting:N", sort=None, title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    whole = alt.Chart(base.named()).encode(y=y)
    bars = whole.mark_bar(color=base.BASELINE, height=14).encode(
        x=alt.X("round_ms:Q", title="round (ms)"),
        tooltip=[
            alt.Tooltip("setting:N"),
            alt.Tooltip("run:N"),
            alt.Tooltip("round_ms:Q", format=".3f"),
            alt.Tooltip("change_pct:Q", format="+.1f", title="slower than the best (%)"),
            alt.Tooltip("n_clean:Q", title="clean windows"),
        ],
    )
    span = whole.mark_rule(color=base.INK, strokeWidth=1.5).encode(x="low_ms:Q", x2="high_ms:Q")
    return alt.layer(bars, span)
