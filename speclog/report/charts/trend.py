"""A configuration over time: where did its round time move, and what had changed in its records?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, sqrt
from typing import Any

from speclog.report import numbers
from speclog.report.charts import base, spread
from speclog.report.model import Absent, Chart, Row

QUESTION = "Did this configuration get slower or faster?"
COLUMNS = (
    "started_at", "run", "version", "round_ms", "low_ms", "high_ms", "tok_s", "tau", "n_clean", "step",
    "named",
)  # fmt: skip
NOTABLE = 0.02
"""Relative difference below which nothing is called a change."""
SURE = 4.0
"""...and it must exceed this many standard errors of the two rounds, and deviations between starts."""
WORTH = 4
"""So many differences between starts of a history count as much as that: few alone may agree by chance."""


def chart(number: int, about: tuple[str, str, str, int], points: Sequence[Row]) -> Chart | Absent:
    """Round time of the runs of one configuration by start time.

    ``about``: model, speculation, launch profile, batch size. ``points``: started_at, run, version, round_ms,
    round_mad_ms, tok_s, tau, n_clean and ``changed``, what the records say changed since the run before.
    """
    steps = change_points(points)
    listed = [
        {
            **row,
            "started_at": row["started_at"].isoformat(),
            **spread.ends(row),
            "step": steps[place],
            "named": name(row["changed"]) if steps[place] is not None else "",
        }
        for place, row in enumerate(points)
    ]
    rows = base.data(f"trend-{number}", listed, COLUMNS)
    model, treatment, profile, size = about
    named = model.rstrip("/").rsplit("/", 1)[-1]
    parts = (named, treatment, profile and f"profile {profile}", f"batch {size}")
    what = ", ".join(part for part in parts if part)
    title = f"{what}: {_answer(listed)}"
    note = (
        f"A step is marked where a round differs from the one before by more than {100 * NOTABLE:.0f} %, by "
        f"{SURE:.0f} standard errors of the two (whiskers: two; from the spread of clean windows, two "
        f"windows counted as one) and by {SURE:.0f} times what starts differ by: "
        f"{100 * scatter(points).deviation:.1f} %, from {100 * spread.STARTS:.0f} % a start and what those "
        "with the same records show; its interval counts that, too. Its name is what the two runs' records "
        "say changed, and nothing when they say nothing."
    )
    return Chart(
        rows.name,
        QUESTION,
        title,
        f"Round time over start time. {title}.",
        base.spec(_draw, height=170),
        (rows,),
        note,
    )


def change_points(points: Sequence[Row]) -> list[float | None]:
    """For each run the relative step of its round from the run before where that is a change, else None.

    ``points`` are rows of round_ms, round_mad_ms, n_clean and changed, in order of start. What a step must
    exceed comes from the two runs and from starts that record the same, never from the step itself: a history
    of three runs that goes up and back has two steps.
    """
    usual = scatter(points)
    return [None, *(_step(before, after, usual) for before, after in pairwise(points))]


def _step(before: Row, after: Row, usual: Scatter) -> float | None:
    """The relative step of a round from one run to another; None where it is none."""
    move = _move(before, after)
    error = hypot(spread.error(before), spread.error(after) * after["round_ms"] / before["round_ms"])
    others = usual if after["changed"] else usual.without(move)
    return move if abs(move) > max(NOTABLE, SURE * error, SURE * others.deviation) else None


def _move(before: Row, after: Row) -> float:
    move: float = after["round_ms"] / before["round_ms"] - 1
    return move


@dataclass(frozen=True, slots=True)
class Scatter:
    """What two starts differ by, relatively: from ``n`` differences with this sum of squares.

    `spread.STARTS` says it of two starts, and is worth `WORTH` differences.
    """

    n: int = WORTH
    squares: float = 2 * WORTH * spread.STARTS**2

    @property
    def deviation(self) -> float:
        """The standard deviation of a difference."""
        return sqrt(self.squares / self.n)

    def usual(self, moves: Sequence[float]) -> list[float]:
        """Of differences those that are not beyond it."""
        return [move for move in moves if abs(move) <= SURE * self.deviation]

    def without(self, move: float) -> Scatter:
        """What the other differences say."""
        return Scatter(self.n - 1, self.squares - move**2) if self.usual([move]) and self.n > WORTH else self


def scatter(points: Sequence[Row]) -> Scatter:
    """What two starts of a history differ by: neighbours that record the same say so, less the steps."""
    same = [_move(before, after) for before, after in pairwise(points) if not after["changed"]]
    found, usual = Scatter(), list[float]()
    while len(more := found.usual(same)) > len(usual):  # the wider the scatter, the fewer are steps
        usual = more
        found = Scatter(WORTH + len(usual), Scatter().squares + sum(move**2 for move in usual))
    return found


def name(changed: Sequence[str], limit: int = 4) -> str:
    """What changed at a step, from the records only."""
    if not changed:
        return "no recorded factor changed"
    rest = len(changed) - limit
    return "; ".join(changed[:limit]) + (f"; {rest} more" if rest > 0 else "")


def _answer(listed: Sequence[Row]) -> str:
    steps = [row for row in listed if row["step"] is not None]
    if not steps:
        return _without_steps(listed)
    last = steps[-1]
    moved = "slower" if last["step"] > 0 else "faster"
    before = listed[listed.index(last) - 1]
    words = f"{_size(before, last, scatter(listed))} {moved} at {last['run']} ({last['named']})"
    return words if len(steps) == 1 else f"{numbers.count(len(steps), 'step')}, the last {words}"


def _size(before: Row, after: Row, usual: Scatter) -> str:
    """How far a round moved, without its sign: ``29 % (26 to 32 %)``, by two standard errors of all of it."""
    move = after["step"]
    ratio = after["round_ms"] / before["round_ms"]
    off = spread.ERRORS * ratio * hypot(spread.error(before), spread.error(after), usual.deviation)
    low, high = sorted((abs(move) - off, abs(move) + off))
    return numbers.share_with_span(abs(move), low, high)


def _without_steps(listed: Sequence[Row]) -> str:
    """That no neighbours differ; a slow drift adds up to what a step would have been."""
    rounds = [row["round_ms"] for row in listed]
    runs = numbers.count(len(rounds), "run")
    ends = _step(listed[0], {**listed[-1], "changed": ["-"]}, scatter(listed))
    if ends is not None:
        moved = "slower" if ends > 0 else "faster"
        return f"no single step, but {abs(100 * ends):.1f} % {moved} from the first of {runs} to the last"
    unsure = sum(row["low_ms"] is None for row in listed)
    doubt = f"; {numbers.count(unsure, 'has', 'have')} one clean window or none and cannot be judged"
    spread = 100 * (max(rounds) / min(rounds) - 1)
    return f"no step over {runs}, which lie within {spread:.1f} %{doubt if unsure else ''}"


def _draw() -> Any:
    import altair as alt

    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip("started_at:T", title="started", format="%Y-%m-%d %H:%M"),
        alt.Tooltip("version:N"),
        alt.Tooltip("round_ms:Q", format=".3f", title="round (ms)"),
        alt.Tooltip("low_ms:Q", format=".3f", title="from"),
        alt.Tooltip("high_ms:Q", format=".3f", title="to"),
        alt.Tooltip("tok_s:Q", format=",.1f", title="tok/s"),
        alt.Tooltip("named:N", title="changed here"),
    ]
    whole = alt.Chart(base.named()).encode(
        x=alt.X(
            "started_at:T",
            title="start of the run",
            axis=alt.Axis(format="%b %d %H:%M", tickCount=4, labelOverlap="greedy"),
        ),
        y=alt.Y("round_ms:Q", title="round (ms)", scale=alt.Scale(zero=False)),
        tooltip=tips,
    )
    line = whole.mark_line(color=base.BASELINE, opacity=0.7)
    points = whole.mark_point(filled=True, size=45, opacity=1).encode(
        color=alt.condition("datum.step !== null", alt.value(base.LOSS), alt.value(base.CANDIDATE)),
        shape=alt.condition("datum.step !== null", alt.value("diamond"), alt.value("circle")),
        size=alt.condition("datum.step !== null", alt.value(150), alt.value(45)),
    )
    span = whole.mark_rule(color=base.INK, strokeWidth=1.5).encode(
        y=alt.Y("low_ms:Q", title="round (ms)", scale=alt.Scale(zero=False)), y2="high_ms:Q"
    )
    return alt.layer(line, span, points)
