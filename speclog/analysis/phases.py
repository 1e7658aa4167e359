"""Where a speculative round's time goes, in ms and in tokens of the baseline's step.

From EAGLE3_PROFILE lines: cycle = draft + vprep + verify + accept + extend + gap. A phase of ``ms`` costs
ms / t_base tokens, and all phases together are the break-even accept length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.analysis.line import MAD_TO_SIGMA, TRIM_FLOOR, TRIM_MADS, Floats
from speclog.analysis.student import t_quantile
from speclog.analysis.window_mean import Mean, columns, mean, quotient, ratio, spans

if TYPE_CHECKING:
    import polars as pl

PHASES = ("draft", "vprep", "verify", "accept", "extend", "gap")
OTHER = "other"
ADDS_UP = 0.02
HOST_BOUND = 0.85
"""From this share of host time in the cycle on, the processor and not the GPU sets the pace."""


def usual(profile_windows: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Windows of one ``kind`` ('spec', 'decode') whose cycle is usual for their batch size.

    ``profile_windows`` has the columns of view ``profile_window``. Left out: warm-up steps, windows of
    mixed batch size or without a number of rounds (they could not be weighed), windows whose phases do not
    add up to their cycle within 2 % (a phase caught a hiccup that the cycle left out), and windows whose mean
    cycle lies farther than 5 * 1.4826 * MAD (+ 0.1 %) from the median of their batch size, such as the first
    after start (JIT) or one long prompt among short ones.
    """
    import polars as pl

    of_kind = profile_windows.filter(
        pl.col("kind") == kind,
        pl.col("cycle_ms") > 0,
        pl.col("n") > 0,
        pl.col("bs") == pl.col("bs").round(),
        ~pl.col("warmup").fill_null(value=False),
    ).with_columns(batch_size=pl.col("bs").cast(pl.Int64))
    middle = pl.col("cycle_ms").median().over("batch_size")
    off = (pl.col("cycle_ms") - middle).abs()
    reach = TRIM_MADS * MAD_TO_SIGMA * off.median().over("batch_size") + TRIM_FLOOR * middle
    total = pl.sum_horizontal([pl.col(f"{phase}_ms").fill_null(0.0) for phase in PHASES])
    adds_up = (total - pl.col("cycle_ms")).abs() <= ADDS_UP * pl.col("cycle_ms")
    return of_kind.filter((off <= reach) & (adds_up | (pl.col("kind") != "spec")))


def comparable(profile_windows: pl.DataFrame, spans: Mapping[int, tuple[float, float]]) -> pl.DataFrame:
    """The windows of which a bill in baseline steps can be made, those of kind 'spec' at ``spans``.

    ``spans``: by batch size, the contexts (tokens a request) that both arms of a comparison cover; a round
    grows with context, and the baseline's step is known only there. All windows of a batch size stay where
    their mean context lies inside (round time is a line of context), else those inside. So do windows of
    batch sizes that print no context (``seq``).
    """
    import polars as pl

    spec = profile_windows.filter(kind="spec")
    kept = [spec.clear()]
    for size, (low, high) in sorted(spans.items()):
        windows = spec.filter(pl.col("bs") == size)
        middle = contexts(windows).get(size)
        if middle is not None and not low <= middle <= high:
            windows = windows.filter((pl.col("seq") / pl.col("bs")).is_between(low, high))
        kept.append(windows)
    return pl.concat(kept)


def contexts(profile_windows: pl.DataFrame) -> dict[int, float]:
    """Mean context (tokens a request) of the usual rounds of each batch size that print it."""
    import polars as pl

    known = usual(profile_windows, "spec").drop_nulls("seq").filter(pl.col("seq") > 0)
    mean_seq = (pl.col("seq") * pl.col("n")).sum() / pl.col("n").sum()
    return dict(known.group_by("batch_size").agg(mean_seq / pl.col("batch_size").first()).iter_rows())


