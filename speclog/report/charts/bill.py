"""The round as a bill in tokens: which phase costs how much of what the baseline earns in a step?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Pair, Row

QUESTION = "What does a round cost, phase by phase?"
ELSEWHERE = "no profiled round lies at a context that both runs cover, so there is no step to hold it against"
COLUMNS = (
    "batch_size", "arm", "phase", "order", "ms", "ms_lo", "ms_hi", "tokens", "tokens_lo", "tokens_hi",
    "share_pct", "share_pct_lo", "share_pct_hi", "shrink_to_ms", "context",
)  # fmt: skip


def chart(pair: Pair, bill: Sequence[Row], *, elsewhere: bool = False) -> Chart | Absent:
    """Phases in tokens (rows of `analysis.phases.bill`) stacked beside the baseline's step, one token.

    ``context`` of a row: that of the profiled rounds, at which the step was read. ``elsewhere``: the run was
    profiled, at contexts that the two arms do not share.
    """
    key = f"bill-{pair.key}"
    lines = [row for row in bill if row.get("tokens") is not None]
    if not lines:
        why = "the run was not profiled (EAGLE3_PROFILE=1), so its round cannot be split into phases"
        return Absent(key, QUESTION, ELSEWHERE if elsewhere else why)
    taus = {level.batch_size: level.tau for level in pair.levels}
    rows = base.data(key, [*map(_row, lines), *_steps(lines)], COLUMNS)
    marks = base.data(
        f"{key}-tau",
        [_mark(size, taus) for size in _sizes(lines) if taus.get(size)],
        ("arm", "batch_size", "tau"),
    )
    note = (
        f"One token is what the baseline earns in one step, so the whole bar is break-even τ*{_at(lines)}; "
        "the mark is the accept length: "
        "the round pays while the bar ends before the mark. Intervals (on hover and in the data) are "
        "within-run: over the profiled windows, and of the baseline's step."
    )
    height = 38 * (len(_sizes(lines)) + len(_sizes(lines))) + 30
    return Chart(
        key,
        QUESTION,
        _title(lines),
        _alt(lines),
        base.spec(_draw, height=height),
        (rows, marks),
        note,
    )


def _at(lines: Sequence[Row]) -> str:
    """At which context, where the profiled rounds print it."""
    known = sorted({row["context"] for row in lines if row.get("context") is not None})
    if not known:
        return ""
    said = " to ".join(numbers.fixed(context, 0) for context in dict.fromkeys((known[0], known[-1])))
    return f" at the context of the profiled rounds ({said} tokens)"


def _sizes(lines: Sequence[Row]) -> list[int]:
    return sorted({row["batch_size"] for row in lines})


def _arm(size: int, what: str) -> str:
    return f"batch {size}, {what}"


def _row(row: Row) -> Row:
    order = base.PHASES.index(row["phase"]) if row["phase"] in base.PHASES else len(base.PHASES)
    return {**row, "arm": _arm(row["batch_size"], "round"), "order": order}


def _steps(lines: Sequence[Row]) -> list[Row]:
    return [
        {
            "batch_size": size,
            "arm": _arm(size, "baseline step"),
            "phase": "step",
            "order": 7,
            "tokens": 1.0,
            "share_pct": 100.0,
        }
        for size in _sizes(lines)
    ]


def _mark(size: int, taus: dict[int, float | None]) -> Row:
    return {"arm": _arm(size, "round"), "batch_size": size, "tau": taus[size]}


def _title(lines: Sequence[Row]) -> str:
    size = _sizes(lines)[0]
    level = [row for row in lines if row["batch_size"] == size]
    most = max(level, key=lambda row: row["tokens"])
    share = [None if most.get(name) is None else most[name] / 100 for name in _SHARE]
    tokens = numbers.with_span(most["tokens"], most.get("tokens_lo"), most.get("tokens_hi"))
    what = f"{numbers.capital(most['phase'])} is {numbers.share_with_span(*share)} of the round"
    return f"{what} at batch {size}: {tokens} tokens"


_SHARE = ("share_pct", "share_pct_lo", "share_pct_hi")


def _alt(lines: Sequence[Row]) -> str:
    parts = [
        f"batch {row['batch_size']} {row['phase']} "
        f"{numbers.with_span(row['tokens'], row.get('tokens_lo'), row.get('tokens_hi'))} tokens "
        f"({numbers.ms(row['ms'])} ms)"
        for row in lines
    ]
    return "Stacked bars of the phases of a round in baseline tokens. " + "; ".join(parts) + "."


def _draw() -> Any:
    import altair as alt

    y = alt.Y("arm:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    bars = (
        alt.Chart(base.named())
        .mark_bar(height=22, stroke=base.PAPER, strokeWidth=1)
        .encode(
            y=y,
            x=alt.X(
                "tokens:Q",
                title="tokens (a baseline step: one)",
                stack="zero",
                scale=alt.Scale(padding=14, nice=False, domainMin=0),
            ),
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=list(base.PHASES), range=list(base.PHASE_COLOURS)),
                legend=alt.Legend(orient="top", title=None, columns=3),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("arm:N", title="bar"),
                alt.Tooltip("phase:N"),
                alt.Tooltip("ms:Q", format=".3f", title="ms a round"),
                alt.Tooltip("ms_lo:Q", format=".3f", title="ms from"),
                alt.Tooltip("ms_hi:Q", format=".3f", title="ms to"),
                alt.Tooltip("tokens:Q", format=".3f"),
                alt.Tooltip("tokens_lo:Q", format=".3f", title="tokens from"),
                alt.Tooltip("tokens_hi:Q", format=".3f", title="tokens to"),
                alt.Tooltip("share_pct:Q", format=".1f", title="share (%)"),
                alt.Tooltip("shrink_to_ms:Q", format=".3f", title="break-even if it took (ms)"),
            ],
        )
    )
    tau = (
        alt.Chart(base.named("marks"))
        .mark_tick(thickness=3, size=34, color=base.CANDIDATE)
        .encode(y=y, x="tau:Q", tooltip=[alt.Tooltip("tau:Q", format=".3f", title="accept length τ")])
    )
    label = (
        alt.Chart(base.named("marks"))
        .mark_text(dy=-24, color=base.CANDIDATE, fontSize=11)
        .encode(y=y, x="tau:Q", text=alt.Text("tau:Q", format=".2f"))
    )
    return alt.layer(bars, tau, label)
