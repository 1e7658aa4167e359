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
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.analysis.estimate import Pair, arm_at, pair_at
from speclog.analysis.line import Floats
from speclog.analysis.matching import Matched, match
from speclog.analysis.phases import run_numbers, usual
from speclog.analysis.side import Part, Side
from speclog.analysis.student import expansion
from speclog.analysis.theory import step_pays
from speclog.analysis.window_mean import Mean, mean, ratio

if TYPE_CHECKING:
    import polars as pl

NO_PROFILE = "no EAGLE3_PROFILE window with acc_hist at topk 1 for this batch size"
ONE_WINDOW = "one EAGLE3_PROFILE window with acc_hist for this batch size: two are needed"
DRAFT_TIME = "draft time"
ONE_STEP = "measured with one draft step: what another would cost is unknown"


@dataclass(frozen=True)
class Draft:
    """What profile windows say about the draft at one batch size."""

    steps: int
    histogram: Floats  # windows x (steps + 1): request-rounds by accepted drafts, in order of time
    runs: Floats  # a number a window, equal within a run
    step: Mean  # ms of one draft forward; NaN from runs with one step, which have none

    @cached_property
    def survival(self) -> Floats:
        """P(accepted >= i), i = 1..steps."""
        at_least = self._at_least.sum(axis=0)
        survived: Floats = at_least[1:] / at_least[0]
        return survived

    @property
    def first(self) -> tuple[float, float] | tuple[None, None]:
        """Interval of P(accepted >= 1), within-run."""
        return self._over(self._at_least[:, 1], self._at_least[:, 0]).interval()

    def tau(self, steps: int) -> Mean:
        """Accept length with so many of the measured steps; its error is infinite from one window."""
        return self._over(self._tokens(steps), self._at_least[:, 0])

    def tau_over_own(self, steps: int) -> Mean:
        """The same over the accept length with the measured steps: both are of the same rounds."""
        return self._over(self._tokens(steps), self._tokens(self.steps))

    @cached_property
    def _at_least(self) -> Floats:
        counted: Floats = np.cumsum(self.histogram[:, ::-1], axis=1)[:, ::-1]
        return counted

    def _tokens(self, steps: int) -> Floats:
        tokens: Floats = self._at_least[:, : steps + 1].sum(axis=1)
        return tokens

    def _over(self, top: Floats, bottom: Floats) -> Mean:
        return ratio(top, bottom, np.ones(len(top)), self.runs)


@dataclass(frozen=True)
class StepCost:
    """What one more draft step adds to a round, with draws as wide as Student's t, and where it is from."""

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
    'draft time'), draft_step_ms (one draft forward) and its interval, those of tau and t_round_ms, over_own
    with its interval (the speedup over that of the run's own steps as predicted: 1 inside means that neither
    is shown to be better), refused (why there is no prediction; such rows have no steps). Accept lengths and
    draft time have the interval of `window_mean`: profile windows repeat each other, and few of them say
    little.
    """
    import polars as pl

    sides = [
        arm if isinstance(arm, Side) else Side(arm, resamples=resamples, seed=seed)
        for arm in (candidate, baseline)
    ]
    rng = np.random.default_rng(seed)
    windows = usual(profile_windows, "spec")
    rows: list[dict[str, Any]] = []
    for batch_size in sides[0].batch_sizes:
        draft = draft_of(windows.filter(batch_size=batch_size))
        pair = match(sides[0], sides[1], batch_size, mixed=mixed)
        if not isinstance(draft, str) and not draft.tau(draft.steps).error < inf:
            draft = ONE_WINDOW
        reason = draft if isinstance(draft, str) else pair if isinstance(pair, str) else None
        if isinstance(draft, str) or isinstance(pair, str):
            rows.append({"batch_size": batch_size, "refused": reason})
            continue
        chance = rng.standard_normal((2, sides[0].resamples))  # of the accept length, of the draft time
        spread = pair.context_to - pair.context_from
        wanted = contexts or [pair.context_from + share * spread for share in (0.25, 0.5, 0.75)]
        for context in wanted:
            known = pair_at(pair, float(context), confidence)
            if known is None:
                continue
            cost = step_cost(draft, pair, float(context), others or {}, chance[1], confidence)
            if cost is None:
                rows.append({"batch_size": batch_size, "context": float(context), "refused": ONE_STEP})
            else:
                rows += _choices(batch_size, float(context), draft, known, cost, extra_steps, chance[0])
    return pl.DataFrame(rows, schema=_schema())


def step_cost(
    draft: Draft,
    pair: Matched,
    context: float,
    others: Mapping[int, Side],
    chance: Floats,
    confidence: float,
) -> StepCost | None:
    """What a step adds to the round at a context: from runs with other steps, else from draft time.

    Least squares of round time over steps, the candidate's own included; of ``others`` those whose batches
    are of the same kind and cover the context. ``chance``: standard normal draws, for the draft time. None
    from a single run with one step.
    """
    arms = {draft.steps: arm_at(pair.candidate, context)}
    for steps, side in others.items():
        part = _like(side, pair.candidate, context)
        if part is not None and steps != draft.steps:
            arms[steps] = arm_at(part, context)
    known = {steps: arm for steps, arm in sorted(arms.items()) if arm is not None}
    if len(known) < 2:
        if draft.steps < 2:
            return None
        return StepCost(draft.step.value, _drawn(draft.step, chance, confidence), DRAFT_TIME)
    off = np.array(list(known)) - np.mean(list(known))
    weights = off / (off**2).sum()
    wide = expansion(confidence, min(arm.log_ms[1] for arm in known.values()))
    rounds = [arm.round_ms for arm in known.values()]
    draws = [arm.round_ms * np.exp(arm.log_ms[0] * wide) for arm in known.values()]
    source = f"runs with {_listed(list(known))} steps"
    return StepCost(float(weights @ rounds), np.asarray(weights @ np.array(draws)), source)


def _drawn(found: Mean, chance: Floats, confidence: float) -> Floats:
    """Draws of a mean from standard normal ones, as wide as Student's t."""
    drawn: Floats = found.value + found.error * expansion(confidence, found.dof) * chance
    return drawn


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


