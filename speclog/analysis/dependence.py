"""How much consecutive windows of a run repeat each other, and what that costs in certainty."""

from __future__ import annotations

import numpy as np

from speclog.analysis.line import Floats

MIN_EFFECTIVE = 2.0
"""However much windows repeat each other, they are never taken to be worth less than this many."""
SAFETY = 1.0  # standard errors
MIN_WINDOWS = 8
"""With fewer windows a lag-1 correlation says nothing."""
UNKNOWN = 0.5
"""What is taken for a correlation that too few windows tell: real logs have 0.3 to 0.9."""
MOST_BLOCKS = 256
"""More blocks in a run tell nothing more about its interval, and each is drawn in every resample."""


def lag1(residuals: list[Floats]) -> float | None:
    """Lag-1 autocorrelation over one or more sequences of windows in order of time (one a rank).

    None with fewer than 8 windows or without any scatter.
    """
    if sum(map(len, residuals)) < MIN_WINDOWS:
        return None
    mean = float(np.concatenate(residuals).mean())
    centred = [sequence - mean for sequence in residuals]
    power = sum(float((sequence**2).sum()) for sequence in centred)
    if power <= 0:
        return None
    return sum(float((sequence[1:] * sequence[:-1]).sum()) for sequence in centred) / power


def unbiased(correlation: float | None, n: int) -> float:
    """Undo the downward bias of a lag-1 correlation from n residuals of a fitted line, on the safe side.

    Kendall (1954): E[r] is about rho - (1 + 4 rho) / n. One standard error sqrt((1 - rho^2) / n) is added,
    because too small a value costs coverage (docs/validation.md). Held at 0 from below (a negative
    correlation would narrow the interval, and that is not believed from few windows) and from above where n
    windows are worth 2, as few windows cannot tell a high correlation from a higher one. Where there are too
    few windows to tell, it is `UNKNOWN` and not 0: taken for independent they would be surer than more of
    them. None of enough windows is that of values that do not scatter: 0.
    """
    most = max((n - MIN_EFFECTIVE) / (n + MIN_EFFECTIVE), 0.0)
    if n <= 4 or (correlation is None and n < MIN_WINDOWS):
        return min(UNKNOWN, most)
    if correlation is None:
        return 0.0
    rho = float(np.clip((correlation + 1 / n) / (1 - 4 / n), 0.0, most))
    return min(rho + SAFETY * float(np.sqrt((1 - rho * rho) / n)), most)


def effective_n(n: float, rho: float) -> float:
    """Number of independent windows that n windows are worth: n (1 - rho) / (1 + rho), at least 1."""
    return max(1.0, n * (1 - rho) / (1 + rho))


def block_length(n: int, rho: float) -> int:
    """Length of bootstrap blocks: Carlstein's (1986) optimum for first-order dependence, at most n / 4.

    Of runs of thousands of windows blocks are longer than that, so that there are `MOST_BLOCKS`; `widening`
    holds for any length.
    """
    best = (6**0.5 * rho / (1 - rho**2)) ** (2 / 3) * n ** (1 / 3)
    return int(np.clip(round(best), max(1, -(-n // MOST_BLOCKS)), max(1, n // 4)))


def mean_variance(n: int, rho: float) -> float:
    """Variance of the mean of n consecutive values of a first-order process of variance 1."""
    lags = np.arange(1, n)
    return float((1 + 2 * ((1 - lags / n) * rho**lags).sum()) / n)


def widening(n: int, length: int, rho: float, fitted: int) -> float:
    """Factor by which block-bootstrap deviations of n residuals are too small.

    Blocks of finite length miss the correlation between blocks, and residuals have lost the variance of the
    ``fitted`` parameters. For a first-order process both are known: the bootstrap variance of the mean is
    (length / n) * (V(length) - V(n)) with V of `mean_variance`, the true one V(n). Without correlation this
    is the usual sqrt(n / (n - fitted)).
    """
    truth = mean_variance(n, rho)
    seen = length / n * (mean_variance(length, rho) - truth)
    return float(np.sqrt(truth / max(seen, 1e-12) * (n - 1) / max(n - fitted, 1)))
