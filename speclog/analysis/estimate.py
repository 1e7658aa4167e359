"""Estimates with their draws: tau_star, S and margins of a matched pair at a context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speclog.analysis.bootstrap import variance_of
from speclog.analysis.line import Floats
from speclog.analysis.matching import Matched
from speclog.analysis.scatter import uncertainty
from speclog.analysis.side import Part
from speclog.analysis.student import expansion, satterthwaite

Component = tuple[Floats, float]
"""Deviations of a logarithm, one a resample, and the degrees of freedom of their variance."""


@dataclass(frozen=True)
class Estimate:
    """A value with draws around it, already widened from a normal to a Student's t spread."""

    value: float
    draws: Floats

    def interval(self, confidence: float) -> tuple[float, float]:
        """Percentile interval."""
        low, high = np.quantile(self.draws, [0.5 - confidence / 2, 0.5 + confidence / 2])
        return float(low), float(high)


@dataclass(frozen=True)
class Arm:
    """One part at one context: its round time and accept length, and how their logarithms deviate."""

    round_ms: float
    tau: float
    log_ms: Component
    log_tau: Component


@dataclass(frozen=True)
class Pair:
    """Both arms at one context. All estimates of one pair share their draws."""

    candidate: Arm
    baseline: Arm
    confidence: float

    @cached_property
    def tau_star(self) -> Estimate:
        """Accept length at which both arms are equally fast."""
        c, b = self.candidate, self.baseline
        value = b.tau * c.round_ms / b.round_ms
        return self._estimate(value, [c.log_ms], [_minus(b.log_ms), b.log_tau])

    @cached_property
    def speedup(self) -> Estimate:
        """S = tau / tau_star."""
        c, b = self.candidate, self.baseline
        value = c.tau / c.round_ms * b.round_ms / b.tau
        return self._estimate(value, [c.log_tau, _minus(c.log_ms)], [b.log_ms, _minus(b.log_tau)])

    @property
    def tau(self) -> Estimate:
        """Accept length of the candidate."""
        return self._estimate(self.candidate.tau, [self.candidate.log_tau], [])

    @property
    def margin_tokens(self) -> Estimate:
        """Tau - tau_star, drawn as tau_star * (S - 1): positive exactly where S is above 1."""
        value = self.candidate.tau - self.tau_star.value
        return Estimate(value, self.tau_star.draws * (self.speedup.draws - 1))

    @property
    def margin_ms(self) -> Estimate:
        """What a round may still take: tau * t_base - t_spec, drawn as t_spec * (S - 1)."""
        c, b = self.candidate, self.baseline
        value = c.tau * b.round_ms / b.tau - c.round_ms
        return Estimate(value, self.t_spec_ms.draws * (self.speedup.draws - 1))

    @cached_property
    def t_spec_ms(self) -> Estimate:
        """Round time of the candidate."""
        return self._estimate(self.candidate.round_ms, [self.candidate.log_ms], [])

    @cached_property
    def t_base_ms(self) -> Estimate:
        """Round time of the baseline."""
        return self._estimate(self.baseline.round_ms, [], [self.baseline.log_ms])

    def _estimate(self, value: float, mine: list[Component], theirs: list[Component]) -> Estimate:
        # Deviations of one arm come from the same windows: added draw by draw before their variance is taken.
        arms = [_together(components) for components in (mine, theirs) if components]
        moved = np.sum([draws for draws, _ in arms], axis=0)
        dof = satterthwaite([variance_of(draws) for draws, _ in arms], [dof for _, dof in arms])
        return Estimate(value, value * np.exp(moved * expansion(self.confidence, dof)))


def pair_at(pair: Matched, context: float, confidence: float) -> Pair | None:
    """Both arms read off at a context (tokens a request); None where their scatter is unknown."""
    candidate, baseline = arm_at(pair.candidate, context), arm_at(pair.baseline, context)
    return Pair(candidate, baseline, confidence) if candidate and baseline else None


def arm_at(part: Part, context: float) -> Arm | None:
    """One part read off at a context; None where its scatter is unknown."""
    known = uncertainty(part)
    if known is None:
        return None
    round_ms = float(part.at(context))
    return Arm(
        round_ms,
        part.tau,
        (known.draws.round_ms(context - part.mean_context) / round_ms, known.dof_ms),
        (known.draws.tau / part.tau, known.dof_tau),
    )


def _minus(component: Component) -> Component:
    return -component[0], component[1]


def _together(components: list[Component]) -> Component:
    variances = [variance_of(draws) for draws, _ in components]
    draws: Floats = np.sum([draws for draws, _ in components], axis=0)
    return draws, satterthwaite(variances, [dof for _, dof in components])
