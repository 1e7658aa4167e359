"""Fewer or more draft steps: would two steps be better?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base
from speclog.report.model import Absent, Chart, Level, Pair, Row, Run

QUESTION = "Would fewer or more steps be better?"
NOT_PROFILED = "the run was not profiled (EAGLE3_PROFILE=1): no acceptance by position"
COLUMNS = (
    "batch_size", "context", "steps", "draft_tokens", "tau", "tau_lo", "tau_hi", "t_round_ms",
    "t_round_ms_lo", "t_round_ms_hi", "tau_star", "speedup", "speedup_lo", "speedup_hi", "extrapolated",
    "next_step_pays", "best", "step_ms", "step_ms_lo", "step_ms_hi", "step_from", "draft_step_ms",
    "draft_step_ms_lo", "draft_step_ms_hi", "over_own", "over_own_lo", "over_own_hi",
)  # fmt: skip
MEASURED = ("steps", "run", "batch_size", "tau", "speedup", "speedup_lo", "speedup_hi", "proven")


def chart(
    pair: Pair, predicted: Sequence[Row], measured: Sequence[tuple[Run, Level, bool]] = ()
) -> Chart | Absent:
    """Predicted speedup by steps at the smallest batch size (rows of `analysis.whatif.best_steps`).

    ``measured``: runs of the same server with other steps and their level, drawn beside the prediction.
    """
    key = f"steps-{pair.key}"
    known = [row for row in predicted if row.get("speedup") is not None]
    if not known:
        refused = next((row["refused"] for row in predicted if row.get("refused")), None)
        return Absent(key, QUESTION, refused or NOT_PROFILED)
    size = min(row["batch_size"] for row in known)
    points = at_middle(known, size)
    rows = base.data(key, points, COLUMNS)
    marks = base.data(f"{key}-measured", _marks(measured, size), MEASURED)
    note = (
        f"Acceptance by position is measured. {cost(points)} Open points are extrapolated past the measured "
        "steps. Diamonds: runs with those steps, measured; where there is none, one is the proof."
    )
    said = title(pair, points, size)
    alt_text = f"Predicted speedup by draft steps. {'; '.join(map(_told, points))}"
    data = (rows, marks) if marks.rows else (rows,)
    spec = base.spec(_draw, *(["measured"] if marks.rows else []), height=200)
    return Chart(key, QUESTION, said, f"{alt_text}.", spec, data, note)


def _told(point: Row) -> str:
    gain = numbers.percent_with(point["speedup"], point["speedup_lo"], point["speedup_hi"])
    tau = numbers.with_span(point["tau"], point.get("tau_lo"), point.get("tau_hi"))
    return f"{point['steps']} steps {gain} at accept length {tau}"


def at_middle(known: Sequence[Row], size: int) -> list[Row]:
    """The rows of one batch size at the middle one of its contexts."""
    contexts = sorted({row["context"] for row in known if row["batch_size"] == size})
    middle = contexts[len(contexts) // 2]
    return [row for row in known if row["batch_size"] == size and row["context"] == middle]


def cost(known: Sequence[Row]) -> str:
    """What a step costs and how that is known, from the first row: ``A step costs 0.99 ms (...)``."""
    row = known[0]
    ends = row.get("step_ms_lo"), row.get("step_ms_hi")
    said = f"A step costs {numbers.with_span(row['step_ms'], *ends)} ms"
    if row["step_from"] == "draft time":
        return f"{said}, within-run (draft time; verify is held at its measured time)."
    draft = [row.get(f"draft_step_ms{end}") for end in ("", "_lo", "_hi")]
    of_it = f"; {numbers.with_span(*draft)} ms of it the draft forward" if draft[0] is not None else ""
    return f"{said}, within-run (from {row['step_from']}{of_it})."


def title(pair: Pair, points: Sequence[Row], size: int) -> str:
    """The best steps among the measured ones, and what the run's own give: as measured, not as predicted."""
    measured = [point for point in points if not point["extrapolated"]]
    best = max(measured, key=lambda point: point["speedup"])
    used = pair.candidate.steps
    level = next((one for one in pair.levels if one.batch_size == size and one.speedup is not None), None)
    count = numbers.count(best["steps"], "step") if best["steps"] else "no speculation"
    now = "" if level is None else numbers.percent_with(level.speedup, level.speedup_lo, level.speedup_hi)
    if level is not None and best["steps"] == used:
        return numbers.capital(f"{count} would be best at batch {size}, as it runs now: {now} measured")
    gain = numbers.percent_with(best["speedup"], best["speedup_lo"], best["speedup_hi"])
    said = f"{gain} predicted" if best["steps"] else "the plain server"
    said += f", {now} measured with {'steps that it changes' if used is None else used}" if now else ""
    if best["over_own_lo"] <= 1:
        more = numbers.percent_with(best["over_own"], best["over_own_lo"], best["over_own_hi"])
        return numbers.capital(
            f"no other number of steps is shown to be better at batch {size}; {count} may be: {said} "
            f"({more} between them)"
        )
    return numbers.capital(f"{count} would be best at batch {size}: {said}")


