"""Treatment and confounder as a 2x2 table: which cell is the run nobody made?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from speclog.report import naming, numbers
from speclog.report.charts import base
from speclog.report.model import Chart, Row

QUESTION = "Does the confounder help both sides equally?"
COLUMNS = (
    "setting", "arm", "run", "tok_s", "tok_s_lo", "tok_s_hi", "round_ms", "round_ms_lo", "round_ms_hi",
    "interval_kind", "context", "label", "span", "state",
)  # fmt: skip
_WORTH = "What the settings are worth, with its interval, is under What the difference is made of."


def chart(
    key: str,
    confounder: str,
    cells: Sequence[Row],
    batch_size: int,
    *,
    gains: Mapping[str, str] | None = None,
    without: str = "",
) -> Chart:
    """Four cells (setting x arm) at a batch size; one without ``tok_s`` is drawn dashed: the missing run.

    ``gains``: what the confounder is worth to each arm, in words, where all cells are measured. ``without``:
    why cells have no interval, where they have none.
    """
    points = [{**cell, "label": _label(cell), "span": _span(cell), "state": _state(cell)} for cell in cells]
    rows = base.data(f"interaction-{key}", points, COLUMNS)
    title = _title(points, confounder, batch_size, gains or {})
    alt_text = f"Two by two table of {confounder} and speculation. " + "; ".join(
        f"{p['setting']}, {p['arm']}: {p['label']} {p['span']}".rstrip() for p in points
    )
    return Chart(
        rows.name,
        QUESTION,
        title,
        f"{alt_text}.",
        base.spec(_draw, height=230),
        (rows,),
        _note(points, without),
    )


def _note(points: Sequence[Row], without: str) -> str:
    if without:
        return f"Cells are medians over clean windows and have no interval: {without}. {_WORTH}"
    context = next((point["context"] for point in points if point.get("context") is not None), None)
    return (
        f"All cells are read at one context, {numbers.fixed(context, 0)} tokens a request; below each its "
        f"95 % interval: within-run, or between-run where its starts were repeated. {_WORTH}"
    )


def _state(cell: Row) -> str:
    return "missing" if cell.get("tok_s") is None else "measured"


def _label(cell: Row) -> str:
    if cell.get("tok_s") is None:
        return "missing"
    return f"{numbers.tok_s(cell['tok_s'], low=cell.get('tok_s_lo'), high=cell.get('tok_s_hi'))} tok/s"


def _span(cell: Row) -> str:
    low, high = cell.get("tok_s_lo"), cell.get("tok_s_hi")
    return "" if low is None else f"{numbers.tok_s_between(low, high)}, {cell['interval_kind']}"


def _title(points: Sequence[Row], confounder: str, batch_size: int, gains: Mapping[str, str]) -> str:
    missing = [point for point in points if point["state"] == "missing"]
    if missing:
        return f"Nobody made the run of {missing[0]['arm']} with {confounder} {missing[0]['setting']}"
    worth = naming.join([f"{gain} for {arm}" for arm, gain in gains.items()])
    return f"At batch {batch_size} what {confounder} are worth: {worth or 'not known'}"


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
        alt.Tooltip("span:N", title="interval"),
        alt.Tooltip("round_ms:Q", format=".3f", title="round (ms)"),
        alt.Tooltip("round_ms_lo:Q", format=".3f", title="from"),
        alt.Tooltip("round_ms_hi:Q", format=".3f", title="to"),
    ]
    label = whole.mark_text(fontSize=14, fontWeight="bold", dy=-16, color=base.INK).encode(
        text="label:N", tooltip=tips
    )
    span = (
        whole.transform_filter("datum.span")
        .mark_text(fontSize=11, dy=3, color=base.INK, limit=200)
        .encode(text="span:N", tooltip=tips)
    )
    run = whole.mark_text(fontSize=11, dy=20, color=base.INK, limit=150).encode(text="run:N", tooltip=tips)
    return alt.layer(measured, missing, label, span, run)
