"""Throughput over time of one run: which windows count, which were left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Row, Run

QUESTION = "Which windows count, and was the run steady?"
COLUMNS = ("from_s", "to_s", "mid_s", "line", "batch_size", "gen_tok_s", "round_ms", "tau", "state", "reason")
_LIMIT = 1200


def chart(run: Run, side: str, windows: Sequence[Row]) -> Chart | Absent:
    """Throughput of a run's decode windows (rows of view ``decode_window``) over time since the first.

    ``side`` is ``candidate`` or ``baseline`` and picks the colour.
    """
    key = f"timeline-{side}-{run.run_id[:10]}"
    points = _points(
        [row for row in windows if row.get("gen_tok_s") is not None and row.get("ts") is not None]
    )
    if not points:
        return Absent(key, QUESTION, f"{run.name} printed no throughput with a time")
    shown = points[:: -(-len(points) // _LIMIT)]
    note = "Hatched spans were left out of every number; hover or open the table for the reason."
    note += " The log prints whole seconds: windows of one second are spread over it."
    if len(shown) < len(points):
        note += f" Of {len(points):,} windows {len(shown):,} are drawn, evenly picked; all are in the store."
    rows = base.data(key, shown, COLUMNS)
    colour = base.CANDIDATE if side == "candidate" else base.BASELINE
    spec = base.spec(_draw, colour, height=150)
    return Chart(key, QUESTION, _title(run, points), _alt(run, points), spec, (rows,), note)


def _points(windows: Sequence[Row]) -> list[Row]:
    ends = _spread([row["ts"].timestamp() for row in windows])
    start = ends[0] if ends else 0.0
    points, before = [], 0.0
    for row, end in zip(windows, ends, strict=True):
        now = end - start
        points.append(_point(row, before, now))
        before = now
    return points


def _spread(seconds: list[float]) -> list[float]:
    """Spread equal whole-second times evenly over their second."""
    same = Counter(seconds)
    seen: Counter[float] = Counter()
    spread = []
    for value in seconds:
        spread.append(value + seen[value] / same[value])
        seen[value] += 1
    return spread


def _point(row: Row, before: float, now: float) -> Row:
    return {
        "from_s": round(before, 3), "to_s": round(now, 3), "mid_s": round((before + now) / 2, 3),
        "line": row["line_no"], "batch_size": row["running_req"], "gen_tok_s": row["gen_tok_s"],
        "round_ms": row["round_ms"], "tau": row["tau"],
        "state": "left out" if row.get("excluded") else "counts", "reason": row.get("excluded") or "",
    }  # fmt: skip


def _title(run: Run, points: Sequence[Row]) -> str:
    out = Counter(row["reason"] for row in points if row["state"] == "left out")
    if not out:
        return f"{run.name}: all {numbers.count(len(points), 'window')} count"
    reasons = ", ".join(f"{reason} {number}" for reason, number in out.most_common(3))
    return f"{run.name}: {sum(out.values())} of {len(points)} windows left out ({reasons})"


def _alt(run: Run, points: Sequence[Row]) -> str:
    used = [row["gen_tok_s"] for row in points if row["state"] == "counts"]
    span = f" Counting windows lie between {min(used):,.1f} and {max(used):,.1f} tok/s." if used else ""
    return f"Throughput of {run.name} over {points[-1]['to_s']:.0f} seconds. {_title(run, points)}.{span}"


def _draw(colour: str) -> Any:
    import altair as alt

    tips = [
        alt.Tooltip("line:Q", title="log line", format="d"),
        alt.Tooltip("to_s:Q", title="time (s)", format=".0f"),
        alt.Tooltip("gen_tok_s:Q", title="throughput (tok/s)", format=",.1f"),
        alt.Tooltip("round_ms:Q", title="round (ms)", format=".3f"),
        alt.Tooltip("batch_size:Q", title="batch size"),
        alt.Tooltip("state:N", title="this window"),
        alt.Tooltip("reason:N", title="left out because"),
    ]
    whole = alt.Chart(base.named())
    x = alt.X("from_s:Q", title="seconds since the run's first window", scale=alt.Scale(nice=False))
    out = (
        whole.transform_filter("datum.state != 'counts'")
        .mark_rect(fill="url(#hatch)", stroke=base.MUTED, strokeWidth=0.5, strokeOpacity=0.6)
        .encode(x=x, x2="to_s:Q", tooltip=tips)
    )
    points = whole.mark_point(size=34, strokeWidth=1.3).encode(
        x=alt.X("mid_s:Q"),
        y=alt.Y("gen_tok_s:Q", title="tok/s", scale=alt.Scale(zero=True, nice=True)),
        color=alt.condition("datum.state == 'counts'", alt.value(colour), alt.value(base.MUTED)),
        fill=alt.condition("datum.state == 'counts'", alt.value(colour), alt.value("transparent")),
        tooltip=tips,
    )
    return alt.layer(out, points)
