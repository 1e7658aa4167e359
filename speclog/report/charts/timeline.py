"""Throughput over time of one run: which windows count, which were left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Data, Run

if TYPE_CHECKING:
    import polars as pl

QUESTION = "Which windows count, and was the run steady?"
COLUMNS = ("from_s", "to_s", "mid_s", "line", "batch_size", "gen_tok_s", "round_ms", "tau", "state", "reason")
_LIMIT = 1200


def chart(run: Run, side: str, windows: pl.DataFrame) -> Chart | Absent:
    """Throughput of a run's decode windows (columns of view ``decode_window``) over time since the first.

    ``side`` is ``candidate`` or ``baseline`` and picks the colour.
    """
    key = f"timeline-{side}-{run.run_id[:10]}"
    known = windows.drop_nulls(["gen_tok_s", "ts"])
    if known.is_empty():
        return Absent(key, QUESTION, f"{run.name} printed no throughput with a time")
    ends = _spread(known["ts"])
    every = -(-len(known) // _LIMIT)
    shown = known.gather_every(every)
    note = "Hatched spans were left out of every number; hover or open the table for the reason."
    note += " The log prints whole seconds: windows of one second are spread over it."
    if len(shown) < len(known):
        note += f" Of {len(known):,} windows {len(shown):,} are drawn, evenly picked; all are in the store."
    rows = Data(key, COLUMNS, _points(shown, ends, every))
    colour = base.CANDIDATE if side == "candidate" else base.BASELINE
    spec = base.spec(_draw, colour, height=150)
    alt_text = _alt(run, known, ends[-1] - ends[0])
    return Chart(key, QUESTION, _title(run, known), alt_text, spec, (rows,), note)


def _spread(times: pl.Series) -> list[float]:
    """Times in seconds, equal whole-second ones spread evenly over their second."""
    import polars as pl

    place, same = pl.int_range(pl.len()).over("ts"), pl.len().over("ts")
    seconds = pl.col("ts").dt.epoch("us") / 1e6
    return times.to_frame("ts").select(seconds + place / same).to_series().to_list()


def _points(shown: pl.DataFrame, ends: Sequence[float], every: int) -> tuple[tuple[Any, ...], ...]:
    """Rows of `COLUMNS`: every n-th window, from the end of the window before it to its own."""
    now = [ends[place] - ends[0] for place in range(0, len(ends), every)]
    before = [0.0, *(ends[place - 1] - ends[0] for place in range(every, len(ends), every))]
    spans = [(round(a, 3), round(b, 3), round((a + b) / 2, 3)) for a, b in zip(before, now, strict=True)]
    kept = shown.select("line_no", "running_req", "gen_tok_s", "round_ms", "tau").iter_rows()
    states = [("left out", why) if why else ("counts", "") for why in shown["excluded"].to_list()]
    return tuple((*span, *row, *state) for span, row, state in zip(spans, kept, states, strict=True))


def _title(run: Run, windows: pl.DataFrame) -> str:
    out = Counter(windows["excluded"].drop_nulls().to_list())
    if not out:
        return f"{run.name}: all {numbers.count(len(windows), 'window')} count"
    reasons = ", ".join(f"{reason} {number}" for reason, number in out.most_common(3))
    return f"{run.name}: {out.total()} of {len(windows)} windows left out ({reasons})"


def _alt(run: Run, windows: pl.DataFrame, seconds: float) -> str:
    used = windows.filter(windows["excluded"].is_null())["gen_tok_s"].to_list()
    span = f" Counting windows lie between {min(used):,.1f} and {max(used):,.1f} tok/s." if used else ""
    return f"Throughput of {run.name} over {seconds:.0f} seconds. {_title(run, windows)}.{span}"


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
