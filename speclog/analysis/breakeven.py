"""Break-even of two arms at equal batch size and equal context, with intervals.

Formulas (docs/break-even.md): tau_star = t_spec / t_base, speedup S = tau / tau_star, both round times read
off their lines at the middle of the contexts that both arms cover. Point estimates equal view ``break_even``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.analysis.caveats import caveats
from speclog.analysis.equivalence import equivalent
from speclog.analysis.estimate import Estimate, Pair, pair_at
from speclog.analysis.matching import Matched, match
from speclog.analysis.scatter import uncertainty
from speclog.analysis.side import Side

if TYPE_CHECKING:
    import polars as pl

DELTA = 0.02
"""Arms whose S differs from 1 by less than this count as equal, when the test for it succeeds."""
NO_SCATTER = "too few clean windows, here and at the run's other batch sizes, to tell how much they scatter"


def break_even_intervals(
    candidate: Sequence[pl.DataFrame],
    baseline: Sequence[pl.DataFrame],
    *,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    delta: float = DELTA,
) -> pl.DataFrame:
    """Compare repeats of a candidate with repeats of a baseline at each batch size of the candidate.

    Each frame holds one run's rows of view ``decode_window``. The result has one row a batch size: `compare`.
    For many comparisons make each `Side` once and call `compare`.
    """
    sides = (Side(frames, resamples=resamples, seed=seed) for frames in (candidate, baseline))
    return compare(*sides, confidence=confidence, delta=delta)


def compare(
    candidate: Side, baseline: Side, *, confidence: float = 0.95, delta: float = DELTA
) -> pl.DataFrame:
    """One row a batch size of the candidate.

    Columns: those of view ``break_even`` that belong to a level; ``*_lo``, ``*_hi`` (percentiles of a joint
    moving-block bootstrap, widened to Student's t with the effective degrees of freedom); ``p_win``, the
    probability that S > 1; ``tie`` ('~' where the interval of S holds 1); ``equivalent`` (two one-sided tests
    at 5 %: S within ``delta`` of 1); ``interval_kind`` ('between-run' only with repeats on both sides, else
    'within-run'); ``n_eff_*``; ``lag1_*``; ``usable_pct_*``; ``caveats`` (in words; with any, the number is
    no headline); ``refused`` (why there is no number).
    """
    import polars as pl

    rows = [_row(candidate, baseline, size, confidence, delta) for size in candidate.batch_sizes]
    return pl.DataFrame(rows, schema=_schema(), strict=False)


def _row(candidate: Side, baseline: Side, batch_size: int, confidence: float, delta: float) -> dict[str, Any]:
    pair = match(candidate, baseline, batch_size)
    row = {"batch_size": batch_size} | _shares(candidate, baseline, batch_size)
    if isinstance(pair, str):
        return row | {"refused": pair}
    known = pair_at(pair, pair.context, confidence)
    if known is None:
        return row | {"refused": NO_SCATTER}
    return row | _where(pair) | _numbers(known, delta) | {"caveats": caveats(pair, candidate, baseline)}


def _shares(candidate: Side, baseline: Side, batch_size: int) -> dict[str, Any]:
    return {
        "n_candidate": sum(part.n for part in candidate.at(batch_size)),
        "n_baseline": sum(part.n for part in baseline.at(batch_size)),
        "usable_pct_candidate": candidate.usable_pct(batch_size),
        "usable_pct_baseline": baseline.usable_pct(batch_size),
    }


def _where(pair: Matched) -> dict[str, Any]:
    both = [uncertainty(part) for part in (pair.candidate, pair.baseline)]
    repeated = all(known is not None and known.between_runs for known in both)
    return {
        "context_from": pair.context_from,
        "context_to": pair.context_to,
        "context": pair.context,
        "n_candidate": pair.candidate.n,
        "n_baseline": pair.baseline.n,
        "interval_kind": "between-run" if repeated else "within-run",
        "n_eff_candidate": pair.candidate.n_eff,
        "n_eff_baseline": pair.baseline.n_eff,
        "lag1_candidate": pair.candidate.correlation,
        "lag1_baseline": pair.baseline.correlation,
    }


def _numbers(pair: Pair, delta: float) -> dict[str, Any]:
    speedup = pair.speedup
    low, high = speedup.interval(pair.confidence)
    return {
        **_spread("tau", pair.tau, pair.confidence),
        **_spread("t_spec_ms", pair.t_spec_ms, pair.confidence),
        **_spread("t_base_ms", pair.t_base_ms, pair.confidence),
        **_spread("tau_star", pair.tau_star, pair.confidence),
        **_spread("margin_tokens", pair.margin_tokens, pair.confidence),
        **_spread("margin_ms", pair.margin_ms, pair.confidence),
        "margin_pct": 100 * (speedup.value - 1),
        **_spread("speedup", speedup, pair.confidence),
        "p_win": float(np.mean(speedup.draws > 1) + np.mean(speedup.draws == 1) / 2),  # equal: even odds
        "tie": "~" if low <= 1 <= high else "",
        "equivalent": equivalent(speedup, delta),
    }


def _spread(name: str, estimate: Estimate, confidence: float) -> dict[str, float]:
    low, high = estimate.interval(confidence)
    return {name: estimate.value, f"{name}_lo": low, f"{name}_hi": high}


_SPREADS = ("tau", "t_spec_ms", "t_base_ms", "tau_star", "margin_tokens", "margin_ms")


def _schema() -> dict[str, Any]:
    import polars as pl

    def floats(*names: str) -> dict[str, Any]:
        return dict.fromkeys(names, pl.Float64())

    spread = [f"{name}{end}" for name in _SPREADS for end in ("", "_lo", "_hi")]
    return {
        "batch_size": pl.Int64(),
        **floats("context_from", "context_to", "context"),
        "n_candidate": pl.Int64(),
        "n_baseline": pl.Int64(),
        **floats(*spread, "margin_pct"),
        **floats("speedup", "speedup_lo", "speedup_hi", "p_win"),
        "tie": pl.String(),
        "equivalent": pl.Boolean(),
        "interval_kind": pl.String(),
        **floats("n_eff_candidate", "n_eff_baseline", "lag1_candidate", "lag1_baseline"),
        **floats("usable_pct_candidate", "usable_pct_baseline"),
        "caveats": pl.List(pl.String()),
        "refused": pl.String(),
    }
