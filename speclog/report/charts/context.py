"""Break-even over context: at which context does the accept length stop being enough?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Pair, Row

QUESTION = "Does it depend on context?"
COLUMNS = ("batch_size", "context", "tau_star", "tau_star_lo", "tau_star_hi", "tau")


def chart(pair: Pair, curve: Sequence[Row]) -> Chart | Absent:
    """tau_star over context (rows of `analysis.context.tau_star_curve` with batch_size) beside tau."""
    key = f"context-{pair.key}"
    points = [row for row in curve if row.get("tau_star") is not None]
    if len(points) < 2:
        return Absent(key, QUESTION, "the two runs share too little context to draw a curve")
    rows = base.data(key, points, COLUMNS)
    note = "Drawn where both runs have clean windows at the same batch size; outside it nothing is said."
    return Chart(key, QUESTION, _title(points), _alt(points), base.spec(_draw, height=220), (rows,), note)


def _first_level(points: Sequence[Row]) -> list[Row]:
    smallest = min(row["batch_size"] for row in points)
    return [row for row in points if row["batch_size"] == smallest]


def _title(points: Sequence[Row]) -> str:
    level = _first_level(points)
    first, last = level[0], level[-1]
    change = last["tau_star"] - first["tau_star"]
    if abs(change) < 0.015:
        flat = f"At batch {first['batch_size']} break-even stays near {_star(first)} "
        return f"{flat}from {first['context']:.0f} to {last['context']:.0f} tokens of context"
    move = "rises" if change > 0 else "falls"
    words = (
        f"At batch {first['batch_size']} break-even {move} "
        f"from {_star(first)} at {first['context']:.0f} "
        f"to {_star(last)} at {last['context']:.0f} tokens of context"
    )
    crossing = _crossing(level)
    if crossing is not None:
        return f"{words} and passes the accept length near {crossing:.0f}{_unsure(level)}"
    tau = last.get("tau")
    if tau is None:
        return words
    where = "above" if tau > last["tau_star"] else "below"
    if any(_holds(point) for point in level):
        return f"{words}; that the accept length stays {where} is not shown{_unsure(level)}"
    return f"{words}; the accept length stays {where}"


def _holds(point: Row) -> bool:
    """Whether the interval of break-even holds the accept length."""
    low, high = point.get("tau_star_lo"), point.get("tau_star_hi")
    return None not in (low, high, point["tau"]) and bool(low <= point["tau"] <= high)


def _unsure(level: Sequence[Row]) -> str:
    """Between which contexts break-even and accept length are not told apart."""
    held = [point["context"] for point in level if _holds(point)]
    if not held:
        return ""
    where = f"from {held[0]:.0f} to {held[-1]:.0f}" if len(held) > 1 else f"at {held[0]:.0f}"
    return f" (the interval holds it {where})"


def _star(point: Row) -> str:
    return numbers.with_span(point["tau_star"], point.get("tau_star_lo"), point.get("tau_star_hi"))


def _crossing(level: Sequence[Row]) -> float | None:
    for left, right in pairwise(level):
        if left["tau"] is None or right["tau"] is None:
            return None
        before, after = left["tau"] - left["tau_star"], right["tau"] - right["tau_star"]
        if before * after < 0:
            share = before / (before - after)
            return float(left["context"] + share * (right["context"] - left["context"]))
    return None


def _alt(points: Sequence[Row]) -> str:
    sizes = sorted({row["batch_size"] for row in points})
    named = ", ".join(map(str, sizes))
    what = f"Break-even accept length over context with intervals, a line a batch size ({named})"
    return f"{what}. {_title(points)}."


def _draw() -> Any:
    import altair as alt

    x = alt.X(
        "context:Q", title="context (tokens, middle of the window)", scale=alt.Scale(zero=False, nice=False)
    )
    dash = alt.StrokeDash("batch_size:O", title="batch size")
    whole = alt.Chart(base.named()).encode(x=x)
    band = whole.mark_area(opacity=0.18, color=base.INK).encode(
        y=alt.Y("tau_star_lo:Q", title="tokens per request and round", scale=alt.Scale(zero=False)),
        y2="tau_star_hi:Q",
        detail="batch_size:O",
    )
    star = whole.mark_line(color=base.INK, strokeWidth=2).encode(
        y="tau_star:Q",
        strokeDash=dash,
        tooltip=[
            alt.Tooltip("batch_size:O", title="batch size"),
            alt.Tooltip("context:Q", format=".0f", title="context (tokens)"),
            alt.Tooltip("tau_star:Q", format=".3f", title="break-even τ*"),
            alt.Tooltip("tau:Q", format=".3f", title="accept length τ"),
        ],
    )
    tau = whole.mark_line(color=base.CANDIDATE, strokeWidth=2).encode(y="tau:Q", strokeDash=dash)
    return alt.layer(band, star, tau)
