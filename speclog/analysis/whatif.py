"""What if the server ran with other draft steps? Fewer from the acceptance histogram, more by extrapolation.

tau(k) = 1 + sum of P(accepted >= i), i <= k, is exact for k up to the measured steps at topk = 1. The round
with k steps is the measured round plus (k - K) times what a step costs. Where runs of the same server with
other steps exist, that is the slope of their round times over steps at equal batch size and context: a draft
forward and one more token to verify. Else it is the draft time alone (k steps run k - 1 draft forwards; the
first token comes from the re-extend), and verify is held at its measured time: true where it is bound by
latency or weights, pessimistic about fewer steps where fewer tokens verify faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.analysis.estimate import Pair, arm_at, pair_at
from speclog.analysis.line import Floats
from speclog.analysis.matching import Matched, match
from speclog.analysis.phases import run_numbers, usual
from speclog.analysis.side import Part, Side
from speclog.analysis.student import expansion
from speclog.analysis.theory import step_pays
from speclog.analysis.window_mean import ratio

if TYPE_CHECKING:
    import polars as pl

NO_PROFILE = "no EAGLE3_PROFILE window with acc_hist at topk 1 for this batch size"
DRAFT_TIME = "draft time"
ONE_STEP = "measured with one draft step: what another would cost is unknown"


@dataclass(frozen=True)
class Draft:
    """What profile windows say about the draft at one batch size, with draws over windows."""

    steps: int
    survival: Floats  # P(accepted >= i), i = 1..steps
    step_ms: float  # one draft forward; NaN from a run with one step, which has none
    survival_draws: Floats  # resamples x steps
    step_draws: Floats
    first: tuple[float, float] | tuple[None, None]  # interval of P(accepted >= 1), within-run


@dataclass(frozen=True)
class StepCost:
    """What one more draft step adds to a round, with draws, and where that comes from."""

    ms: float
    draws: Floats
    source: str


def best_steps(
    profile_windows: pl.DataFrame,
    candidate: Sequence[pl.DataFrame] | Side,
    baseline: Sequence[pl.DataFrame] | Side,
    *,
    contexts: Sequence[float] | None = None,
    mixed: bool | None = None,
    others: Mapping[int, Side] | None = None,
    extra_steps: int = 2,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Predict the speedup of 0, 1, ... draft steps at each batch size and context.

    ``profile_windows``: a run's rows of view ``profile_window``; ``candidate``: the same run's rows of view
    ``decode_window`` (its repeats); ``baseline`` likewise (or sides made before). ``contexts``: default the
    quarter points and middle of the common range. ``mixed``: as for `matching.match`.

    Columns: batch_size, context, steps (0 = plain server),
    draft_tokens, tau, t_round_ms, t_base_ms, tau_star, speedup, speedup_lo, speedup_hi, extrapolated (more
    steps than measured: the interval then reaches from no acceptance of the added steps to the best
    measured one), next_step_pays (marginal rule), best (among measured steps), step_ms, step_ms_lo and
    step_ms_hi (what a step costs, and its interval within the runs), step_from ('runs with 2 and 5 steps' or
    'draft time'), draft_step_ms (one draft forward) and its interval, those of tau and t_round_ms, refused
    (why there is no prediction; such rows have no steps).
    """
    import polars as pl

    sides = [
        arm if isinstance(arm, Side) else Side(arm, resamples=resamples, seed=seed)
        for arm in (candidate, baseline)
    ]
    windows = usual(profile_windows, "spec")
    rows: list[dict[str, Any]] = []
    for batch_size in sides[0].batch_sizes:
        draft = draft_of(windows.filter(batch_size=batch_size), sides[0].resamples, seed)
        pair = match(sides[0], sides[1], batch_size, mixed=mixed)
        reason = draft if isinstance(draft, str) else pair if isinstance(pair, str) else None
        if isinstance(draft, str) or isinstance(pair, str):
            rows.append({"batch_size": batch_size, "refused": reason})
            continue
        spread = pair.context_to - pair.context_from
        wanted = contexts or [pair.context_from + share * spread for share in (0.25, 0.5, 0.75)]
        for context in wanted:
            known = pair_at(pair, float(context), confidence)
            if known is None:
                continue
            cost = step_cost(draft, pair, float(context), others or {})
            if cost is None:
                rows.append({"batch_size": batch_size, "context": float(context), "refused": ONE_STEP})
            else:
                rows += _choices(batch_size, float(context), draft, known, cost, extra_steps)
    return pl.DataFrame(rows, schema=_schema())


