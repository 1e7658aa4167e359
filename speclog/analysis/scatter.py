"""From a part's windows to its uncertainty: within each run, and between runs where there are repeats."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from speclog.analysis import dependence
from speclog.analysis.bootstrap import Draws, Residuals, block_draws, pool_draws, variance_of
from speclog.analysis.line import Floats
from speclog.analysis.side import Member, Part, Side
from speclog.analysis.student import satterthwaite

FITTED_MS, FITTED_TAU = 2, 1
THIN = dependence.MIN_WINDOWS
"""A level of a run with fewer windows borrows the scatter of the run's other levels."""
MIN_DOF = 1.5
MISFIT_GROUPS = 8


@dataclass(frozen=True)
class Uncertainty:
    """Draws of a part and the degrees of freedom of the variance behind them (round time, accept length)."""

    draws: Draws
    dof_ms: float
    dof_tau: float
    between_runs: bool


_KNOWN: WeakKeyDictionary[Part, Uncertainty | None] = WeakKeyDictionary()


def uncertainty(part: Part) -> Uncertainty | None:
    """Bootstrap each run's windows and add what the runs differ by beyond that. Computed once a part.

    None when a run has so few windows, here and at its other levels, that nothing tells how they scatter.
    """
    if part not in _KNOWN:
        _KNOWN[part] = _uncertainty(part)
    return _KNOWN[part]


def _uncertainty(part: Part) -> Uncertainty | None:
    rng = part.side.rng(part)
    within: list[tuple[Draws, float, float]] = []
    for member in part.members:
        found = _within(part, member, rng)
        if found is None:
            return None
        within.append(found)
    draws = within[0][0]
    for other, _, _ in within[1:]:
        draws = draws + other
    dof_ms = satterthwaite([variance_of(d.mean_ms) for d, _, _ in within], [dof for _, dof, _ in within])
    dof_tau = satterthwaite([variance_of(d.tau) for d, _, _ in within], [dof for _, _, dof in within])
    known = Uncertainty(draws, dof_ms, dof_tau, between_runs=False)
    return _with_runs(part, known, rng) if len(part.members) > 1 else known


