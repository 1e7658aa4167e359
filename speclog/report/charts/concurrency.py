"""Speedup over batch size: at which concurrency should speculation be switched off?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Level, Pair, Row

QUESTION = "At which concurrency should it be switched off?"
BOTH = "both measured"
"""Where a point is from, if it is not read between neighbours of the baseline."""
COLUMNS = ("batch_size", "speedup", "speedup_lo", "speedup_hi", "naive_speedup", "interval_kind", "from")
SPANS = ("from_batch_size", "to_batch_size", "change", "certain")


def points(levels: Sequence[Level], between: Sequence[Row]) -> list[Row]:
    """Speedups by batch size: those of levels with a number, and those of ``between``.

    ``between``: rows of `analysis.concurrency.unequal`, batch sizes that the baseline never ran.
    """
    measured = [
        {column: getattr(level, column, None) for column in COLUMNS} | {"from": BOTH}
        for level in levels
        if level.speedup is not None
    ]
    read = [
        {column: row.get(column) for column in COLUMNS}
        | {"from": f"baseline read between {row['between'][0]} and {row['between'][1]}"}
        for row in between
        if row.get("speedup") is not None
    ]
    return sorted([*measured, *read], key=lambda row: row["batch_size"])


def chart(pair: Pair, between: Sequence[Row] = (), crossings: Sequence[Row] = ()) -> Chart | Absent:
    """Speedup with interval per batch size, the line at which nothing is gained, and where it is crossed.

    ``between`` as for `points`; ``crossings``: rows of `analysis.concurrency.crossings` over those points.
    """
    key = f"concurrency-{pair.key}"
    known = points(pair.levels, between)
    if len(known) < 2:
        measured = f"batch {known[0]['batch_size']}" if known else "no batch size"
        return Absent(
            key, QUESTION, f"both runs were measured together only at {measured}; serve more batch sizes"
        )
    rows = base.data(key, known, COLUMNS)
    spans = base.data(f"{key}-crossings", crossings, SPANS)
    note = (
        "Points are measured batch sizes; the line only leads the eye, nothing was measured between them. "
        "Shaded: where the speedup passes 1."
    )
    if any(row["from"] != BOTH for row in known):
        note += " Hollow: the baseline never ran this size, its step is read between its neighbours."
    said = answer(known, crossings)
    spec = base.spec(_draw, *(["crossed"] if crossings else []), height=220)
    data = (rows, spans) if crossings else (rows,)
    return Chart(key, QUESTION, said, _alt(known, said), spec, data, note)


def answer(known: Sequence[Row], crossings: Sequence[Row]) -> str:
    """Where it stops paying, in words: every crossing as the interval of batch sizes it lies in."""
    sizes = f"{known[0]['batch_size']} to {known[-1]['batch_size']}"
    if not crossings:
        return _without_crossing(known, sizes)
    parts = [_crossing(row, place) for place, row in enumerate(crossings)]
    return numbers.capital("; ".join(parts))


def _crossing(row: Row, place: int) -> str:
    span = f"between batch {row['from_batch_size']} and {row['to_batch_size']}"
    again = " again" if place else ""
    what = f"switch it off{again}" if row["change"] == "stops paying" else f"it pays{again}, from"
    doubt = "" if row["certain"] else " (not sure: an interval there holds 1)"
    return f"{what} {span}{doubt}".replace("from between", "from somewhere between")


def _without_crossing(known: Sequence[Row], sizes: str) -> str:
    ties = [row["batch_size"] for row in known if _tie(row)]
    wins = [row["batch_size"] for row in known if row["speedup"] > 1 and not _tie(row)]
    losses = [row for row in known if row["speedup"] <= 1 and not _tie(row)]
    level = f"; at {', '.join(map(str, ties))} it is level (~)" if ties else ""
    read = any(row.get("from", BOTH) != BOTH for row in known)
    size = "batch size with a number" if read else "measured batch size"
    if wins and not losses:
        everywhere = f"every {size}" if not ties else "batch " + ", ".join(map(str, wins))
        return f"It pays at {everywhere}, of {sizes}{level}: no switch-off point was reached"
    if losses and not wins:
        return f"It pays at no {size}, {sizes}{level}"
    return f"It is level (~) at every {size}, {sizes}"


def _tie(row: Row) -> bool:
    low, high = row["speedup_lo"], row["speedup_hi"]
    return low is not None and high is not None and bool(low <= 1 <= high)


def _alt(known: Sequence[Row], said: str) -> str:
    parts = [
        f"batch {row['batch_size']}: {numbers.fixed(row['speedup'])} "
        f"({numbers.between(row['speedup_lo'], row['speedup_hi'])})"
        for row in known
    ]
    return f"Speedup over batch size with intervals. {'; '.join(parts)}. {said}."


def _draw(crossed: str = "") -> Any:
    import altair as alt

    x = alt.X(
        "batch_size:Q",
        title="batch size (running requests)",
        scale=alt.Scale(type="log", base=2, nice=False, padding=12),
    )
    y = alt.Scale(zero=False, nice=True)
    whole = alt.Chart(base.named()).encode(x=x)
    shaded = (
        alt.Chart(base.named("marks"))
        .mark_rect(color=base.LOSS, opacity=0.16)
        .encode(
            x=alt.X("from_batch_size:Q"),
            x2="to_batch_size:Q",
            tooltip=[
                alt.Tooltip("change:N"),
                alt.Tooltip("from_batch_size:Q", title="from batch"),
                alt.Tooltip("to_batch_size:Q", title="to batch"),
                alt.Tooltip("certain:N"),
            ],
        )
    )
    even = alt.Chart(base.named()).mark_rule(color=base.INK, strokeDash=[5, 4]).encode(y=alt.datum(1))
    span = whole.mark_rule(color=base.CANDIDATE, strokeWidth=2).encode(
        y=alt.Y("speedup_lo:Q", scale=y, title="speedup"), y2="speedup_hi:Q"
    )
    line = whole.mark_line(color=base.CANDIDATE, strokeDash=[2, 3], opacity=0.7).encode(
        y=alt.Y("speedup:Q", scale=y)
    )
    point = whole.mark_point(size=90, opacity=1, color=base.CANDIDATE, strokeWidth=2).encode(
        y=alt.Y("speedup:Q", scale=y),
        fill=alt.condition(
            "datum.from === 'both measured'", alt.value(base.CANDIDATE), alt.value("transparent")
        ),
        tooltip=[
            alt.Tooltip("batch_size:Q", title="batch size"),
            alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("speedup_lo:Q", format=".3f", title="from"),
            alt.Tooltip("speedup_hi:Q", format=".3f", title="to"),
            alt.Tooltip("interval_kind:N", title="interval"),
            alt.Tooltip("from:N", title="point"),
            alt.Tooltip("naive_speedup:Q", format=".3f", title="naive ratio"),
        ],
    )
    return alt.layer(*([shaded] if crossed else []), even, line, span, point)