def _marks(measured: Sequence[tuple[Run, Level, bool]], size: int) -> list[Row]:
    return [
        {name: getattr(level, name, None) for name in MEASURED}
        | {"steps": run.steps, "run": run.name, "proven": proven}
        for run, level, proven in measured
        if level.batch_size == size
    ]


def _draw(measured: str = "") -> Any:
    import altair as alt

    y = alt.Scale(zero=False, nice=True)
    whole = alt.Chart(base.named()).encode(
        x=alt.X("steps:O", title="draft steps (0: no speculation)", axis=alt.Axis(labelAngle=0))
    )
    even = alt.Chart(base.named()).mark_rule(color=base.INK, strokeDash=[5, 4]).encode(y=alt.datum(1))
    span = whole.mark_rule(color=base.CANDIDATE, strokeWidth=2).encode(
        y=alt.Y("speedup_lo:Q", scale=y, title="predicted speedup"), y2=alt.Y2("speedup_hi:Q")
    )
    point = whole.mark_point(size=90, strokeWidth=2, color=base.CANDIDATE, opacity=1).encode(
        y=alt.Y("speedup:Q", scale=y),
        fill=alt.condition(
            "datum.extrapolated === 'True'", alt.value("transparent"), alt.value(base.CANDIDATE)
        ),
        tooltip=[
            alt.Tooltip("steps:O"),
            alt.Tooltip("tau:Q", format=".3f", title="accept length τ"),
            alt.Tooltip("tau_star:Q", format=".3f", title="break-even τ*"),
            alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("t_round_ms:Q", format=".3f", title="round (ms)"),
            alt.Tooltip("extrapolated:N"),
        ],
    )
    seen = alt.Chart(base.named("marks")).encode(x=alt.X("steps:O"))
    seen_span = seen.mark_rule(color=base.INK, strokeWidth=2, xOffset=9).encode(
        y=alt.Y("speedup_lo:Q", scale=y), y2=alt.Y2("speedup_hi:Q")
    )
    diamond = seen.mark_point(shape="diamond", size=110, filled=True, color=base.INK, opacity=1, xOffset=9)
    diamond = diamond.encode(
        y=alt.Y("speedup:Q", scale=y),
        tooltip=[
            alt.Tooltip("run:N", title="measured"),
            alt.Tooltip("steps:O"),
            alt.Tooltip("tau:Q", format=".3f", title="accept length τ"),
            alt.Tooltip("speedup:Q", format=".3f"),
            alt.Tooltip("proven:N", title="all else proven equal"),
        ],
    )
    return alt.layer(even, span, point, *([seen_span, diamond] if measured else []))
