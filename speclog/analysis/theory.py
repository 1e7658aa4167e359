"""Formulas of speculative decoding that need no log: break-even, survival, i.i.d. acceptance.

Notation as in docs/break-even.md: tau accept length with the bonus token, k draft steps, S speedup.
"""

from __future__ import annotations

from collections.abc import Sequence

_ITERATIONS = 200


def break_even_from(tau: float, speedup: float) -> float:
    """tau_star = tau / S: what a published speedup and accept length say about machine and configuration."""
    if speedup <= 0 or tau < 1:
        raise ValueError("a speedup is positive and an accept length at least 1")
    return tau / speedup


def survival(accept_lengths: Sequence[float]) -> list[float]:
    """P(at least i drafts accepted) for i = 1, 2, ... from accept lengths measured at 1, 2, ... draft steps.

    The i-th step adds AL(i) - AL(i-1) tokens, AL(0) = 1. May be negative where measurements scatter.
    """
    before = [1.0, *accept_lengths[:-1]]
    return [after - earlier for after, earlier in zip(accept_lengths, before, strict=True)]


def accept_length(survivals: Sequence[float]) -> float:
    """tau(k) = 1 + sum of P(accepted >= i) over k steps (exact at topk = 1)."""
    return 1.0 + sum(survivals)


def iid_accept_length(alpha: float, steps: int) -> float:
    """(1 - alpha^(k+1)) / (1 - alpha): every draft accepted alike and independently (Leviathan et al. 2023).

    Over-predicts deep drafts: later positions are accepted less often than the first.
    """
    return float(steps + 1) if alpha >= 1 else (1 - alpha ** (steps + 1)) / (1 - alpha)


def acceptance_for(tau: float, steps: int) -> float | None:
    """The i.i.d. acceptance that gives an accept length with k steps; None where tau > k + 1: nothing does.

    Solves `iid_accept_length` for alpha by bisection (it grows with alpha); 0 for tau <= 1.
    """
    if tau > steps + 1:
        return None
    if tau <= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_ITERATIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if iid_accept_length(middle, steps) < tau else (low, middle)
    return (low + high) / 2


def draft_factor(survivals: Sequence[float], tau: float) -> float | None:
    """Factor on every conditional acceptance P(i | i-1), capped at 1, at which accept length is ``tau``.

    Above 1: the draft must become better; below 1: it could be worse. None where even certain acceptance of
    every step that was ever accepted would not do; 0 where nothing need be accepted.
    """
    if tau <= 1:
        return 0.0
    low, high = 1e-6, 1e6
    conditional = _conditional(survivals)
    if accept_length(_chain(conditional, high)) < tau:
        return None
    for _ in range(_ITERATIONS):
        middle = (low * high) ** 0.5
        if middle in (low, high):
            break
        low, high = (middle, high) if accept_length(_chain(conditional, middle)) < tau else (low, middle)
    return high


def scaled(survivals: Sequence[float], factor: float) -> list[float]:
    """Survivals after every conditional acceptance is multiplied with ``factor`` and capped at 1."""
    return _chain(_conditional(survivals), factor)


def _conditional(survivals: Sequence[float]) -> list[float]:
    before = [1.0, *survivals[:-1]]
    return [after / earlier if earlier > 0 else 0.0 for after, earlier in zip(survivals, before, strict=True)]


def _chain(conditional: Sequence[float], factor: float) -> list[float]:
    chained, alive = [], 1.0
    for step in conditional:
        alive *= min(1.0, step * factor)
        chained.append(alive)
    return chained


def step_pays(survival_next: float, round_now: float, round_next: float, tau_now: float) -> bool:
    """Whether one more draft step raises throughput: s_(k+1) / (R_(k+1) - R_k) > tau_k / R_k.

    R is the round time in any one unit. A step that costs nothing pays if it is ever accepted.
    """
    cost = round_next - round_now
    return survival_next > 0 if cost <= 0 else survival_next / cost > tau_now / round_now
