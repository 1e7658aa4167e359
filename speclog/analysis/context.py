"""Break-even as a curve of context: a longer context costs a speculative round more than a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from speclog.analysis.estimate import pair_at
from speclog.analysis.matching import match
from speclog.analysis.side import Side

if TYPE_CHECKING:
    import polars as pl


_STAR = ("tau_star", "tau_star_lo", "tau_star_hi")
_COLUMNS = ("context", *_STAR, "tau", "t_spec_ms", "t_base_ms", "speedup", "speedup_lo", "speedup_hi")


def tau_star_curve(
    candidate: Sequence[pl.DataFrame],
    baseline: Sequence[pl.DataFrame],
    batch_size: int,
    *,
    points: int = 41,
    contexts: Sequence[float] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Break-even accept length over context at one batch size; frames as in `breakeven.break_even_intervals`.

    Columns: context, tau_star, tau_star_lo, tau_star_hi, tau, t_spec_ms, t_base_ms, speedup, speedup_lo,
    speedup_hi, extrapolated. ``points`` contexts spread evenly over what both arms cover, or exactly
    ``contexts``; of those, the ones outside the common range are marked ``extrapolated``. No rows where
    nothing can be compared.
    """
    sides = [Side(frames, resamples=resamples, seed=seed) for frames in (candidate, baseline)]
    return curve(sides[0], sides[1], batch_size, points=points, contexts=contexts, confidence=confidence)


def curve(
    candidate: Side,
    baseline: Side,
    batch_size: int,
    *,
    points: int = 41,
    contexts: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """`tau_star_curve` of two sides made before."""
    import polars as pl

    schema = dict.fromkeys(_COLUMNS, pl.Float64()) | {"extrapolated": pl.Boolean()}
    pair = match(candidate, baseline, batch_size)
    if isinstance(pair, str):
        return pl.DataFrame(schema=schema)
    wanted = np.linspace(pair.context_from, pair.context_to, points) if contexts is None else contexts
    rows = []
    for context in map(float, wanted):
        known = pair_at(pair, context, confidence)
        if known is None:
            continue
        star, speedup = known.tau_star, known.speedup
        arms = (known.candidate.tau, known.candidate.round_ms, known.baseline.round_ms)
        star_row = (star.value, *star.interval(confidence))
        outside = not pair.context_from <= context <= pair.context_to
        rows.append((context, *star_row, *arms, speedup.value, *speedup.interval(confidence), outside))
    return pl.DataFrame(rows, schema=schema, orient="row")
