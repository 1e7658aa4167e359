"""Fewer or more draft steps: would two steps be better?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Pair, Row

QUESTION = "Would fewer or more steps be better?"
COLUMNS = (
    "batch_size", "context", "steps", "draft_tokens", "tau", "t_round_ms", "tau_star", "speedup",
    "speedup_lo", "speedup_hi", "extrapolated", "next_step_pays", "best",
)  # fmt: skip


def chart(pair: Pair, predicted: Sequence[Row]) -> Chart | Absent:
    """Predicted speedup by steps at the smallest batch size (rows of `analysis.whatif.best_steps`)."""
    key = f"steps-{pair.key}"
    known = [row for row in predicted if row.get("speedup") is not None]
    if not known:
        refused = next((row["refused"] for row in predicted if row.get("refused")), None)
        return Absent(
            key, QUESTION, refused or "the run was not profiled (EAGLE3_PROFILE=1): no acceptance by position"
        )
    size = min(row["batch_size"] for row in known)
    contexts = sorted({row["context"] for row in known if row["batch_size"] == size})
    middle = contexts[len(contexts) // 2]
    points = [row for row in known if row["batch_size"] == size and row["context"] == middle]
    used = pair.candidate.steps
    rows = base.data(key, points, COLUMNS)
    note = (
        "Predicted from one run: acceptance by position is measured, a step costs what its draft time says. "
        "Open points are extrapolated past the measured steps. A run with those steps is the proof."
    )
    title = _title(points, used, size)
    alt_text = "Predicted speedup by draft steps. " + "; ".join(
        f"{p['steps']} steps {numbers.percent(p['speedup'])} at accept length {numbers.fixed(p['tau'])}"
        for p in points
    )
    return Chart(key, QUESTION, title, f"{alt_text}.", base.spec(_draw, height=200), (rows,), note)


def _title(points: Sequence[Row], used: int | None, size: int) -> str:
    measured = [point for point in points if not point["extrapolated"]]
    best = max(measured, key=lambda point: point["speedup"])
    now = next((point for point in measured if point["steps"] == used), None)
    count, gain = numbers.count(best["steps"], "step"), numbers.percent(best["speedup"], 1)
    said = f"{count} would be best at batch {size}: {gain}"
    if now is None or now is best:
        return numbers.capital(said if now is None else f"{said}, as it runs now")
    span = numbers.percent_between(best["speedup_lo"], best["speedup_hi"])
    return numbers.capital(
        f"{said} ({span} predicted) instead of {numbers.percent(now['speedup'], 1)} with {used}"
    )


def _draw() -> Any:
    import altair as alt

    y = alt.Scale(zero=False, nice=True)
    whole = alt.Chart(base.named()).encode(
        x=alt.X("steps:O", title="draft steps (0: no speculation)", axis=alt.Axis(labelAngle=0))
    )
    even = alt.Chart(base.named()).mark_rule(color=base.INK, strokeDash=[5, 4]).encode(y=alt.datum(1))
    span = whole.mark_rule(color=base.CANDIDATE, strokeWidth=2).encode(
        y=alt.Y("speedup_lo:Q", scale=y, title="predicted speedup"), y2=alt.Y2("speedup_hi:Q")
    )
    point = whole.mark_point(size=90, strokeWidth=2, color=base.CANDIDATE, opacity=1).encode(
        y=alt.Y("speedup:Q", scale=y),
        fill=alt.condition(
            "datum.extrapolated === 'True'", alt.value("transparent"), alt.value(base.CANDIDATE)
        ),
        tooltip=[
            alt.Tooltip("steps:O"),
            alt.Tooltip("tau:Q", format=".3f", title="accept length τ"),
            alt.Tooltip("tau_star:Q", format=".3f", title="break-even τ*"),
            alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("t_round_ms:Q", format=".3f", title="round (ms)"),
            alt.Tooltip("extrapolated:N"),
        ],
    )
    return alt.layer(even, span, point)
