"""Four runs that differ in accept length alone: one break-even, and each predicts the others."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from bench.validate import Data, Section
from speclog.analysis.context import curve
from speclog.analysis.estimate import arm_at
from speclog.analysis.processes import process_scatter
from speclog.analysis.side import Part, Side
from speclog.analysis.student import expansion, satterthwaite, t_quantile

RUNS = ("eagle3-s5-a1.4", "eagle3-s5-a1.6", "eagle3-s5-a2.1", "eagle3-s5-a3.0")
BASE = ("base", "base-repeat")
TEXT = """Break-even belongs to machine and configuration, not to the draft: four runs of one server whose
simulated accept lengths are 1.4, 1.6, 2.1 and 3.0 must give the same tau_star. Baseline: two plain
runs, pooled. Then, from any one of the four and its line of round time, the throughput of each
other is predicted, at that one's contexts and accept length.

Each prediction crosses from one process to another, and processes of the same server differ by more
than the windows of either show. That scatter is taken from pairs of the same server started twice
that are not the runs predicted ({pairs}): sd {scatter:.2f} % with {dof:.0f} degrees of freedom at b
= 1. The intervals below contain it. Within-run intervals, which do not, are shown beside them: they
hold the measured value less often than they should, and that is why speclog names the kind of every
interval."""
GOLDEN = {
    "eagle3-s5-a1.4": (1.478, 1.540, 1.600),
    "eagle3-s5-a1.6": (1.476, 1.540, 1.602),
    "eagle3-s5-a2.1": (1.474, 1.537, 1.598),
    "eagle3-s5-a3.0": (1.479, 1.541, 1.599),
    "eagle3-s2-a2.1": (1.306, 1.375, 1.441),
}
LIMIT_PCT = {1: 1.5, 8: 4.0}
TWICE = (("base", "base-repeat"), ("base", "profiled-base"), ("eagle3-s2-a2.1", "profiled-eagle3-s2-a2.1"))
Row = tuple[float, float, float, float, float, float]


def section(data: Data) -> Section:
    found = Section("Four accept lengths, one break-even")
    twice = [pair for pair in TWICE if data.has(*pair)]
    if not data.has(*RUNS, *BASE) or not twice:
        found.claim("tau_star of four runs", "within 0.5 %", "the logs are not here", None)
        return found
    pairs = [(data.side(first), data.side(second)) for first, second in twice]
    named = ", ".join(f"{first} / {second}" for first, second in twice)
    sd, dof = process_scatter(pairs, 1) or (0.0, 0.0)
    found.text = TEXT.format(pairs=named, scatter=100 * sd, dof=dof)
    _agreement(found, data)
    for batch_size, limit in LIMIT_PCT.items():
        scatter = process_scatter(pairs, batch_size)
        assert scatter is not None
        _predictions(found, data, batch_size, limit, scatter)
    return found


def _agreement(found: Section, data: Data) -> None:
    base = data.side(*BASE)
    stars = []
    for run, golden in GOLDEN.items():
        table = curve(data.side(run), base, 1, contexts=[200, 400, 600])
        values = table["tau_star"].to_list()
        stars += [values[1]] if run in RUNS else []
        low, high = table["tau_star_lo"][1], table["tau_star_hi"][1]
        shown = " / ".join(f"{value:.3f}" for value in values) + f" (at 400: {low:.3f} to {high:.3f})"
        close = max(abs(value - want) for value, want in zip(values, golden, strict=True)) < 0.0011
        expected = " / ".join(f"{value:.3f}" for value in golden)
        found.claim(f"{run}: tau_star at b = 1, L = 200 / 400 / 600", expected, shown, close)
    spread = 100 * (max(stars) / min(stars) - 1)
    found.claim("the four agree pairwise at L = 400", "within 0.5 %", f"{spread:.2f} %", spread <= 0.5)
    eight = curve(data.side("eagle3-s5-a1.6"), base, 8, contexts=[200, 400, 600])
    shown = " / ".join(f"{value:.2f}" for value in eight["tau_star"])
    outside = ", ".join(f"{row[0]:.0f}" for row in eight.filter("extrapolated").select("context").rows())
    expected = "1.65 / 1.78 / 1.91"
    found.claim(
        "5 steps at b = 8, L = 200 / 400 / 600",
        expected,
        f"{shown} (extrapolated: {outside})",
        shown == expected,
    )


def _predictions(
    found: Section, data: Data, batch_size: int, limit: float, scatter: tuple[float, float]
) -> None:
    sides = {run: data.side(run) for run in RUNS}
    rows = [_predicted(sides[i], sides[j], batch_size, scatter) for i, j in permutations(RUNS, 2)]
    worst = max(abs(100 * (row[0] / row[1] - 1)) for row in rows)
    covered = sum(low <= measured <= high for _, measured, low, high, _, _ in rows)
    within = sum(low <= measured <= high for _, measured, _, _, low, high in rows)
    what = f"throughput of the other three at b = {batch_size}, 12 predictions"
    found.claim(what, f"within {limit:g} %", f"worst {worst:.2f} %", worst <= limit)
    hold = f"95 % intervals hold the measured value, b = {batch_size}"
    found.claim(hold, "12 of 12", f"{covered} of 12", covered == len(rows))
    found.claim(f"{hold}: within-run only", "-", f"{within} of 12", None)
    lines = [
        "| from | to | predicted tok/s | 95 % | within-run | measured | off |",
        "|---|---|---|---|---|---|---|",
    ]
    for (i, j), (predicted, measured, low, high, low_w, high_w) in zip(
        permutations(RUNS, 2), rows, strict=True
    ):
        spans = f"{low:.1f} to {high:.1f} | {low_w:.1f} to {high_w:.1f}"
        off = 100 * (predicted / measured - 1)
        lines.append(f"| {i} | {j} | {predicted:.1f} | {spans} | {measured:.1f} | {off:+.2f} % |")
    found.table += f"Predictions at b = {batch_size}:\n\n" + "\n".join(lines) + "\n\n"


def _predicted(known: Side, other: Side, batch_size: int, scatter: tuple[float, float]) -> Row:
    """(predicted, measured, low, high, within-run low and high) throughput of ``other`` from ``known``."""
    mine, theirs = _only(known, batch_size), _only(other, batch_size)
    context = theirs.mean_context
    arms = [arm_at(part, context) for part in (mine, theirs)]
    logs = [(arm.log_ms[0], arm.log_ms[1]) for arm in arms if arm is not None]
    moved = logs[0][0] - logs[1][0]
    variances, dofs = [float(np.var(draws)) for draws, _ in logs], [dof for _, dof in logs]
    tokens = 1000 * batch_size * theirs.tau
    predicted, measured = tokens / float(mine.at(context)), tokens / float(theirs.at(context))
    within = np.quantile(
        predicted * np.exp(moved * expansion(0.95, satterthwaite(variances, dofs))), [0.025, 0.975]
    )
    # Two processes, each off by the scatter of processes.
    sd, dof = scatter
    half = t_quantile(0.975, satterthwaite([*variances, 2 * sd**2], [*dofs, dof]))
    half *= float(np.sqrt(sum(variances) + 2 * sd**2))
    low, high = predicted * np.exp(-half), predicted * np.exp(half)
    return predicted, measured, float(low), float(high), float(within[0]), float(within[1])


def _only(side: Side, batch_size: int) -> Part:
    (part,) = side.at(batch_size)
    return part
