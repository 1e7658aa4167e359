"""Speedup over batch size: at which concurrency should speculation be switched off?"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Level, Pair

QUESTION = "At which concurrency should it be switched off?"
_COLUMNS = ("batch_size", "speedup", "speedup_lo", "speedup_hi", "naive_speedup", "interval_kind")


def chart(pair: Pair) -> Chart | Absent:
    """Speedup with interval per measured batch size and the line at which nothing is gained."""
    key = f"concurrency-{pair.key}"
    levels = [level for level in pair.levels if level.speedup is not None]
    if len(levels) < 2:
        measured = f"batch {levels[0].batch_size}" if levels else "no batch size"
        return Absent(
            key, QUESTION, f"both runs were measured together only at {measured}; serve more batch sizes"
        )
    rows = base.data(
        key, [{column: getattr(level, column) for column in _COLUMNS} for level in levels], _COLUMNS
    )
    note = "Points are measured batch sizes; the line only leads the eye, nothing was measured between them."
    return Chart(key, QUESTION, answer(levels), _alt(levels), base.spec(_draw, height=220), (rows,), note)


def answer(levels: list[Level]) -> str:
    """The switch-off point in words, from levels with a number in order of batch size."""
    sizes = f"{levels[0].batch_size} to {levels[-1].batch_size}"
    if all(_wins(level) for level in levels):
        return f"It pays at every measured batch size, {sizes}: no switch-off point was reached"
    if not any(_wins(level) for level in levels):
        return f"It pays at no measured batch size, {sizes}"
    for left, right in pairwise(levels):
        if _wins(left) and not _wins(right):
            doubt = " (level there, not a clear loss)" if right.tie else ""
            return (
                f"Switch it off above batch {left.batch_size}: at {right.batch_size} it no longer pays{doubt}"
            )
    first = next(level for level in levels if _wins(level))
    return f"It pays only from batch {first.batch_size} up"


def _wins(level: Level) -> bool:
    return level.speedup is not None and level.speedup > 1 and not level.tie


def _alt(levels: list[Level]) -> str:
    parts = [
        f"batch {level.batch_size}: {numbers.fixed(level.speedup)} "
        f"({numbers.between(level.speedup_lo, level.speedup_hi)})"
        for level in levels
    ]
    return f"Speedup over batch size with intervals. {'; '.join(parts)}. {answer(levels)}."


def _draw() -> Any:
    import altair as alt

    x = alt.X(
        "batch_size:Q",
        title="batch size (running requests)",
        scale=alt.Scale(type="log", base=2, nice=False, padding=12),
    )
    y = alt.Scale(zero=False, nice=True)
    whole = alt.Chart(base.named()).encode(x=x)
    even = alt.Chart(base.named()).mark_rule(color=base.INK, strokeDash=[5, 4]).encode(y=alt.datum(1))
    span = whole.mark_rule(color=base.CANDIDATE, strokeWidth=2).encode(
        y=alt.Y("speedup_lo:Q", scale=y, title="speedup"), y2="speedup_hi:Q"
    )
    line = whole.mark_line(color=base.CANDIDATE, strokeDash=[2, 3], opacity=0.7).encode(
        y=alt.Y("speedup:Q", scale=y)
    )
    point = whole.mark_point(filled=True, size=90, opacity=1, color=base.CANDIDATE).encode(
        y=alt.Y("speedup:Q", scale=y),
        tooltip=[
            alt.Tooltip("batch_size:Q", title="batch size"),
            alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("speedup_lo:Q", format=".3f", title="from"),
            alt.Tooltip("speedup_hi:Q", format=".3f", title="to"),
            alt.Tooltip("interval_kind:N", title="interval"),
            alt.Tooltip("naive_speedup:Q", format=".3f", title="naive ratio"),
        ],
    )
    return alt.layer(even, line, span, point)
