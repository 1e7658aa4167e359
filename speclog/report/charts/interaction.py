"""Treatment and confounder as a 2x2 table: which cell is the run nobody made?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Chart, Row

NOTE = (
    "Cells are medians over clean windows and have no interval; what the settings are worth, with its "
    "interval, is under What the difference is made of."
)
QUESTION = "Does the confounder help both sides equally?"
COLUMNS = ("setting", "arm", "run", "round_ms", "tok_s", "label", "state")


def chart(key: str, confounder: str, cells: Sequence[Row], batch_size: int) -> Chart:
    """Four cells (setting x arm) at a batch size; one without ``tok_s`` is drawn dashed: the missing run."""
    points = [
        {**cell, "label": _label(cell), "state": "missing" if cell.get("tok_s") is None else "measured"}
        for cell in cells
    ]
    rows = base.data(f"interaction-{key}", points, COLUMNS)
    title = _title(points, confounder, batch_size)
    alt_text = f"Two by two table of {confounder} and speculation. " + "; ".join(
        f"{p['setting']}, {p['arm']}: {p['label']}" for p in points
    )
    return Chart(rows.name, QUESTION, title, f"{alt_text}.", base.spec(_draw, height=190), (rows,), NOTE)


def _label(cell: Row) -> str:
    return "missing" if cell.get("tok_s") is None else f"{numbers.fixed(cell['tok_s'], 1)} tok/s"


def _title(points: Sequence[Row], confounder: str, batch_size: int) -> str:
    missing = [point for point in points if point["state"] == "missing"]
    if missing:
        return f"Nobody made the run of {missing[0]['arm']} with {confounder} {missing[0]['setting']}"
    gains = {arm: _gain(points, arm) for arm in dict.fromkeys(point["arm"] for point in points)}
    told = " and ".join(f"{arm} ×{gain:.2f}" for arm, gain in gains.items())
    return f"At batch {batch_size} {confounder} speeds up {told}"


def _gain(points: Sequence[Row], arm: str) -> float:
    first, second = (point["tok_s"] for point in points if point["arm"] == arm)
    return float(second / first)


def _draw() -> Any:
    import altair as alt

    x = alt.X(
        "arm:N", sort=None, title=None, axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False)
    )
    y = alt.Y("setting:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, labelLimit=150))
    whole = alt.Chart(base.named()).encode(x=x, y=y)
    measured = whole.transform_filter("datum.state == 'measured'").mark_rect(
        fill=base.BASELINE, fillOpacity=0.16, stroke=base.INK, strokeWidth=1
    )
    missing = whole.transform_filter("datum.state == 'missing'").mark_rect(
        fill="transparent", stroke=base.LOSS, strokeWidth=2, strokeDash=[6, 4]
    )
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip("label:N", title="throughput"),
        alt.Tooltip("round_ms:Q", format=".3f"),
    ]
    label = whole.mark_text(fontSize=14, fontWeight="bold", dy=-7, color=base.INK).encode(
        text="label:N", tooltip=tips
    )
    run = whole.mark_text(fontSize=11, dy=12, color=base.INK, limit=150).encode(text="run:N", tooltip=tips)
    return alt.layer(measured, missing, label, run)
