"""What profiling itself costs: on and off windows compared at equal context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.analysis.bootstrap import variance_of
from speclog.analysis.matching import Matched, match
from speclog.analysis.scatter import uncertainty
from speclog.analysis.side import Side
from speclog.analysis.student import expansion, satterthwaite, t_quantile

if TYPE_CHECKING:
    import polars as pl

SAME_SIZE = 0.1
MIN_TRIPLES = 3


@dataclass(frozen=True)
class Overhead:
    """Overhead of profiling in per cent of the unprofiled round, with its interval and what it rests on."""

    pct: float
    pct_lo: float
    pct_hi: float
    n: int
    naive_pct: float
    """Mean of what the log's own lines claim, contexts unequal."""
    how: str


def ab_overhead(
    ab: pl.DataFrame, prefill_lines: Sequence[int], *, confidence: float = 0.95
) -> Overhead | None:
    """Overhead from ``kind=ab`` lines of an older profiler, alternating profiled and unprofiled windows.

    Lines with an interval of their own are not of that kind: `fitted_overhead` reads them.
    ``ab`` columns: line_no, n_on, n_off (rounds), period_on_ms, period_off_ms, overhead_pct, in order of
    lines. Each line pairs an off window with the on window after it, and a round grows with context, so the
    line's own difference is biased (by 3 % on an H200). Here the off window is held against the mean of the
    on windows before and after it, within one request: equal context up to curvature. Lines that pool
    several windows, or follow a prefill (``prefill_lines``), are not used. None with fewer than three such
    triples.
    """
    lines = list(ab.iter_rows(named=True))
    gains = [
        100 * ((before["period_on_ms"] + here["period_on_ms"]) / 2 / here["period_off_ms"] - 1)
        for before, here in pairwise(lines)
        if _one_window(before, lines) and _one_window(here, lines) and not _split(before, here, prefill_lines)
    ]
    if len(gains) < MIN_TRIPLES:
        return None
    values = np.array(gains)
    # Neighbouring triples share an on window: independent are about two of three.
    effective = max(2.0, len(values) * 2 / 3)
    half = t_quantile(0.5 + confidence / 2, effective - 1) * float(values.std(ddof=1)) / effective**0.5
    mean = float(values.mean())
    naive = float(np.mean([line["overhead_pct"] for line in lines]))
    return Overhead(mean, mean - half, mean + half, len(values), naive, "on-off-on within a request")


def fitted_overhead(ab: Sequence[Mapping[str, Any]], batch_size: int | None) -> tuple[Overhead, int] | None:
    """Overhead as the profiler fitted it itself, and at which batch size.

    ``ab``: fields of ``kind=ab`` lines in order; those with ``ci95_pct`` count. Each holds all blocks of its
    batch size so far, fitted over context (docs/profiler.md): the last line of a batch size says it. Of
    ``batch_size`` where there is such a line, else of the size with most rounds; of several ranks the lowest.
    """
    last: dict[int, tuple[Overhead, float]] = {}
    told = [(line, _ends(line)) for line in ab]
    lowest = min((line.get("rank") or 0 for line, ends in told if ends), default=0)
    for line, ends in told:
        if ends is None or (line.get("rank") or 0) != lowest:
            continue
        size, n = int(line["bs"]), int(min(line["n_on"], line["n_off"]))
        naive = 100 * (line["period_on_ms"] / line["period_off_ms"] - 1)
        how = "blocks that take turns, fitted over context by the profiler"
        last[size] = Overhead(float(line["overhead_pct"]), *ends, n, naive, how), n
    if not last:
        return None
    size = batch_size if batch_size in last else max(last, key=lambda one: last[one][1])
    return (last[size][0], size) if size is not None else None


def _ends(line: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval a line prints as ``low,high``; None where it does not, or not at one batch size."""
    parts = str(line.get("ci95_pct") or "").split(",")
    try:
        low, high = map(float, parts)
    except ValueError:
        return None
    size, known = line.get("bs"), (line["n_on"], line["n_off"], line["overhead_pct"], low, high)
    whole = isinstance(size, int | float) and 1 <= size < inf and size == int(size)
    return (low, high) if whole and low <= high and all(map(isfinite, known)) else None


def _one_window(line: dict[str, float], lines: list[dict[str, float]]) -> bool:
    size = min(min(other["n_on"], other["n_off"]) for other in lines)
    return max(line["n_on"], line["n_off"]) <= (1 + SAME_SIZE) * size


def _split(before: dict[str, float], here: dict[str, float], prefill_lines: Sequence[int]) -> bool:
    return any(before["line_no"] < line < here["line_no"] for line in prefill_lines)


def run_overhead(
    profiled: Sequence[pl.DataFrame],
    plain: Sequence[pl.DataFrame],
    batch_size: int,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Overhead | None:
    """Overhead from profiled runs against unprofiled runs of the same configuration, at equal context.

    Frames of view ``decode_window``. Two processes differ by more than their windows do: with one run a
    side this interval does not cover that. None where the two cannot be compared.
    """
    sides = [Side(frames, resamples=resamples, seed=seed) for frames in (profiled, plain)]
    pair = match(sides[0], sides[1], batch_size)
    return None if isinstance(pair, str) else _ratio(pair, confidence)


def _ratio(pair: Matched, confidence: float) -> Overhead | None:
    both = [(part, uncertainty(part)) for part in (pair.candidate, pair.baseline)]
    logs, dofs = [], []
    for part, known in both:
        if known is None:
            return None
        logs.append(known.draws.round_ms(pair.context - part.mean_context) / part.at(pair.context))
        dofs.append(known.dof_ms)
    wide = expansion(confidence, satterthwaite([variance_of(log) for log in logs], dofs))
    ratio = float(pair.candidate.at(pair.context) / pair.baseline.at(pair.context))
    tails = [0.5 - confidence / 2, 0.5 + confidence / 2]
    low, high = np.quantile(ratio * np.exp((logs[0] - logs[1]) * wide), tails)
    medians = [np.median(np.concatenate([m.windows.round_ms for m in part.members])) for part, _ in both]
    return Overhead(
        100 * (ratio - 1),
        100 * (float(low) - 1),
        100 * (float(high) - 1),
        min(pair.candidate.n, pair.baseline.n),
        100 * float(medians[0] / medians[1] - 1),
        "runs at equal context",
    )
