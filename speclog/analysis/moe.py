"""Mixture of experts: can routing explain what verify costs, or is it communication?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speclog.analysis.window_mean import columns

if TYPE_CHECKING:
    import polars as pl

EXPERTS = ("model.n_routed_experts", "model.num_experts", "model.num_local_experts")
ACTIVE = ("model.num_experts_per_tok", "model.moe_topk")
ONE_STEP = 1.1


@dataclass(frozen=True)
class Experts:
    """A model's routing: ``total`` routed experts a layer, ``active`` of them a token."""

    total: int
    active: int


def experts_of(facts: Mapping[str, str | None]) -> Experts | None:
    """Read the routing from facts of a run (view ``fact``, names ``model.*``); None if it is no MoE."""
    total = next((facts[name] for name in EXPERTS if facts.get(name)), None)
    active = next((facts[name] for name in ACTIVE if facts.get(name)), None)
    if not total or not active or not f"{total}{active}".isascii() or not f"{total}{active}".isdecimal():
        return None
    return Experts(int(total), int(active)) if 0 < int(active) < int(total) else None


def distinct_experts(experts: Experts, tokens: float) -> float:
    """Experts that ``tokens`` tokens touch together, routed evenly: E (1 - (1 - K/E)^t) (MoESD, 2505.19645).

    An upper bound on what real, correlated routing loads.
    """
    missed = float((1 - experts.active / experts.total) ** tokens)
    return experts.total * (1 - missed)


def overlay(
    experts: Experts, verify_ratio: Mapping[int, Mapping[str, float | None]], draft_tokens: int
) -> pl.DataFrame:
    """Expected growth of expert loads beside the measured growth of time, by batch size.

    ``verify_ratio``: by batch size, verify time over a plain step's forward with its interval (rows of
    `phases.summary`); ``draft_tokens``: tokens verified a request and round. Columns: batch_size,
    experts_step, experts_verify, routing_ratio (were expert weights all that is read), verify_ratio with its
    interval, reading (in words).
    """
    import polars as pl

    rows = []
    for batch_size, measured in sorted(verify_ratio.items()):
        step = distinct_experts(experts, batch_size)
        verify = distinct_experts(experts, batch_size * draft_tokens)
        value = measured["verify_ratio"]
        if value is None:
            continue
        ends = (measured.get("verify_ratio_lo"), measured.get("verify_ratio_hi"))
        told = reading(value, verify / step, *ends)
        rows.append((batch_size, step, verify, verify / step, value, *ends, told))
    numbers = ("experts_step", "experts_verify", "routing_ratio", *columns("verify_ratio"))
    schema = {"batch_size": pl.Int64(), **dict.fromkeys(numbers, pl.Float64()), "reading": pl.String()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def reading(measured: float, routing: float, low: float | None = None, high: float | None = None) -> str:
    """What the two ratios say together; ``low`` and ``high``: the interval of the measured one."""
    if (measured if high is None else high) <= ONE_STEP:
        return "verify costs about one step: neither routing nor communication hurts"
    if (measured if low is None else low) > routing:
        return "more than routing can explain: communication, attention or compute"
    return "routing alone could explain it"