def draft_of(windows: pl.DataFrame) -> Draft | str:
    """The draft at one batch size from its usual profile windows, or why nothing can be said."""
    import polars as pl

    kept = windows.filter(topk=1).drop_nulls(["acc_hist", "draft_ms"])
    kept = kept.filter(pl.col("steps") > 0, pl.col("acc_hist").list.sum() > 0)
    if kept.is_empty():
        return NO_PROFILE
    steps = int(kept["steps"].mode().sort()[0])
    kept = kept.filter(steps=steps)
    padded = [(list(row) + [0] * (steps + 1))[: steps + 1] for row in kept["acc_hist"]]
    step_ms = kept["draft_ms"].to_numpy() / (steps - 1 if steps > 1 else np.nan)
    runs = run_numbers(kept)
    step = mean(step_ms, kept["n"].to_numpy().astype(float), runs)
    return Draft(steps, np.array(padded, dtype=float), runs, step)


def _extended(draft: Draft, extra: int) -> tuple[Floats, Floats]:
    """Survival past the measured steps: as expected (last conditional acceptance goes on) and at best."""
    alive = [1.0, *draft.survival]
    conditional = [after / before for before, after in pairwise(alive) if before > 0]
    powers = np.arange(1, extra + 1)
    last = draft.survival[-1]
    return last * conditional[-1] ** powers, last * max(conditional) ** powers


def _choices(
    batch_size: int, context: float, draft: Draft, pair: Pair, cost: StepCost, extra: int, chance: Floats
) -> list[dict[str, Any]]:
    expected, at_best = _extended(draft, extra)
    survival = np.concatenate([draft.survival, expected])
    base: dict[str, Any] = {"batch_size": batch_size, "context": context, "t_base_ms": pair.baseline.round_ms}
    base |= {"step_ms": cost.ms, "step_from": cost.source} | _ends("step_ms", cost.draws, pair.confidence)
    base |= _draft_step(draft, pair.confidence)
    rows = [base | _plain(draft, pair, cost, chance)]
    for steps in range(1, draft.steps + extra + 1):
        row = base | _choice(draft, pair, cost, steps, survival, at_best, chance)
        if steps < draft.steps + extra:
            longer = row["t_round_ms"] + cost.ms
            row["next_step_pays"] = step_pays(float(survival[steps]), row["t_round_ms"], longer, row["tau"])
        rows.append(row)
    measured = [row for row in rows if not row["extrapolated"]]
    winner = max(measured, key=lambda row: row["speedup"])
    return [row | {"best": row is winner} for row in rows]


