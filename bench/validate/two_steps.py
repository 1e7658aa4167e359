"""The 2-step run predicted from the 5-step run's acceptance histogram and phases."""

from __future__ import annotations

import polars as pl

from bench.validate import Data, Section
from speclog.analysis.breakeven import compare
from speclog.analysis.whatif import best_steps

FIVE, TWO, BASE = "profiled-eagle3-s5-a2.1", "profiled-eagle3-s2-a2.1", "profiled-base"
TEXT = """From the profiled 5-step run alone (its lines, acc_hist and draft time) and the profiled baseline:
what would 2 steps do, at the context at which the measured 2-step run is compared? Verify is held
at its measured time. The two servers are different processes: what processes differ by is in the
difference. At b = 8 the claim is shown but not made (12 and 10 windows; 3 to 4 % apart)."""


def section(data: Data) -> Section:
    found = Section("Two steps from five", TEXT)
    if not data.has(FIVE, TWO, BASE):
        found.claim("round time and S of the 2-step run", "within 3 %", "the logs are not here", None)
        return found
    five, two, base = (data.side(name) for name in (FIVE, TWO, BASE))
    for row in compare(two, base).iter_rows(named=True):
        size = row["batch_size"]
        table = best_steps(data.profile(FIVE), five, base, contexts=[row["context"]])
        guess = table.filter(pl.col("batch_size") == size, pl.col("steps") == 2).row(0, named=True)
        off_ms = 100 * (guess["t_round_ms"] / row["t_spec_ms"] - 1)
        off_s = 100 * (guess["speedup"] / row["speedup"] - 1)
        shown = f"{guess['t_round_ms']:.3f} for {row['t_spec_ms']:.3f} ms: {off_ms:+.2f} %"
        spread = f"({guess['speedup_lo']:.3f} to {guess['speedup_hi']:.3f})"
        shown_s = f"{guess['speedup']:.3f} {spread} for {row['speedup']:.3f}: {off_s:+.2f} %"
        made = size == 1
        context = f"b = {size}, L = {row['context']:.0f}"
        found.claim(f"round time, {context}", "within 3 %", shown, abs(off_ms) <= 3 if made else None)
        found.claim(f"speedup, {context}", "within 3 %", shown_s, abs(off_s) <= 3 if made else None)
    return found
