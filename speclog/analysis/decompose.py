"""A change of throughput taken apart: accept length, round time, and how full the batch was.

Over the decode windows of a run, with b running requests, tau the accept length and t the round time:
``throughput = sum(b * tau) / sum(t) = occupancy * accept_length / round_time``, where occupancy is the mean
of b, accept_length the mean of tau weighted by b, round_time the mean of t. So, exactly,

``ln(X_c / X_b) = ln(tau_c / tau_b) - ln(t_c / t_b) + ln(b_c / b_b)``.

Whole runs are taken apart, whatever their batch sizes and contexts: it says where a number came from, not
whether the comparison is fair. Intervals: by linearisation, from what each run's windows scatter at each
batch size about a line of context, within-run (`window_mean.scatter`: neighbours that repeat each other count
as fewer, Student's t). How many windows a run spent at a batch size and at which contexts is taken as it was,
so occupancy alone has no width. A batch size of one or two windows scatters as the others do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf
from typing import TYPE_CHECKING

import numpy as np

from speclog.analysis.levels import level_windows
from speclog.analysis.line import Floats, least_squares
from speclog.analysis.student import satterthwaite, t_quantile
from speclog.analysis.window_mean import scatter

if TYPE_CHECKING:
    import polars as pl

TERMS = ("accept_length", "round_time", "occupancy")
MIN_WINDOWS = 4
FITTED = 2
"""Parameters of the line of context at each batch size."""


@dataclass(frozen=True)
class Term:
    """One term of the logarithm of a ratio of throughputs, and its interval (infinite: unknown)."""

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


@dataclass(frozen=True)
class _Arm:
    """Windows that count, in order of time; ``b`` is summed over data-parallel ranks."""

    tokens: Floats  # b * tau
    seconds: Floats
    b: Floats
    context: Floats  # NaN where no log line prints it

    def logs(self) -> Floats:
        """Logarithms of accept length, 1 / round time and occupancy."""
        tokens, seconds, b = self.tokens.mean(), self.seconds.mean(), self.b.mean()
        return np.array([np.log(tokens / b), -np.log(seconds), np.log(b)])

    def scatter(self) -> list[tuple[float, float]]:
        """Standard error and freedom of the sum of these logarithms, and of the first two."""
        tokens, seconds, b = (each / each.sum() for each in (self.tokens, self.seconds, self.b))
        return [self._of(one) for one in (tokens - seconds, tokens - b, -seconds)]

    def _of(self, added: Floats) -> tuple[float, float]:
        off = np.empty_like(added)
        for size in np.unique(self.b):
            at = self.b == size
            flat = np.isnan(self.context[at]).any() or at.sum() <= FITTED
            context = np.zeros(at.sum()) if flat else self.context[at]
            start, slope = least_squares(context, added[at])
            off[at] = added[at] - start - slope * context
        return scatter(off, self.b, fitted=FITTED, borrow=True)


def decompose(
    candidate: pl.DataFrame, baseline: pl.DataFrame, *, confidence: float = 0.95
) -> Decomposition | str:
    """Take the ratio of two runs' decode throughputs apart; or say why that cannot be done.

    Frames of view ``decode_window``, in log order. Clean windows count, and those whose batch size changed:
    they are what occupancy is about.
    """
    arms = [_arm(frame) for frame in (candidate, baseline)]
    for name, arm in zip(("candidate", "baseline"), arms, strict=True):
        if len(arm.b) < MIN_WINDOWS:
            return f"the {name} has {len(arm.b)} decode windows without a prefill: {MIN_WINDOWS} are needed"
    logs = [arm.logs() for arm in arms]
    value = logs[0] - logs[1]
    mine, theirs = (arm.scatter() for arm in arms)
    reach = [_reach(one, other, confidence) for one, other in zip(mine, theirs, strict=True)]

    def term(name: str, log: float, half: float) -> Term:
        return Term(name, float(log), float(log - half), float(log + half))

    speeds = [float(np.exp(one.sum())) for one in logs]
    return Decomposition(
        term("throughput", value.sum(), reach[0]),
        tuple(
            term(name, value[i], half)
            for i, (name, half) in enumerate(zip(TERMS, [*reach[1:], 0.0], strict=True))
        ),
        *(len(arm.b) for arm in arms),
        *speeds,
    )


def _reach(mine: tuple[float, float], theirs: tuple[float, float], confidence: float) -> float:
    """Half the width of the interval of a difference of two arms."""
    error = hypot(mine[0], theirs[0])
    if not error < inf:
        return inf
    dof = satterthwaite([mine[0] ** 2, theirs[0] ** 2], [mine[1], theirs[1]])
    return t_quantile(0.5 + confidence / 2, dof) * error


def _arm(frame: pl.DataFrame) -> _Arm:
    import polars as pl

    counted = pl.col("excluded").is_null() | (pl.col("excluded") == "batch changed")
    kept = level_windows(frame).filter(counted & pl.col("round_ms").is_finite())
    ranks = max(1, kept["dp_rank"].fill_null(0).n_unique())

    def floats(column: str) -> Floats:
        return kept[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()

    b = floats("running_req") * ranks
    return _Arm(b * floats("tau"), floats("round_ms") / 1000, b, floats("context"))