def bill(
    profile_windows: pl.DataFrame,
    t_base_ms: Mapping[int, float],
    t_base_span_ms: Mapping[int, tuple[float, float]] | None = None,
) -> pl.DataFrame:
    """Each phase's share of the round at each batch size.

    ``profile_windows``: one run's rows of view ``profile_window``; ``t_base_ms``: the baseline's step at each
    batch size, at the context of these windows, and its interval. Columns: batch_size, phase, ms, tokens (ms
    in baseline steps), share_pct (of the cycle), each with ``_lo`` and ``_hi`` (`window_mean`, within-run;
    tokens hold the step's interval too where it is given), shrink_to_ms (the length at which the round breaks
    even while all else stays; above ms: it may grow to that; NULL: even without this phase the round is too
    long, or no accept length is known). Phase 'other' is what the marks do not cover. Without a baseline
    step, tokens and shrink_to_ms are NULL.
    """
    import polars as pl

    rows = []
    for (batch_size,), windows in sorted(usual(profile_windows, "spec").group_by("batch_size")):
        size = int(str(batch_size))
        rows += _bill(size, windows, _step(size, t_base_ms, t_base_span_ms or {}))
    numbers = dict.fromkeys((*columns("ms", "tokens", "share_pct"), "shrink_to_ms"), pl.Float64())
    return pl.DataFrame(rows, schema={"batch_size": pl.Int64(), "phase": pl.String(), **numbers})


def _step(size: int, ms: Mapping[int, float], span_ms: Mapping[int, tuple[float, float]]) -> Mean | None:
    """The baseline's step; its interval is read as that of a normal estimate."""
    if not ms.get(size):
        return None
    low, high = span_ms.get(size, (ms[size], ms[size]))
    return Mean(ms[size], (high - low) / (2 * t_quantile(0.975, inf)), inf)


def _bill(batch_size: int, windows: pl.DataFrame, step: Mean | None) -> list[dict[str, Any]]:
    cycle = weighted(windows, "cycle_ms")
    if cycle is None:
        return []
    tau = accept_length(windows)
    budget = tau * step.value if tau is not None and step is not None else None
    weights, rounds, runs = _numbers(windows, "n"), _numbers(windows, "cycle_ms"), run_numbers(windows)
    phases = {phase: _numbers(windows, f"{phase}_ms") for phase in PHASES if windows[f"{phase}_ms"].count()}
    rest = rounds - np.sum([np.nan_to_num(ms) for ms in phases.values()], axis=0)
    made: list[dict[str, Any]] = []
    for phase, ms in [*phases.items(), (OTHER, rest)]:
        known = ~np.isnan(ms)
        found = mean(ms[known], weights[known], runs[known])
        if phase == OTHER:  # what means over rounds leave, as in view ``phase``
            found = replace(found, value=cycle - sum(row["ms"] for row in made))
        share = ratio(100 * ms[known], rounds[known], weights[known], runs[known])
        share = replace(share, value=100 * found.value / cycle)
        made.append(
            {"batch_size": batch_size, "phase": phase}
            | spans("ms", found)
            | spans("tokens", quotient(found, step) if step is not None else None)
            | spans("share_pct", share, 100.0)
            | {"shrink_to_ms": _allowed(budget, cycle - found.value)}
        )
    return made


def run_numbers(windows: pl.DataFrame) -> Floats:
    """A number a window, equal within a run."""
    import polars as pl

    if "run_id" not in windows.columns:
        return np.zeros(len(windows))
    return windows["run_id"].rank("dense").cast(pl.Float64).to_numpy()


def _numbers(windows: pl.DataFrame, column: str) -> Floats:
    """A column as floats, NaN where it is not known."""
    import polars as pl

    return windows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _allowed(budget: float | None, others: float) -> float | None:
    return budget - others if budget is not None and budget >= others else None


def weighted(windows: pl.DataFrame, column: str) -> float | None:
    """Mean of a column over rounds (windows weigh by n); None where no window has it."""
    known = windows.drop_nulls(column)
    if known.is_empty():
        return None
    return float(np.average(known[column].to_numpy(), weights=known["n"].to_numpy()))


def accept_length(windows: pl.DataFrame) -> float | None:
    """Tokens per request and round over all windows: total over total, bonus included."""
    import polars as pl

    known = windows.drop_nulls("acc_len").filter(pl.col("reqs") > 0)
    if known.is_empty():
        return None
    return float(np.average(known["acc_len"].to_numpy(), weights=known["reqs"].to_numpy()))