def step_cost(draft: Draft, pair: Matched, context: float, others: Mapping[int, Side]) -> StepCost | None:
    """What a step adds to the round at a context: from runs with other steps, else from draft time.

    Least squares of round time over steps, the candidate's own included; of ``others`` those whose batches
    are of the same kind and cover the context. None from a single run with one step.
    """
    arms = {draft.steps: arm_at(pair.candidate, context)}
    for steps, side in others.items():
        part = _like(side, pair.candidate, context)
        if part is not None and steps != draft.steps:
            arms[steps] = arm_at(part, context)
    known = {steps: arm for steps, arm in sorted(arms.items()) if arm is not None}
    if len(known) < 2:
        return None if draft.steps < 2 else StepCost(draft.step_ms, draft.step_draws, DRAFT_TIME)
    off = np.array(list(known)) - np.mean(list(known))
    weights = off / (off**2).sum()
    rounds = [arm.round_ms for arm in known.values()]
    draws = [arm.round_ms * np.exp(arm.log_ms[0]) for arm in known.values()]
    source = f"runs with {_listed(list(known))} steps"
    return StepCost(float(weights @ rounds), np.asarray(weights @ np.array(draws)), source)


def _like(side: Side, part: Part, context: float) -> Part | None:
    """The part of another run that is of the same kind as ``part`` and covers the context."""
    found = [
        other
        for other in side.at(part.batch_size)
        if (other.eager, other.mixed) == (part.eager, part.mixed)
        and other.context_min <= context <= other.context_max
        and other.n > 1
    ]
    return max(found, key=lambda other: other.n, default=None)


def _listed(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps[:-1])) + f" and {steps[-1]}"


def draft_of(windows: pl.DataFrame, resamples: int, seed: int) -> Draft | str:
    """The draft at one batch size from its usual profile windows, or why nothing can be said."""
    import polars as pl

    kept = windows.filter(topk=1).drop_nulls(["acc_hist", "draft_ms"])
    kept = kept.filter(pl.col("steps") > 0, pl.col("acc_hist").list.sum() > 0)
    if kept.is_empty():
        return NO_PROFILE
    steps = int(kept["steps"].mode().sort()[0])
    kept = kept.filter(steps=steps)
    padded = [(list(row) + [0] * (steps + 1))[: steps + 1] for row in kept["acc_hist"]]
    histogram = np.array(padded, dtype=float)
    step_ms = kept["draft_ms"].to_numpy() / (steps - 1 if steps > 1 else np.nan)
    rounds = kept["n"].to_numpy().astype(float)
    picked = np.random.default_rng([seed, steps]).integers(0, len(kept), (resamples, len(kept)))
    weights = rounds[picked]
    return Draft(
        steps,
        _survival(histogram.sum(axis=0)),
        float(np.average(step_ms, weights=rounds)),
        _survival(histogram[picked].sum(axis=1)),
        (step_ms[picked] * weights).sum(axis=1) / weights.sum(axis=1),
        ratio(
            histogram[:, 1:].sum(axis=1), histogram.sum(axis=1), np.ones(len(kept)), run_numbers(kept)
        ).interval(),
    )


def _survival(histogram: Floats) -> Floats:
    """P(accepted >= i), i = 1.., from counts of rounds by accepted drafts (last axis)."""
    at_least = np.cumsum(histogram[..., ::-1], axis=-1)[..., ::-1]
    survived: Floats = at_least[..., 1:] / at_least[..., :1]
    return survived


def _extended(draft: Draft, extra: int) -> tuple[Floats, Floats]:
    """Survival past the measured steps: as expected (last conditional acceptance goes on) and at best."""
    alive = [1.0, *draft.survival]
    conditional = [after / before for before, after in pairwise(alive) if before > 0]
    powers = np.arange(1, extra + 1)
    last = draft.survival[-1]
    return last * conditional[-1] ** powers, last * max(conditional) ** powers


def _choices(
    batch_size: int, context: float, draft: Draft, pair: Pair, cost: StepCost, extra: int
) -> list[dict[str, Any]]:
    expected, at_best = _extended(draft, extra)
    survival = np.concatenate([draft.survival, expected])
    base: dict[str, Any] = {"batch_size": batch_size, "context": context, "t_base_ms": pair.baseline.round_ms}
    step_lo, step_hi = _cost_interval(pair, cost)
    base |= {"step_ms": cost.ms, "step_ms_lo": step_lo, "step_ms_hi": step_hi, "step_from": cost.source}
    base["draft_step_ms"] = draft.step_ms if draft.steps > 1 else None
    base |= _ends("draft_step_ms", draft.step_draws if draft.steps > 1 else None, pair.confidence)
    plain: dict[str, Any] = {"steps": 0, "draft_tokens": 1, "tau": 1.0, "tau_lo": 1.0, "tau_hi": 1.0}
    plain |= {"t_round_ms": pair.baseline.round_ms, "tau_star": 1.0}
    plain |= dict(
        zip(("t_round_ms_lo", "t_round_ms_hi"), pair.t_base_ms.interval(pair.confidence), strict=True)
    )
    rows = [base | plain | {"speedup": 1.0, "speedup_lo": 1.0, "speedup_hi": 1.0, "extrapolated": False}]
    for steps in range(1, draft.steps + extra + 1):
        row = base | _choice(draft, pair, cost, steps, survival, at_best)
        if steps < draft.steps + extra:
            longer = row["t_round_ms"] + cost.ms
            row["next_step_pays"] = step_pays(float(survival[steps]), row["t_round_ms"], longer, row["tau"])
        rows.append(row)
    measured = [row for row in rows if not row["extrapolated"]]
    winner = max(measured, key=lambda row: row["speedup"])
    return [row | {"best": row is winner} for row in rows]