def _within(part: Part, member: Member, rng: np.random.Generator) -> tuple[Draws, float, float] | None:
    residuals = part.residuals(member)
    if len(member.kept) < THIN:
        return _borrowed(part, member, residuals, rng)
    ranks = len(np.unique(member.kept.rank))
    n = max(len(member.kept) // ranks, 1)
    rho_ms = dependence.unbiased(dependence.lag1(member.kept.sequences(residuals.round_ms)), n)
    rho_tau = dependence.unbiased(dependence.lag1(member.kept.sequences(residuals.tau)), n)
    length = dependence.block_length(n, max(rho_ms, rho_tau))
    scaled = _scaled(
        residuals,
        dependence.widening(n, length, rho_ms, FITTED_MS),
        dependence.widening(n, length, rho_tau, FITTED_TAU),
    )
    draws = block_draws(scaled, length * ranks, part.side.resamples, rng)
    draws, dof_ms = _with_misfit(member.kept.context, residuals, draws, _dof(n, rho_ms), rng)
    return draws, dof_ms, _dof(n, rho_tau)


def _with_misfit(
    context: Floats, residuals: Residuals, draws: Draws, dof: float, rng: np.random.Generator
) -> tuple[Draws, float]:
    """Add to the draws what a straight line misses (see `misfit`); also the degrees of freedom then."""
    variance, free = misfit(context, residuals.round_ms)
    variance *= float(residuals.mean_weight.sum()) ** 2
    if variance <= 0:
        return draws, dof
    extra = np.sqrt(variance) * rng.standard_normal(len(draws.mean_ms))
    total = satterthwaite([variance_of(draws.mean_ms), variance], [dof, free])
    return Draws(draws.mean_ms + extra, draws.slope_ms_per_token, draws.tau), total


def misfit(context: Floats, residuals_ms: Floats) -> tuple[float, float]:
    """Variance of a line's height by lack of fit, and its degrees of freedom; (0, 1) where there is none.

    Kernels cost in stairs of context, and a run samples the same steps of them with every request.
    Residuals are grouped by context: groups that differ by more than their windows scatter (lack of fit
    against pure error) do not average out with more windows, only with more contexts.
    """
    n = len(context)
    k = max(1, min(MISFIT_GROUPS, n // 3))
    if k <= FITTED_MS:
        return 0.0, 1.0
    places = np.array_split(np.argsort(context, kind="stable"), k)
    groups = [residuals_ms[place] for place in places]
    pure = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / (n - k)
    between = sum(len(group) * float(group.mean()) ** 2 for group in groups) / (k - FITTED_MS)
    return max(0.0, between - pure) / n, float(k - FITTED_MS)


def _dof(n: int, rho: float) -> float:
    return max(MIN_DOF, dependence.effective_n(n, rho) - 1)


def _scaled(residuals: Residuals, by_ms: float, by_tau: float) -> Residuals:
    return Residuals(
        residuals.round_ms * by_ms,
        residuals.tau * by_tau,
        residuals.mean_weight,
        residuals.slope_weight,
        residuals.tau_weight,
    )


def _borrowed(
    part: Part, member: Member, residuals: Residuals, rng: np.random.Generator
) -> tuple[Draws, float, float] | None:
    """A level with few windows scatters, in per cent, as the run's levels do together."""
    pooled = [_relative(other, mate) for other, mate in _levels_of(part.side, member.run)]
    relative_ms = np.concatenate([ms for ms, _, _ in pooled])
    relative_tau = np.concatenate([tau for _, tau, _ in pooled])
    dof = float(sum(free for _, _, free in pooled))
    if dof < 1 or not len(relative_ms):
        return None
    rho = max(
        (dependence.unbiased(other.correlation, other.n) for other, _ in _levels_of(part.side, member.run))
    )
    n = len(member.kept)
    spread = float(np.sqrt(n * dependence.mean_variance(n, rho)))
    typical = float(np.median(member.kept.round_ms))
    pool = (relative_ms * typical * spread, relative_tau * float(member.kept.tau.mean()) * spread)
    draws = pool_draws(residuals, pool, part.side.resamples, rng)
    return draws, max(MIN_DOF, dof * (1 - rho) / (1 + rho)), max(MIN_DOF, dof * (1 - rho) / (1 + rho))


def _levels_of(side: Side, run: int) -> list[tuple[Part, Member]]:
    return [(part, member) for part in side.parts for member in part.members if member.run == run]


def _relative(part: Part, member: Member) -> tuple[Floats, Floats, int]:
    """Residuals of one level in parts of 1, freed of the narrowing by the fit, and what freedom they have."""
    n = len(member.kept)
    if n <= FITTED_MS:
        return np.empty(0), np.empty(0), 0
    residuals = part.residuals(member)
    ms = residuals.round_ms / np.median(member.kept.round_ms) * np.sqrt(n / (n - FITTED_MS))
    tau = residuals.tau / member.kept.tau.mean() * np.sqrt(n / (n - FITTED_TAU))
    return ms, tau, n - FITTED_MS


def _with_runs(part: Part, within: Uncertainty, rng: np.random.Generator) -> Uncertainty:
    """Resample whole runs too (run, then block; Kalibera and Jones 2013), without counting windows twice.

    Offsets of runs scatter by what windows scatter and by what runs differ; only the excess over the
    windows' part is added.
    """
    offsets_ms = np.array([float((m.kept.round_ms - part.at(m.kept.context)).mean()) for m in part.members])
    offsets_tau = np.array([float(m.windows.tau.mean()) for m in part.members])
    picked = rng.integers(0, len(part.members), (part.side.resamples, len(part.members)))
    mean_ms, dof_ms = _excess(offsets_ms, picked, within.draws.mean_ms, within.dof_ms)
    tau, dof_tau = _excess(offsets_tau, picked, within.draws.tau, within.dof_tau)
    between = Draws(mean_ms, np.zeros_like(mean_ms), tau)
    return Uncertainty(within.draws + between, dof_ms, dof_tau, between_runs=True)


def _excess(offsets: Floats, picked: np.ndarray, within: Floats, dof_within: float) -> tuple[Floats, float]:
    runs = len(offsets)
    moved = (offsets[picked].mean(axis=1) - offsets.mean()) * np.sqrt(runs / (runs - 1))
    of_runs, of_windows = float(offsets.var(ddof=1) / runs), variance_of(within)
    excess = max(0.0, of_runs - of_windows)
    dof = satterthwaite([of_windows, excess], [dof_within, runs - 1.0])
    return moved * (np.sqrt(excess / of_runs) if of_runs > 0 else 0.0), dof
