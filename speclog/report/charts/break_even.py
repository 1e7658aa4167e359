"""Accept length against break-even, one row a batch size: is the accept length past the mark?"""

from __future__ import annotations

from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Level, Pair

QUESTION = "Is the accept length past break-even?"
_COLUMNS = (
    "batch_size", "label", "tau", "tau_lo", "tau_hi", "tau_star", "tau_star_lo", "tau_star_hi",
    "margin_tokens", "margin_ms", "margin_pct", "interval_kind",
)  # fmt: skip


def chart(pair: Pair) -> Chart | Absent:
    """Intervals of tau and tau_star per batch size of a pair, from its levels."""
    key = f"breakeven-{pair.key}"
    levels = [level for level in pair.levels if level.tau_star is not None]
    if not levels:
        refused = next((level.refused for level in pair.levels if level.refused), "no level with a number")
        return Absent(key, QUESTION, refused)
    rows = base.data(key, [_row(level) for level in levels], _COLUMNS)
    return Chart(
        key, QUESTION, _title(pair), _alt(pair), base.spec(_draw, height=44 * len(levels) + 20), (rows,)
    )


def _row(level: Any) -> dict[str, Any]:
    row = {column: getattr(level, column) for column in _COLUMNS if column != "label"}
    return {**row, "label": f"batch {level.batch_size}"}


def _title(pair: Pair) -> str:
    past = [
        level
        for level in pair.levels
        if level.margin_tokens is not None and level.margin_tokens > 0 and not level.tie
    ]
    known = [level for level in pair.levels if level.margin_tokens is not None]
    first = known[0]
    verb = "is past" if first in past else "does not clearly pass" if first.tie else "falls short of"
    tau = numbers.with_span(first.tau, first.tau_lo, first.tau_hi)
    star = numbers.with_span(first.tau_star, first.tau_star_lo, first.tau_star_hi)
    words = f"Accept length {tau} {verb} break-even {star} at batch {first.batch_size}"
    if len(known) == 1:
        return words
    return f"{words}; {numbers.count(len(past), 'batch size')} of {len(known)} past it"


def _told(level: Level) -> str:
    tau = numbers.with_span(level.tau, level.tau_lo, level.tau_hi)
    star = numbers.with_span(level.tau_star, level.tau_star_lo, level.tau_star_hi)
    ends = level.margin_tokens_lo, level.margin_tokens_hi
    margin = numbers.signed_with_span(level.margin_tokens, *ends)
    return f"batch {level.batch_size}: accept length {tau}, break-even {star}, margin {margin} tokens"


def _alt(pair: Pair) -> str:
    parts = [_told(level) for level in pair.levels if level.tau_star is not None]
    return "Accept length against break-even accept length with intervals. " + "; ".join(parts) + "."


def _draw() -> Any:
    import altair as alt

    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    x = alt.Scale(zero=False, nice=True, padding=18)
    tips = [
        alt.Tooltip("label:N", title="level"),
        alt.Tooltip("tau:Q", title="accept length τ (tokens)", format=".3f"),
        alt.Tooltip("tau_star:Q", title="break-even τ* (tokens)", format=".3f"),
        alt.Tooltip("margin_tokens:Q", title="margin (tokens)", format="+.3f"),
        alt.Tooltip("margin_ms:Q", title="margin (ms a round)", format="+.2f"),
        alt.Tooltip("margin_pct:Q", title="margin (%)", format="+.1f"),
        alt.Tooltip("interval_kind:N", title="interval"),
    ]
    whole = alt.Chart(base.named()).encode(y=y, tooltip=tips)
    gap = whole.mark_bar(height=10, opacity=0.28).encode(
        x=alt.X("tau_star:Q", scale=x, title="tokens per request and round"),
        x2="tau:Q",
        color=alt.condition("datum.margin_tokens >= 0", alt.value(base.WIN), alt.value(base.LOSS)),
    )
    star_span = whole.mark_rule(strokeWidth=2, color=base.INK).encode(
        x=alt.X("tau_star_lo:Q", scale=x), x2="tau_star_hi:Q"
    )
    star = whole.mark_tick(thickness=4, size=26, color=base.INK).encode(x=alt.X("tau_star:Q", scale=x))
    tau_span = whole.mark_rule(strokeWidth=2, color=base.CANDIDATE).encode(
        x=alt.X("tau_lo:Q", scale=x), x2="tau_hi:Q"
    )
    tau = whole.mark_point(filled=True, size=110, color=base.CANDIDATE, opacity=1).encode(
        x=alt.X("tau:Q", scale=x)
    )
    star_text = whole.mark_text(dy=-19, color=base.INK, fontSize=11).encode(
        x=alt.X("tau_star:Q", scale=x), text=alt.Text("tau_star:Q", format=".2f")
    )
    return alt.layer(gap, star_span, star, tau_span, tau, star_text)
