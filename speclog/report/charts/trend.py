"""A configuration over time: where did its round time move, and what had changed in its records?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Row

QUESTION = "Did this configuration get slower or faster?"
COLUMNS = ("started_at", "run", "version", "round_ms", "tok_s", "tau", "n_clean", "step", "named")
NOTABLE = 0.02
"""Relative step between neighbours below which nothing is called a change."""
SPREADS = 4.0
"""...and it must exceed this many median absolute differences between neighbours."""


def chart(number: int, about: tuple[str, str, str, int], points: Sequence[Row]) -> Chart | Absent:
    """Round time of the runs of one configuration by start time.

    ``about``: model, speculation, launch profile, batch size. ``points``: started_at, run, version, round_ms,
    tok_s, tau, n_clean and ``changed``, what the records say changed since the run before.
    """
    steps = change_points([row["round_ms"] for row in points])
    listed = [
        {
            **row,
            "started_at": row["started_at"].isoformat(),
            "step": steps[place],
            "named": name(row["changed"]) if steps[place] is not None else "",
        }
        for place, row in enumerate(points)
    ]
    rows = base.data(f"trend-{number}", listed, COLUMNS)
    model, treatment, profile, size = about
    named = model.rstrip("/").rsplit("/", 1)[-1]
    parts = (named, treatment, profile and f"profile {profile}", f"batch {size}")
    what = ", ".join(part for part in parts if part)
    title = f"{what}: {_answer(listed)}"
    rule = f"more than {100 * NOTABLE:.0f} % and {SPREADS:.0f} times their usual difference"
    note = (
        f"A step is marked where neighbours differ by {rule}; its name is what the two runs' records say "
        "changed, and nothing when they say nothing."
    )
    return Chart(
        rows.name,
        QUESTION,
        title,
        f"Round time over start time. {title}.",
        base.spec(_draw, height=170),
        (rows,),
        note,
    )


def change_points(values: Sequence[float]) -> list[float | None]:
    """For each value the relative step from the one before where that is a change, else None."""
    moves = [after / before - 1 for before, after in pairwise(values)]
    usual = median(abs(move) for move in moves) if moves else 0.0
    return [None] + [move if abs(move) > max(NOTABLE, SPREADS * usual) else None for move in moves]


def name(changed: Sequence[str], limit: int = 4) -> str:
    """What changed at a step, from the records only."""
    if not changed:
        return "no recorded factor changed"
    rest = len(changed) - limit
    return "; ".join(changed[:limit]) + (f"; {rest} more" if rest > 0 else "")


def _answer(listed: Sequence[Row]) -> str:
    steps = [row for row in listed if row["step"] is not None]
    if not steps:
        return f"steady over {numbers.count(len(listed), 'run')}"
    last = steps[-1]
    moved = "slower" if last["step"] > 0 else "faster"
    words = f"{abs(100 * last['step']):.0f} % {moved} at {last['run']} ({last['named']})"
    return words if len(steps) == 1 else f"{numbers.count(len(steps), 'step')}, the last {words}"


def _draw() -> Any:
    import altair as alt

    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip("started_at:T", title="started", format="%Y-%m-%d %H:%M"),
        alt.Tooltip("version:N"),
        alt.Tooltip("round_ms:Q", format=".3f", title="round (ms)"),
        alt.Tooltip("tok_s:Q", format=",.1f", title="tok/s"),
        alt.Tooltip("named:N", title="changed here"),
    ]
    whole = alt.Chart(base.named()).encode(
        x=alt.X("started_at:T", title="start of the run"),
        y=alt.Y("round_ms:Q", title="round (ms)", scale=alt.Scale(zero=False)),
        tooltip=tips,
    )
    line = whole.mark_line(color=base.BASELINE, opacity=0.7)
    points = whole.mark_point(filled=True, size=45, opacity=1).encode(
        color=alt.condition("datum.step !== null", alt.value(base.LOSS), alt.value(base.CANDIDATE)),
        shape=alt.condition("datum.step !== null", alt.value("diamond"), alt.value("circle")),
        size=alt.condition("datum.step !== null", alt.value(150), alt.value(45)),
    )
    return alt.layer(line, points)