def summary(profile_windows: pl.DataFrame, baseline_windows: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row a kind and batch size: what the profiler saw, and whether the host sets the pace.

    Columns: kind, batch_size, windows, left_out, rounds, cycle_ms, verify_ms (the forward of a plain step for
    kind 'decode'), host_ms, host_share, host_bound, tau, verify_ratio (verify over the plain run's forward at
    the same batch size and contexts, from ``baseline_windows``; hardware only: break-even uses whole rounds);
    verify_ms, host_share and verify_ratio with ``_lo`` and ``_hi`` (`window_mean`, within-run).
    """
    import polars as pl

    plain = None if baseline_windows is None else usual(baseline_windows, "decode")
    rows = []
    for kind in ("spec", "decode"):
        everything = profile_windows.filter(kind=kind)
        for (batch_size,), windows in sorted(usual(profile_windows, kind).group_by("batch_size")):
            size = int(str(batch_size))
            verify = _mean(windows, "verify_ms" if kind == "spec" else "fwd_ms")
            row = _summary(kind, size, windows) | spans("verify_ms", verify)
            row["left_out"] = len(everything.filter(pl.col("bs") == size)) - len(windows)
            if kind == "spec" and plain is not None:
                row |= _verify_ratio(windows, plain.filter(batch_size=size))
            rows.append(row)
    return pl.DataFrame(rows, schema=_summary_schema())


def _summary(kind: str, batch_size: int, windows: pl.DataFrame) -> dict[str, Any]:
    share = _share(windows)
    return {
        "kind": kind,
        "batch_size": batch_size,
        "windows": len(windows),
        "rounds": int(windows["n"].sum()),
        "cycle_ms": weighted(windows, "cycle_ms"),
        "host_ms": weighted(windows, "host_ms"),
        **spans("host_share", share, 1.0),
        "host_bound": share.value >= HOST_BOUND if share is not None else None,
        "tau": accept_length(windows) if kind == "spec" else 1.0,
    }


def _mean(windows: pl.DataFrame, column: str) -> Mean | None:
    known = windows.drop_nulls(column)
    return (
        None if known.is_empty() else mean(_numbers(known, column), _numbers(known, "n"), run_numbers(known))
    )


def _share(windows: pl.DataFrame) -> Mean | None:
    """Host time as a part of the cycle."""
    known = windows.drop_nulls("host_ms")
    if known.is_empty() or not known["cycle_ms"].sum():
        return None
    times = _numbers(known, "host_ms"), _numbers(known, "cycle_ms")
    return ratio(*times, _numbers(known, "n"), run_numbers(known))


def _verify_ratio(windows: pl.DataFrame, plain: pl.DataFrame) -> dict[str, float | None]:
    """Verify over the plain forward, of windows at contexts that both have where all print theirs."""
    import polars as pl

    both = [windows, plain]
    if all("seq" in one.columns and len(one) and not one["seq"].null_count() for one in both):
        context = pl.col("seq") / pl.col("bs")
        at = [one.select(context).to_series().to_numpy() for one in both]
        low, high = max(float(one.min()) for one in at), min(float(one.max()) for one in at)
        both = [one.filter(context.is_between(low, high)) for one in both]
    verify, step = _mean(both[0], "verify_ms"), _mean(both[1], "fwd_ms")
    if step is None or verify is None or not step.value or not verify.value:
        return {}
    return spans("verify_ratio", quotient(verify, step))


def _summary_schema() -> dict[str, Any]:
    import polars as pl

    counts = dict.fromkeys(("batch_size", "windows", "left_out", "rounds"), pl.Int64())
    times = ("cycle_ms", *columns("verify_ms"), "host_ms", *columns("host_share"))
    return {
        "kind": pl.String(),
        **counts,
        **dict.fromkeys(times, pl.Float64()),
        "host_bound": pl.Boolean(),
        "tau": pl.Float64(),
        **dict.fromkeys(columns("verify_ratio"), pl.Float64()),
    }