def _draft_step(draft: Draft, confidence: float) -> dict[str, float | None]:
    ends = draft.step.interval(confidence) if draft.steps > 1 else (None, None)
    value = draft.step.value if draft.steps > 1 else None
    return {"draft_step_ms": value, "draft_step_ms_lo": ends[0], "draft_step_ms_hi": ends[1]}


def _plain(draft: Draft, pair: Pair, cost: StepCost, chance: Floats) -> dict[str, Any]:
    """No draft steps: the plain server."""
    own = _choice(draft, pair, cost, draft.steps, draft.survival, np.empty(0), chance)
    ends = pair.t_base_ms.interval(pair.confidence)
    return {
        **{"steps": 0, "draft_tokens": 1, "tau": 1.0, "tau_lo": 1.0, "tau_hi": 1.0, "extrapolated": False},
        **{"t_round_ms": pair.baseline.round_ms, "t_round_ms_lo": ends[0], "t_round_ms_hi": ends[1]},
        **{"tau_star": 1.0, "speedup": 1.0, "speedup_lo": 1.0, "speedup_hi": 1.0},
        "over_own": 1 / own["speedup"],
        "over_own_lo": 1 / own["speedup_hi"],
        "over_own_hi": 1 / own["speedup_lo"],
    }


def _choice(
    draft: Draft, pair: Pair, cost: StepCost, steps: int, survival: Floats, at_best: Floats, chance: Floats
) -> dict[str, Any]:
    shift = steps - draft.steps
    tau = 1.0 + float(survival[:steps].sum())
    round_ms = pair.candidate.round_ms + shift * cost.ms
    token_ms = pair.baseline.round_ms / pair.baseline.tau
    own = (1.0 + float(draft.survival.sum())) / pair.candidate.round_ms
    return {
        "steps": steps,
        "draft_tokens": steps + 1,
        "tau": tau,
        "t_round_ms": round_ms,
        "tau_star": round_ms / token_ms,
        "speedup": tau / round_ms * token_ms,
        "over_own": tau / round_ms / own,
        "extrapolated": shift > 0,
    } | _intervals(draft, pair, cost, steps, at_best, chance)


def _intervals(
    draft: Draft, pair: Pair, cost: StepCost, steps: int, at_best: Floats, chance: Floats
) -> dict[str, float | None]:
    """Ends of accept length, round, speedup and of what the steps gain over the run's own."""
    candidate, baseline, confidence = pair.candidate, pair.baseline, pair.confidence
    wide = expansion(confidence, min(candidate.log_ms[1], baseline.log_ms[1]))
    own = candidate.round_ms * np.exp(candidate.log_ms[0] * wide)
    rounds = own + (steps - draft.steps) * cost.draws
    rounds = np.maximum(rounds, 1e-3 * candidate.round_ms)  # however badly a step is known
    deviation = (baseline.log_ms[0] - baseline.log_tau[0]) * wide
    tokens = baseline.round_ms / baseline.tau * np.exp(deviation)
    kept = min(steps, draft.steps)
    taus = np.clip(_drawn(draft.tau(kept), chance, confidence), 1.0, kept + 1.0)
    gained = _drawn(draft.tau_over_own(kept), chance, confidence) * own / rounds
    hoped = float(at_best[: max(steps - draft.steps, 0)].sum())  # at least nothing more is accepted
    more = 1 + hoped / float(1 + draft.survival.sum())
    return (
        _ends("t_round_ms", rounds, confidence)
        | _reach("tau", taus, taus + hoped, confidence)
        | _reach("speedup", taus / rounds * tokens, (taus + hoped) / rounds * tokens, confidence)
        | _reach("over_own", gained, gained * more, confidence)
    )


def _ends(name: str, draws: Floats, confidence: float) -> dict[str, float | None]:
    return _reach(name, draws, draws, confidence)


def _reach(name: str, lower: Floats, upper: Floats, confidence: float) -> dict[str, float | None]:
    tail = 0.5 - confidence / 2
    ends = float(np.quantile(lower, tail)), float(np.quantile(upper, 1 - tail))
    return {f"{name}_lo": ends[0], f"{name}_hi": ends[1]}


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
        **dict.fromkeys(("over_own", "over_own_lo", "over_own_hi"), pl.Float64()),
        "refused": pl.String(),
    }
