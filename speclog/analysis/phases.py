"""Where a speculative round's time goes, in ms and in tokens of the baseline's step.

From EAGLE3_PROFILE lines: cycle = draft + vprep + verify + accept + extend + gap. A phase of ``ms`` costs
ms / t_base tokens, and all phases together are the break-even accept length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.analysis.line import MAD_TO_SIGMA, TRIM_FLOOR, TRIM_MADS

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
    mixed batch size, windows whose phases do not add up to their cycle within 2 % (a phase caught a hiccup
    that the cycle left out), and windows whose mean cycle lies farther than 5 * 1.4826 * MAD (+ 0.1 %) from
    the median of their batch size, such as the first after start (JIT) or one long prompt among short ones.
    """
    import polars as pl

    of_kind = profile_windows.filter(
        pl.col("kind") == kind,
        pl.col("cycle_ms").is_not_null(),
        pl.col("bs") == pl.col("bs").round(),
        ~pl.col("warmup").fill_null(value=False),
    ).with_columns(batch_size=pl.col("bs").cast(pl.Int64))
    middle = pl.col("cycle_ms").median().over("batch_size")
    off = (pl.col("cycle_ms") - middle).abs()
    reach = TRIM_MADS * MAD_TO_SIGMA * off.median().over("batch_size") + TRIM_FLOOR * middle
    total = pl.sum_horizontal([pl.col(f"{phase}_ms").fill_null(0.0) for phase in PHASES])
    adds_up = (total - pl.col("cycle_ms")).abs() <= ADDS_UP * pl.col("cycle_ms")
    return of_kind.filter((off <= reach) & (adds_up | (pl.col("kind") != "spec")))


def bill(profile_windows: pl.DataFrame, t_base_ms: Mapping[int, float]) -> pl.DataFrame:
    """Each phase's share of the round at each batch size.

    ``profile_windows``: one run's rows of view ``profile_window``; ``t_base_ms``: the baseline's step at each
    batch size, at the context of these windows. Columns: batch_size, phase, ms, tokens (ms in baseline
    steps), share_pct (of the cycle), shrink_to_ms (the length at which the round breaks even while all else
    stays; above ms: it may grow to that; NULL: even without this phase the round is too long, or no accept
    length is known). Phase 'other' is what the marks do not cover. Without a baseline step, tokens and
    shrink_to_ms are NULL.
    """
    import polars as pl

    rows = [
        row
        for (batch_size,), windows in sorted(usual(profile_windows, "spec").group_by("batch_size"))
        for row in _bill(int(str(batch_size)), windows, t_base_ms.get(int(str(batch_size))))
    ]
    numbers = dict.fromkeys(("ms", "tokens", "share_pct", "shrink_to_ms"), pl.Float64())
    return pl.DataFrame(rows, schema={"batch_size": pl.Int64(), "phase": pl.String(), **numbers})


def _bill(batch_size: int, windows: pl.DataFrame, t_base: float | None) -> list[dict[str, Any]]:
    cycle = weighted(windows, "cycle_ms")
    if cycle is None:
        return []
    phases = {phase: weighted(windows, f"{phase}_ms") for phase in PHASES}
    known = {phase: ms for phase, ms in phases.items() if ms is not None}
    rest = cycle - sum(known.values())
    tau = accept_length(windows)
    budget = tau * t_base if tau is not None and t_base is not None else None
    return [
        {
            "batch_size": batch_size,
            "phase": phase,
            "ms": ms,
            "tokens": ms / t_base if t_base else None,
            "share_pct": 100 * ms / cycle,
            "shrink_to_ms": _allowed(budget, cycle - ms),
        }
        for phase, ms in [*known.items(), (OTHER, rest)]
    ]


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
    known = windows.drop_nulls(["acc_len", "reqs"])
    if known.is_empty():
        return None
    return float(np.average(known["acc_len"].to_numpy(), weights=known["reqs"].to_numpy()))


def summary(profile_windows: pl.DataFrame, baseline_windows: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row a kind and batch size: what the profiler saw, and whether the host sets the pace.

    Columns: kind, batch_size, windows, left_out, rounds, cycle_ms, verify_ms (the forward of a plain step for
    kind 'decode'), host_ms, host_share, host_bound, tau, verify_ratio (verify over the plain run's forward at
    the same batch size, from ``baseline_windows``; hardware only: break-even uses whole rounds).
    """
    import polars as pl

    plain = {} if baseline_windows is None else _forwards(baseline_windows)
    rows = []
    for kind in ("spec", "decode"):
        everything = profile_windows.filter(kind=kind)
        for (batch_size,), windows in sorted(usual(profile_windows, kind).group_by("batch_size")):
            size = int(str(batch_size))
            row = _summary(kind, size, windows)
            row["left_out"] = len(everything.filter(pl.col("bs") == size)) - len(windows)
            if kind == "spec" and plain.get(size) and row["verify_ms"]:
                row["verify_ratio"] = row["verify_ms"] / plain[size]
            rows.append(row)
    return pl.DataFrame(rows, schema=_summary_schema())


def _summary(kind: str, batch_size: int, windows: pl.DataFrame) -> dict[str, Any]:
    cycle, host = weighted(windows, "cycle_ms"), weighted(windows, "host_ms")
    share = host / cycle if host is not None and cycle else None
    return {
        "kind": kind,
        "batch_size": batch_size,
        "windows": len(windows),
        "rounds": int(windows["n"].sum()),
        "cycle_ms": cycle,
        "verify_ms": weighted(windows, "verify_ms" if kind == "spec" else "fwd_ms"),
        "host_ms": host,
        "host_share": share,
        "host_bound": share >= HOST_BOUND if share is not None else None,
        "tau": accept_length(windows) if kind == "spec" else 1.0,
        "verify_ratio": None,
    }


def _forwards(baseline_windows: pl.DataFrame) -> dict[int, float | None]:
    plain = usual(baseline_windows, "decode")
    return {int(str(size)): weighted(rows, "fwd_ms") for (size,), rows in plain.group_by("batch_size")}


def _summary_schema() -> dict[str, Any]:
    import polars as pl

    counts = dict.fromkeys(("batch_size", "windows", "left_out", "rounds"), pl.Int64())
    times = dict.fromkeys(("cycle_ms", "verify_ms", "host_ms", "host_share"), pl.Float64())
    return {
        "kind": pl.String(),
        **counts,
        **times,
        "host_bound": pl.Boolean(),
        "tau": pl.Float64(),
        "verify_ratio": pl.Float64(),
    }