def _choice(
    draft: Draft, pair: Pair, cost: StepCost, steps: int, survival: Floats, at_best: Floats
) -> dict[str, Any]:
    shift = steps - draft.steps
    tau = 1.0 + float(survival[:steps].sum())
    round_ms = pair.candidate.round_ms + shift * cost.ms
    token_ms = pair.baseline.round_ms / pair.baseline.tau
    low, high, more = _interval(draft, pair, cost, steps, at_best)
    return more | {
        "steps": steps,
        "draft_tokens": steps + 1,
        "tau": tau,
        "t_round_ms": round_ms,
        "tau_star": round_ms / token_ms,
        "speedup": tau / round_ms * token_ms,
        "speedup_lo": low,
        "speedup_hi": high,
        "extrapolated": shift > 0,
    }


def _cost_interval(pair: Pair, cost: StepCost) -> tuple[float, float]:
    """What a step costs, within the runs that say so, as wide as in the interval of the speedup."""
    wide = expansion(pair.confidence, min(pair.candidate.log_ms[1], pair.baseline.log_ms[1]))
    tail = 0.5 - pair.confidence / 2
    low, high = np.quantile(cost.ms + (cost.draws - cost.ms) * wide, [tail, 1 - tail])
    return float(low), float(high)


def _interval(
    draft: Draft, pair: Pair, cost: StepCost, steps: int, at_best: Floats
) -> tuple[float, float, dict[str, float | None]]:
    """Ends of the speedup, and those of the accept length and the round it is made of."""
    candidate, baseline = pair.candidate, pair.baseline
    wide = expansion(pair.confidence, min(candidate.log_ms[1], baseline.log_ms[1]))
    rounds = candidate.round_ms * np.exp(candidate.log_ms[0] * wide)
    rounds = rounds + (steps - draft.steps) * (cost.ms + (cost.draws - cost.ms) * wide)
    deviation = (baseline.log_ms[0] - baseline.log_tau[0]) * wide
    tokens = baseline.round_ms / baseline.tau * np.exp(deviation)
    taus = 1.0 + draft.survival_draws[:, :steps].sum(axis=1)
    hoped = float(at_best[: max(steps - draft.steps, 0)].sum())
    tail = 0.5 - pair.confidence / 2
    ends = _ends("t_round_ms", rounds, pair.confidence) | {
        "tau_lo": float(np.quantile(taus, tail)),
        "tau_hi": float(np.quantile(taus, 1 - tail)) + hoped,
    }
    return (
        float(np.quantile(taus / rounds * tokens, tail)),
        float(np.quantile((taus + hoped) / rounds * tokens, 1 - tail)),
        ends,
    )


def _ends(name: str, draws: Floats | None, confidence: float) -> dict[str, float | None]:
    tail = 0.5 - confidence / 2
    low, high = (None, None) if draws is None else np.quantile(draws, [tail, 1 - tail]).tolist()
    return {f"{name}_lo": low, f"{name}_hi": high}


def _schema() -> dict[str, Any]:
    import polars as pl

    times = ("tau", "t_round_ms", "t_base_ms", "tau_star", "speedup", "speedup_lo", "speedup_hi")
    return {
        "batch_size": pl.Int64(),
        "context": pl.Float64(),
        "steps": pl.Int64(),
        "draft_tokens": pl.Int64(),
        **dict.fromkeys(times, pl.Float64()),
        "extrapolated": pl.Boolean(),
        "next_step_pays": pl.Boolean(),
        "best": pl.Boolean(),
        **dict.fromkeys(("step_ms", "step_ms_lo", "step_ms_hi"), pl.Float64()),
        "step_from": pl.String(),
        **dict.fromkeys(("draft_step_ms", "draft_step_ms_lo", "draft_step_ms_hi"), pl.Float64()),
        **dict.fromkeys(("tau_lo", "tau_hi", "t_round_ms_lo", "t_round_ms_hi"), pl.Float64()),
        "refused": pl.String(),
    }
