"""Settings ranked by their measured round time: which tuning is best here?"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, inf, sqrt
from statistics import fmean, stdev
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base, spread
from speclog.report.model import Absent, Chart, Row

QUESTION = "Which setting is fastest?"
COLUMNS = (
    "setting", "runs", "n_runs", "round_ms", "low_ms", "high_ms", "change_pct", "change_pct_lo",
    "change_pct_hi", "n_clean",
)  # fmt: skip
NOTE = (
    "A setting's runs are pooled: the bar is the mean of their rounds. Whiskers: two standard errors of it, "
    "from the spread of clean windows (two counted as one) and from what starts differ by: "
    f"{100 * spread.STARTS:.0f} % each, or more where a setting's own runs do. Where they overlap, this "
    "ranks nothing."
)


def chart(key: str, factor: str, settings: Sequence[Row], more: str = "") -> Chart | Absent:
    """Round times of runs that differ only in ``factor``, fastest first.

    ``settings`` are rows of setting, run, round_ms (all at one context), round_mad_ms, n_clean, one a run;
    ``more`` is added to the note.
    """
    known = [row for row in settings if row.get("round_ms") is not None]
    points = sorted((_pooled(rows) for rows in _by_setting(known)), key=lambda point: point["round_ms"])
    if len(points) < 2:
        return Absent(f"sweep-{key}", QUESTION, f"fewer than two settings differ only in {factor}")
    for point in points:
        point |= _slower(point, points[0])
    rows = base.data(f"sweep-{key}", points, COLUMNS)
    alt_text = f"Ranking by {factor}: " + "; ".join(
        f"{p['setting']} {numbers.with_span(p['round_ms'], p['low_ms'], p['high_ms'])} ms" for p in points
    )
    spans = ["spans"] * any(point["low_ms"] is not None for point in points)
    drawn = base.spec(_draw, *spans, height=26 * len(points) + 20)
    return Chart(rows.name, QUESTION, _title(points), f"{alt_text}.", drawn, (rows,), NOTE + more)


def _slower(point: Row, best: Row) -> Row:
    """How much longer a round takes than the fastest setting's, and what the ends of both give."""
    ends = (point["low_ms"], best["high_ms"]), (point["high_ms"], best["low_ms"])
    if point is best:
        ends = ((1.0, 1.0), (1.0, 1.0))
    low, high = (None if top is None or bottom is None else 100 * (top / bottom - 1) for top, bottom in ends)
    value = 100 * (point["round_ms"] / best["round_ms"] - 1)
    return {"change_pct": value, "change_pct_lo": low, "change_pct_hi": high}


def _title(points: Sequence[Row]) -> str:
    best, second, worst = points[0], points[1], points[-1]
    if best["high_ms"] is None or second["low_ms"] is None or best["high_ms"] >= second["low_ms"]:
        return f"{_short(best['setting'])} and {_short(second['setting'])} are first and cannot be told apart"
    ends = None if worst["low_ms"] is None else (worst["change_pct_lo"], worst["change_pct_hi"])
    longer = numbers.percent_with(1 + worst["change_pct"] / 100, *_ratios(ends)).lstrip("+")
    took = numbers.with_span(best["round_ms"], best["low_ms"], best["high_ms"])
    return f"{_short(best['setting'])} is fastest: {took} ms a round; the slowest takes {longer} longer"


def _ratios(ends: tuple[float, float] | None) -> tuple[float | None, float | None]:
    return (None, None) if ends is None else (1 + ends[0] / 100, 1 + ends[1] / 100)


def _short(setting: str) -> str:
    """A setting of many variables by its first one."""
    first, *rest = setting.split(" ")
    return f"{first} with {len(rest)} more" if len(rest) > 1 and "=" in first else setting


def _by_setting(rows: Sequence[Row]) -> list[list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["setting"], []).append(row)
    return list(found.values())


def _pooled(rows: Sequence[Row]) -> Row:
    """One setting's runs as one row; a bar each would be stacked into a sum."""
    rounds = [row["round_ms"] for row in rows]
    mean, n = fmean(rounds), len(rounds)
    starts = max(spread.STARTS, stdev(rounds) / mean if n > 1 else 0.0)
    off = mean * spread.ERRORS * hypot(hypot(*map(spread.error, rows)) / n, starts / sqrt(n))
    return {
        "setting": rows[0]["setting"],
        "runs": ", ".join(row["run"] for row in rows),
        "n_runs": n,
        "round_ms": mean,
        "low_ms": mean - off if off < inf else None,
        "high_ms": mean + off if off < inf else None,
        "n_clean": sum(row["n_clean"] or 0 for row in rows),
    }


def _draw(spans: str = "") -> Any:
    import altair as alt

    y = alt.Y("setting:N", sort=None, title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    whole = alt.Chart(base.named()).encode(y=y)
    bars = whole.mark_bar(color=base.BASELINE, height=14).encode(
        x=alt.X("round_ms:Q", title="round (ms)"),
        tooltip=[
            alt.Tooltip("setting:N"),
            alt.Tooltip("runs:N"),
            alt.Tooltip("round_ms:Q", format=".3f"),
            alt.Tooltip("change_pct:Q", format="+.1f", title="slower than the best (%)"),
            alt.Tooltip("n_clean:Q", title="clean windows"),
        ],
    )
    span = whole.mark_rule(color=base.INK, strokeWidth=1.5).encode(x="low_ms:Q", x2="high_ms:Q")
    return alt.layer(bars, *([span] if spans else []))
