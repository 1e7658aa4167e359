"""Simulated arms whose round time, accept length and scatter are known, as rows of view ``decode_window``."""

from __future__ import annotations

import numpy as np
import polars as pl

from speclog.analysis.side import Side


def windows(
    round_ms: float,
    tau: float = 1.0,
    *,
    batch_size: int = 1,
    n: int = 40,
    seed: int = 0,
    noise: float = 0.004,
    tau_noise: float = 0.01,
    start: float = 200.0,
) -> pl.DataFrame:
    """Windows of one run: a round takes ``round_ms`` at context 400, and 0.05 % more per 10 tokens."""
    rng = np.random.default_rng([seed, n, batch_size])
    context = start + np.arange(n) % 10 * 40
    times = round_ms * (1 + (context - 400) / 20000) * (1 + noise * rng.standard_normal(n))
    taus = np.full(n, tau) if tau == 1 else tau * (1 + tau_noise * rng.standard_normal(n))
    return pl.DataFrame(
        {
            "source_index": [0] * n,
            "line_no": list(range(1, n + 1)),
            "dp_rank": [None] * n,
            "pp_rank": [None] * n,
            "tp_rank": [None] * n,
            "running_req": [batch_size] * n,
            "token": [int(batch_size * c) for c in context],
            "tau": taus,
            "graph": [True] * n,
            "gen_tok_s": batch_size * taus / times * 1000,
            "queue_req": [0] * n,
            "prefills_since": [0] * n,
            "warmup": [False] * n,
            "rounds": [40] * n,
            "round_ms": times,
            "context": context,
            "excluded": [None] * n,
            "mixed": [False] * n,
        },
        schema_overrides={
            "dp_rank": pl.Int64,
            "pp_rank": pl.Int64,
            "tp_rank": pl.Int64,
            "excluded": pl.String,
        },
    )


def arm(*runs: pl.DataFrame, resamples: int = 600) -> Side:
    """One arm of runs that are repeats of each other."""
    return Side(list(runs), resamples=resamples)
