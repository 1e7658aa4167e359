"""Do 95 % intervals hold the truth in 95 % of runs whose windows repeat each other?"""

from __future__ import annotations

import numpy as np
import polars as pl

from bench.validate import Data, Section
from speclog.analysis.breakeven import compare
from speclog.analysis.side import Side

TRIALS, WINDOWS, RESAMPLES = 500, 60, 500
CORRELATIONS = (0.3, 0.5, 0.7, 0.9)
FEW = ((5, 0.5), (7, 0.5), (12, 0.3), (12, 0.9), (24, 0.7))
BASE, SPEC, TAU = (4.6, 0.0005), (6.5, 0.0022), 2.1
TEXT = f"""Simulated runs of {WINDOWS} windows a side: contexts in a saw-tooth of nine windows a
request, round time scattering by 1 % and accept length by 3 %, both first-order autoregressive with
lag-1 correlation r. {TRIALS} trials each, seeded. An interval that took windows as independent would
be far too short. A dozen windows that repeat each other closely cannot tell by how much; fewer than
eight are taken to repeat each other by r = 0.5, as nothing tells."""


def section(data: Data) -> Section:
    del data
    found = Section("Coverage of the intervals", TEXT)
    for correlation in CORRELATIONS:
        star, speedup, width = covered(correlation, WINDOWS, TRIALS)
        shown = f"tau_star {star:.1f} %, S {speedup:.1f} % (median width of S {width:.1f} %)"
        holds = all(92 <= share <= 98 for share in (star, speedup))
        found.claim(f"95 % intervals hold the truth, r = {correlation}", "92 to 98 %", shown, holds)
    for n, correlation in FEW:
        star, speedup, width = covered(correlation, n, TRIALS)
        shown = f"tau_star {star:.1f} %, S {speedup:.1f} % (median width of S {width:.1f} %)"
        found.claim(f"with {n} windows, r = {correlation} (shown, not claimed)", "-", shown, None)
    return found


def covered(correlation: float, n: int, trials: int) -> tuple[float, float, float]:
    """Shares of trials (%) whose intervals of tau_star and S hold the truth; median width of S (%)."""
    hits, widths = np.zeros(2), []
    for trial in range(trials):
        rng = np.random.default_rng([n, round(10 * correlation), trial])
        candidate, baseline = run(rng, *SPEC, n, correlation, TAU), run(rng, *BASE, n, correlation, 1.0)
        row = compare(*(Side([frame], resamples=RESAMPLES) for frame in (candidate, baseline))).row(
            0, named=True
        )
        truth = (SPEC[0] + SPEC[1] * row["context"]) / (BASE[0] + BASE[1] * row["context"])
        hits += [
            row["tau_star_lo"] <= truth <= row["tau_star_hi"],
            row["speedup_lo"] <= TAU / truth <= row["speedup_hi"],
        ]
        widths.append(100 * (row["speedup_hi"] / row["speedup_lo"] - 1))
    star, speedup = 100 * hits / trials
    return float(star), float(speedup), float(np.median(widths))


def run(rng: np.random.Generator, a: float, c: float, n: int, correlation: float, tau: float) -> pl.DataFrame:
    """Rows of view decode_window of one simulated run at batch size 1."""
    context = 170.0 + np.arange(n) % 9 * 50
    times = (a + c * context) * (1 + 0.01 * waves(rng, n, correlation))
    taus = np.ones(n) if tau == 1 else tau * (1 + 0.03 * waves(rng, n, correlation))
    return pl.DataFrame(
        {
            "running_req": 1,
            "source_index": 0,
            "line_no": np.arange(n),
            "dp_rank": 0,
            "pp_rank": 0,
            "tp_rank": 0,
        }
        | {
            "graph": True,
            "mixed": False,
            "rounds": 40,
            "excluded": None,
            "context": context,
            "round_ms": times,
            "tau": taus,
        },
        schema_overrides={"excluded": pl.String()},
    )


def waves(rng: np.random.Generator, n: int, correlation: float) -> np.ndarray:
    """A first-order autoregressive series of variance 1, started in its steady state."""
    steps = rng.standard_normal(n)
    values = np.empty(n)
    values[0] = steps[0]
    for place in range(1, n):
        values[place] = correlation * values[place - 1] + np.sqrt(1 - correlation**2) * steps[place]
    return values
