"""The profiler's own cost, measured in place: blocks of rounds with and without it, at equal context.

Blocks alternate on, off, off, on, so that a steady drift cancels. A round grows slower with its context, and
blocks run at different contexts, so the mean periods of the blocks are fitted by least squares to

    period = a + c * context + d * on

and d is the cost. A block is one observation (rounds within a block are not independent); the interval is the
Student interval of d in that fit.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

ARMS = (True, False, False, True)
# 97.5 % quantiles of Student's t by degrees of freedom (Abramowitz and Stegun, table 26.10).
STUDENT = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
    12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980,
}  # fmt: skip
SETTLE = 2  # periods after a switch that belong to neither arm
CONTEXT_EVERY = 8
KEPT = 400  # blocks kept per batch size


@dataclass(frozen=True)
class Block:
    """One block: its arm, its mean period in ms, the tokens in all requests, and how many periods it has."""

    on: bool
    period_ms: float
    context: float
    n: int


@dataclass(frozen=True)
class Cost:
    """What profiling costs at one batch size; periods in ms at the mean context, overhead in % of off."""

    n_on: int
    n_off: int
    on_ms: float
    off_ms: float
    percent: float
    low: float
    high: float


def student(freedom: int) -> float:
    """The quantile for `freedom` degrees of freedom, taken at the next lower entry (a wider interval)."""
    return STUDENT[max(entry for entry in STUDENT if entry <= freedom)]


def solve(matrix: list[list[float]], right: list[list[float]]) -> list[list[float]]:
    """Solve a small linear system by Gauss-Jordan elimination; ZeroDivisionError if it is singular."""
    size = len(matrix)
    rows = [[*matrix[i], *right[i]] for i in range(size)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for i in range(size):
            if i != column:
                factor = rows[i][column]
                rows[i] = [value - factor * lead for value, lead in zip(rows[i], rows[column], strict=True)]
    return [row[size:] for row in rows]


def least_squares(
    columns: list[list[float]], values: list[float]
) -> tuple[list[float], list[list[float]], float]:
    """Coefficients, inverse normal matrix, sum of squared residuals; ZeroDivisionError if singular."""
    span = range(len(columns[0]))
    square = [[sum(row[i] * row[j] for row in columns) for j in span] for i in span]
    inverse = solve(square, [[float(i == j) for j in span] for i in span])
    right = [sum(row[i] * value for row, value in zip(columns, values, strict=True)) for i in span]
    fit = [sum(inverse[i][j] * right[j] for j in span) for i in span]
    errors = (
        value - sum(a * x for a, x in zip(fit, row, strict=True))
        for row, value in zip(columns, values, strict=True)
    )
    return fit, inverse, sum(error**2 for error in errors)


def estimate(blocks: list[Block]) -> Cost | None:
    """Fit the blocks of one batch size; None while they are too few to tell (two of each arm, six in all)."""
    n_on, n_off = (sum(block.n for block in blocks if block.on is arm) for arm in (True, False))
    arms = [block.on for block in blocks]
    if len(blocks) < 6 or min(arms.count(True), arms.count(False)) < 2:
        return None
    mean = sum(block.context for block in blocks) / len(blocks)
    spread = max(abs(block.context - mean) for block in blocks)
    columns = [[1.0, float(block.on)] for block in blocks]
    if spread > 0.0:  # scaled to at most 1, which keeps the system well conditioned
        for row, block in zip(columns, blocks, strict=True):
            row.append((block.context - mean) / spread)
    try:
        (base, cost, *_), inverse, residual = least_squares(columns, [block.period_ms for block in blocks])
    except ZeroDivisionError:
        return None
    freedom = len(blocks) - len(columns[0])
    half = student(freedom) * math.sqrt(residual / freedom * inverse[1][1])
    percent, margin = 100 * cost / base, 100 * half / base
    return Cost(n_on, n_off, base + cost, base, percent, percent - margin, percent + margin)


class Trial:
    """Switches the profiler on and off by blocks, and collects the blocks per batch size."""

    def __init__(self, block: int) -> None:
        self.size = block
        self.blocks: dict[int, deque[Block]] = {}
        self.turn = self.closed = 0
        self.bs = 0
        self.last: float | None = None
        self.periods: list[float] = []
        self.contexts: list[int] = []
        self.skip = SETTLE

    @property
    def on(self) -> bool:
        """Whether the current block runs with the profiler."""
        return ARMS[self.turn % len(ARMS)]

    def entry(self, now: float, bs: int) -> tuple[bool, Cost | None]:
        """A decode round begins at `now` (perf_counter, s): is it profiled, and is there a new estimate?"""
        cost = None
        if bs != self.bs:  # a block has one batch size: begin this block anew
            self.bs, self.last = bs, None
            self.restart()
        if self.last is not None:
            self.skip -= 1
            if self.skip < 0:
                self.periods.append((now - self.last) * 1e3)
        self.last = now
        if len(self.periods) >= self.size:
            cost = self.close()
        return self.on, cost

    def interrupt(self) -> None:
        """The engine idled or ran a prefill: the period across it belongs to no arm."""
        self.last = None

    def restart(self) -> None:
        """Forget the block's periods."""
        self.periods, self.contexts, self.skip = [], [], SETTLE

    def wants_context(self) -> bool:
        """Whether to count the tokens of the requests now: every eighth round, in either arm."""
        return len(self.periods) % CONTEXT_EVERY == 0

    def close(self) -> Cost | None:
        """End the block and take the next arm; an estimate after every four blocks of this batch size."""
        done = self.blocks.setdefault(self.bs, deque(maxlen=KEPT))
        if self.contexts:
            context = sum(self.contexts) / len(self.contexts)
            done.append(Block(self.on, without_spikes(self.periods), context, len(self.periods)))
            self.closed += 1
        self.restart()
        self.turn += 1
        return estimate(list(done)) if done and self.closed % len(ARMS) == 0 else None


def without_spikes(periods_ms: list[float]) -> float:
    """The mean without what takes more than half as long again as the median (garbage collection, a stall).

    A mean and not a median, since the means of period and context obey the fitted line whatever mixture of
    requests the block has seen.
    """
    limit = 1.5 * sorted(periods_ms)[len(periods_ms) // 2]
    kept = [period for period in periods_ms if period <= limit]
    return sum(kept) / len(kept)
