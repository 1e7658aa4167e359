"""Speedup over batch size: where speculation stops paying, and what to do with unequal concurrency."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from speclog.analysis.estimate import Arm, Pair, arm_at
from speclog.analysis.matching import NO_CONTEXT
from speclog.analysis.side import Part, Side

if TYPE_CHECKING:
    import polars as pl


def crossings(levels: pl.DataFrame) -> pl.DataFrame:
    """Between which batch sizes the speedup passes 1.

    ``levels``: batch_size, speedup and, where known, speedup_lo, speedup_hi (as from `breakeven.compare`;
    rows without a speedup are skipped). No line is ever drawn through the points: they may rise again.
    Columns: from_batch_size, to_batch_size, change ('stops paying', 'starts paying'), certain (the interval
    of neither end holds 1). Sizes whose interval holds 1 lie inside the crossing they belong to.
    """
    import polars as pl

    known = levels.drop_nulls("speedup").sort("batch_size")
    points = [(row["batch_size"], *_side(row)) for row in known.iter_rows(named=True)]
    sure = [(size, sign) for size, sign, certain in points if certain]
    found = [
        (low, high, "stops paying" if before else "starts paying", True)
        for (low, before), (high, after) in pairwise(sure)
        if before != after
    ]
    found += [
        (low, high, "stops paying" if before else "starts paying", False)
        for (low, before, _), (high, after, _) in pairwise(points)
        if before != after and not any(start <= low and high <= end for start, end, _, _ in found)
    ]
    schema = {"from_batch_size": pl.Int64(), "to_batch_size": pl.Int64()}
    return pl.DataFrame(
        sorted(found), schema=schema | {"change": pl.String(), "certain": pl.Boolean()}, orient="row"
    )


def _side(row: dict[str, Any]) -> tuple[bool, bool]:
    """Whether the speedup is above 1, and whether its interval says so too."""
    low, high = row.get("speedup_lo"), row.get("speedup_hi")
    certain = low is None or high is None or not low <= 1 <= high
    return row["speedup"] > 1, certain


def unequal(candidate: Side, baseline: Side, *, confidence: float = 0.95) -> pl.DataFrame:
    """Speedup at the candidate's batch sizes that the baseline never ran, by interpolating the baseline.

    A plain step at batch size b lies between those at the nearest measured sizes on either side, both read
    at the candidate's context, with CUDA graphs where the candidate had them; the estimate is linear in b,
    the interval spans both ends and their own intervals. Raw throughputs are never divided. Columns:
    batch_size, context, between (the two sizes), t_spec_ms, t_base_ms, tau, tau_star, speedup, speedup_lo,
    speedup_hi, refused (outside the measured sizes or contexts, or no neighbour of the kind).
    """
    import polars as pl

    ran = baseline.counts if baseline.no_context else baseline.batch_sizes
    missing = [size for size in candidate.batch_sizes if size not in ran]
    rows = [_interpolated(candidate, baseline, size, confidence) for size in missing]
    numbers = ("t_spec_ms", "t_base_ms", "tau", "tau_star", "speedup", "speedup_lo", "speedup_hi")
    schema = {"batch_size": pl.Int64(), "context": pl.Float64(), "between": pl.List(pl.Int64())}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(numbers, pl.Float64()) | {"refused": pl.String()})


def _interpolated(candidate: Side, baseline: Side, size: int, confidence: float) -> dict[str, Any]:
    below = [b for b in baseline.batch_sizes if b < size]
    above = [b for b in baseline.batch_sizes if b > size]
    if not below or not above:
        if baseline.no_context:
            return {"batch_size": size, "refused": NO_CONTEXT.format("baseline")}
        if not baseline.batch_sizes:
            return {"batch_size": size, "refused": "the baseline has no clean window at all"}
        measured = ", ".join(map(str, baseline.batch_sizes))
        return {"batch_size": size, "refused": f"outside the baseline's batch sizes ({measured})"}
    part = max(candidate.at(size), key=lambda found: found.n)
    ends = [_covering(baseline.at(b), part) for b in (below[-1], above[0])]
    mine = arm_at(part, part.mean_context)
    theirs = [arm_at(end, part.mean_context) if end else None for end in ends]
    low, high = theirs
    if mine is None or low is None or high is None or part.n < 2:
        return {"batch_size": size, "refused": _uncovered(baseline, [below[-1], above[0]], part)}
    share = (size - below[-1]) / (above[0] - below[-1])
    return _estimated(size, part.mean_context, [below[-1], above[0]], mine, (low, high), share, confidence)


def _covering(parts: list[Part], part: Part) -> Part | None:
    """The neighbour's part at this context: with graphs as the candidate, mixed as it if there is such."""
    alike = [p for p in _at_context(parts, part) if p.eager == part.eager]
    return max(alike, key=lambda found: (found.mixed == part.mixed, found.n), default=None)


def _at_context(parts: list[Part], part: Part) -> list[Part]:
    return [p for p in parts if p.context_min <= part.mean_context <= p.context_max and p.n > 1]


def _uncovered(baseline: Side, sizes: list[int], part: Part) -> str:
    """Why a neighbour has nothing to read the step off."""
    if all(_at_context(baseline.at(size), part) for size in sizes) and part.n > 1:
        theirs, mine = ("with", "without") if part.eager else ("without", "with")
        return f"a neighbour of the baseline ran {theirs} CUDA graphs there, the candidate {mine} them"
    return "the baseline's neighbours do not cover this context"


def _estimated(
    size: int,
    context: float,
    between: list[int],
    mine: Arm,
    ends: tuple[Arm, Arm],
    share: float,
    confidence: float,
) -> dict[str, Any]:
    step = ends[0].round_ms + share * (ends[1].round_ms - ends[0].round_ms)
    spans = [Pair(mine, end, confidence).speedup.interval(confidence) for end in ends]
    return {
        "batch_size": size,
        "context": context,
        "between": between,
        "t_spec_ms": mine.round_ms,
        "t_base_ms": step,
        "tau": mine.tau,
        "tau_star": mine.round_ms / step,
        "speedup": mine.tau * step / mine.round_ms,
        "speedup_lo": min(low for low, _ in spans),
        "speedup_hi": max(high for _, high in spans),
    }
