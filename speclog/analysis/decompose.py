"""A change of throughput taken apart: accept length, round time, and how full the batch was.

Over the decode windows of a run, with b running requests, tau the accept length and t the round time:
``throughput = sum(b * tau) / sum(t) = occupancy * accept_length / round_time``, where occupancy is the mean
of b, accept_length the mean of tau weighted by b, round_time the mean of t. So, exactly,

``ln(X_c / X_b) = ln(tau_c / tau_b) - ln(t_c / t_b) + ln(b_c / b_b)``.

Whole runs are taken apart, whatever their batch sizes and contexts: it says where a number came from, not
whether the comparison is fair. Intervals: moving blocks of each run's windows at each batch size, within-run;
how many windows a run spent at a batch size is taken as it was, so occupancy alone has no width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from speclog.analysis import dependence
from speclog.analysis.levels import level_windows
from speclog.analysis.line import Floats

if TYPE_CHECKING:
    import polars as pl

TERMS = ("accept_length", "round_time", "occupancy")
MIN_WINDOWS = 4


@dataclass(frozen=True)
class Term:
    """One term of the logarithm of a ratio of throughputs, and its interval."""

    name: str
    log: float
    low: float
    high: float

    @property
    def factor(self) -> float:
        """By what the term multiplies the throughput."""
        return float(np.exp(self.log))


@dataclass(frozen=True)
class Decomposition:
    """The terms of `TERMS`, which add up to ``total`` exactly, and the numbers behind them."""

    total: Term
    terms: tuple[Term, ...]
    n_candidate: int
    n_baseline: int
    tok_s_candidate: float
    tok_s_baseline: float


def decompose(
    candidate: pl.DataFrame,
    baseline: pl.DataFrame,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Decomposition | str:
    """Take the ratio of two runs' decode throughputs apart; or say why that cannot be done.

    Frames of view ``decode_window``, in log order. Clean windows count, and those whose batch size changed:
    they are what occupancy is about.
    """
    rng = np.random.default_rng(seed)
    arms = [_arm(frame) for frame in (candidate, baseline)]
    for name, arm in zip(("candidate", "baseline"), arms, strict=True):
        if len(arm) < MIN_WINDOWS:
            return f"the {name} has {len(arm)} decode windows without a prefill: {MIN_WINDOWS} are needed"
    logs = [_logs(arm.mean(axis=0)) for arm in arms]
    draws = [_draws(arm, resamples, rng) for arm in arms]
    value, moved = logs[0] - logs[1], draws[0] - draws[1]
    tails = [0.5 - confidence / 2, 0.5 + confidence / 2]

    def term(name: str, log: float, drawn: Floats) -> Term:
        low, high = np.quantile(drawn, tails)
        return Term(name, float(log), float(low), float(high))

    speeds = [float(np.exp(one.sum())) for one in logs]
    return Decomposition(
        term("throughput", value.sum(), moved.sum(axis=1)),
        tuple(term(name, value[i], moved[:, i]) for i, name in enumerate(TERMS)),
        *(len(arm) for arm in arms),
        *speeds,
    )


def _arm(frame: pl.DataFrame) -> Floats:
    """Columns b * tau, t in seconds, b of the windows that count; b is summed over data-parallel ranks."""
    import polars as pl

    counted = pl.col("excluded").is_null() | (pl.col("excluded") == "batch changed")
    kept = level_windows(frame).filter(counted & pl.col("round_ms").is_finite())
    ranks = max(1, kept["dp_rank"].fill_null(0).n_unique())
    b = kept["running_req"].cast(pl.Float64).to_numpy() * ranks
    seconds = kept["round_ms"].cast(pl.Float64).to_numpy() / 1000
    return np.column_stack([b * kept["tau"].cast(pl.Float64).to_numpy(), seconds, b])


def _logs(means: Floats) -> Floats:
    """Logarithms of accept length, 1 / round time and occupancy from means of (b * tau, t, b)."""
    tokens, seconds, b = means[..., 0], means[..., 1], means[..., 2]
    logs: Floats = np.stack([np.log(tokens / b), -np.log(seconds), np.log(b)], axis=-1)
    return logs


def _draws(arm: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Logarithms of resampled runs: blocks within each batch size, so many windows of each as there were."""
    total = np.zeros((resamples, arm.shape[1]))
    for size in np.unique(arm[:, 2]):
        level = arm[arm[:, 2] == size]
        n = len(level)
        rho = dependence.unbiased(dependence.lag1([level[:, 1]]), n)
        length = min(n, dependence.block_length(n, rho))
        starts = rng.integers(0, n, (resamples, -(-n // length)))
        picked = ((starts[:, :, None] + np.arange(length)) % n).reshape(resamples, -1)[:, :n]
        total += level[picked].sum(axis=1)
    return _logs(total / len(arm))
