"""Accepted drafts: how many of the draft tokens survive, and would fewer steps do?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING, Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Row, Run

if TYPE_CHECKING:
    import polars as pl

QUESTION = "How far do the drafts survive?"
COLUMNS = ("accepted", "rounds", "share_pct", "survival_pct", "survival_pct_lo", "survival_pct_hi")
BINS = ("tau_from", "tau_to", "batch_size", "windows")
WIDTH = 0.05
"""Of a bin of accept lengths, in tokens."""


def chart(
    run: Run,
    histogram: Sequence[int],
    windows: pl.DataFrame | None = None,
    survived: Sequence[Row] = (),
    left_out: int = 0,
) -> Chart | Absent:
    """Share of request-rounds by accepted drafts, and the share that accepts at least that many.

    ``histogram[i]`` is the number of request-rounds with i accepted drafts, summed over the run's windows.
    ``survived[i]``: survival_pct_lo and survival_pct_hi of position i, where they are known.
    ``left_out``: profiled windows with other draft steps, which are not in it.
    Without a histogram, the accept lengths of ``windows`` (columns of view ``decode_window``) are all.
    """
    key = f"acceptance-{run.run_id[:10]}"
    total = sum(histogram)
    if not total:
        return _of_windows(key, run, windows)
    survival = [sum(histogram[i:]) / total for i in range(len(histogram))]
    points = [
        {"accepted": i, "rounds": n, "share_pct": 100 * n / total, "survival_pct": 100 * survival[i]}
        | (survived[i] if survived else {})
        for i, n in enumerate(histogram)
    ]
    rows = base.data(key, points, COLUMNS)
    title, alt_text = _title(points), _alt(points, total)
    known = any(point.get("survival_pct_lo") is not None for point in points)
    note = "Bars: request-rounds with exactly so many accepted drafts. Line: with at least so many (survival)"
    note += "; whiskers: its 95 % interval over the profiled windows, within-run." if known else "."
    if left_out:
        windows_said = numbers.count(left_out, "profiled window")
        note += f" Left out: {windows_said} with other draft steps than most rounds had."
    spec = base.spec(_draw, *(["spans"] if known else []), height=200)
    return Chart(key, QUESTION, title, alt_text, spec, (rows,), note)


def _of_windows(key: str, run: Run, windows: pl.DataFrame | None) -> Chart | Absent:
    """How the accept length of whole windows is spread: means of forty rounds, no positions."""
    clean = None if windows is None else windows.filter(windows["excluded"].is_null()).drop_nulls("tau")
    if not run.speculative or clean is None or len(clean) < 2:
        return Absent(key, QUESTION, "no acceptance histogram: the run was not profiled (EAGLE3_PROFILE=1)")
    taus = clean["tau"].to_list()
    places = [floor(tau / WIDTH + 1e-9) for tau in taus]
    counted = Counter(zip(places, clean["running_req"].to_list(), strict=True))
    points = [
        {"tau_from": place * WIDTH, "tau_to": (place + 1) * WIDTH, "batch_size": size, "windows": number}
        for (place, size), number in sorted(counted.items())
    ]
    span = f"{numbers.fixed(min(taus))} to {numbers.fixed(max(taus))}"
    title = f"Accept length {numbers.fixed(sum(taus) / len(taus))} on average, {span} from window to window"
    alt_text = f"Distribution of accept length over {numbers.count(len(clean), 'clean window')}. {title}."
    note = (
        "A window is a mean over its rounds and requests. How far drafts survive by position is in profiled "
        "runs only (EAGLE3_PROFILE=1)."
    )
    rows = base.data(key, points, BINS)
    return Chart(key, QUESTION, title, alt_text, base.spec(_draw_windows, height=180), (rows,), note)


def _title(points: Sequence[Row]) -> str:
    if len(points) < 2:
        return "No draft token was measured"
    first, last = _at_least(points[1]), _at_least(points[-1])
    return f"The first draft token is accepted in {first} of rounds, all {len(points) - 1} in {last}"


_SURVIVAL = ("survival_pct", "survival_pct_lo", "survival_pct_hi")


def _alt(points: Sequence[dict[str, Any]], total: int) -> str:
    parts = [f"{p['accepted']} accepted: {p['share_pct']:.1f} %, at least: {_at_least(p)}" for p in points]
    return f"Distribution of accepted drafts over {total:,} request-rounds. {'; '.join(parts)}."


def _at_least(point: Row) -> str:
    return numbers.share_with_span(*(None if one is None else one / 100 for one in map(point.get, _SURVIVAL)))


def _draw(spans: str = "") -> Any:
    import altair as alt

    tips = [
        alt.Tooltip("accepted:O", title="accepted drafts"),
        alt.Tooltip("rounds:Q", title="request-rounds", format=",d"),
        alt.Tooltip("share_pct:Q", title="exactly (%)", format=".1f"),
        alt.Tooltip("survival_pct:Q", title="at least (%)", format=".1f"),
        alt.Tooltip("survival_pct_lo:Q", title="from (%)", format=".1f"),
        alt.Tooltip("survival_pct_hi:Q", title="to (%)", format=".1f"),
    ]
    whole = alt.Chart(base.named()).encode(
        x=alt.X("accepted:O", title="accepted drafts in a round", axis=alt.Axis(labelAngle=0)), tooltip=tips
    )
    bars = whole.mark_bar(color=base.BASELINE, opacity=0.75).encode(
        y=alt.Y("share_pct:Q", title="% of request-rounds")
    )
    line = whole.mark_line(
        color=base.CANDIDATE, point=alt.OverlayMarkDef(color=base.CANDIDATE, size=50)
    ).encode(y="survival_pct:Q")
    span = whole.mark_rule(color=base.CANDIDATE, strokeWidth=1.5).encode(
        y="survival_pct_lo:Q", y2="survival_pct_hi:Q"
    )
    return alt.layer(bars, line, *([span] if spans else []))


def _draw_windows() -> Any:
    import altair as alt

    return (
        alt.Chart(base.named())
        .mark_bar(opacity=0.85, stroke=base.PAPER, strokeWidth=1, color=base.CANDIDATE)
        .encode(
            x=alt.X(
                "tau_from:Q", bin="binned", title="accept length τ of a window", scale=alt.Scale(zero=False)
            ),
            x2="tau_to:Q",
            y=alt.Y("windows:Q", stack="zero", title="clean windows"),
            detail="batch_size:O",
            tooltip=[
                alt.Tooltip("tau_from:Q", format=".2f", title="τ from"),
                alt.Tooltip("tau_to:Q", format=".2f", title="to"),
                alt.Tooltip("batch_size:O", title="batch size"),
                alt.Tooltip("windows:Q"),
            ],
        )
    )
