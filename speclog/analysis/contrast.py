"""Products of powers of round times or accept lengths, with their interval.

``exp(sum_i w_i * log(x_i))``: a ratio has the weights (1, -1), an interaction (1, -1, -1, 1), a Shapley share
its coalition weights. Arms are independent of each other; the deviations of each come from its own bootstrap,
and the sum is widened from a normal to a Student's t spread by its effective degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from speclog.analysis.bootstrap import variance_of
from speclog.analysis.estimate import Arm, Component, Estimate
from speclog.analysis.line import Floats
from speclog.analysis.student import expansion, satterthwaite

QUANTITIES = ("round_ms", "tau", "speed")
"""Round time in ms, accept length in tokens, and tau / round time (tokens a request and ms)."""


def contrast(
    arms: Sequence[Arm], weights: Sequence[float], *, confidence: float = 0.95, quantity: str = "round_ms"
) -> Estimate:
    """The weighted product ``prod x_i ** w_i`` of one of `QUANTITIES` over arms, as an estimate with draws.

    Raises ValueError when there is no arm, or when arms and weights are not equally many.
    """
    if not arms or len(arms) != len(weights):
        raise ValueError("a contrast needs one weight for each of its arms")
    value = float(sum(w * np.log(_value(arm, quantity)) for arm, w in zip(arms, weights, strict=True)))
    parts = [_deviation(arm, quantity) for arm in arms]
    weighted = [weight * draws for weight, (draws, _) in zip(weights, parts, strict=True)]
    dof = satterthwaite([variance_of(draws) for draws in weighted], [dof for _, dof in parts])
    moved: Floats = np.sum(weighted, axis=0)
    return Estimate(float(np.exp(value)), np.exp(value + moved * expansion(confidence, dof)))


def _value(arm: Arm, quantity: str) -> float:
    if quantity == "speed":
        return arm.tau / arm.round_ms
    return arm.tau if quantity == "tau" else arm.round_ms


def _deviation(arm: Arm, quantity: str) -> Component:
    if quantity == "tau":
        return arm.log_tau
    if quantity == "round_ms":
        return arm.log_ms
    (ms, ms_dof), (tau, tau_dof) = arm.log_ms, arm.log_tau
    return tau - ms, satterthwaite([variance_of(ms), variance_of(tau)], [ms_dof, tau_dof])
