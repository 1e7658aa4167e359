"""The 2-step run predicted from the 5-step run's acceptance histogram and phases."""

from __future__ import annotations

from typing import Any

import polars as pl

from bench.validate import Data, Section
from speclog.analysis.breakeven import compare
from speclog.analysis.whatif import best_steps

FIVE, TWO, BASE = "profiled-eagle3-s5-a2.1", "profiled-eagle3-s2-a2.1", "profiled-base"
TEXT = """From the profiled 5-step run alone (its lines, acc_hist and draft time) and the profiled baseline:
what would 2 steps do, at the context at which the measured 2-step run is compared? Verify is held
at its measured time. The two servers are different processes: what processes differ by is in the
difference.

The 2-step run served batches of equal requests only (8 x 128 tokens), the 5-step run such batches and,
from bench_serving, batches that mix prompts of 130 to 316 tokens. `#token / b` is the mean context of a
batch, and attention waits for the longest request: at b = 8 the mixed rounds take 4 % more than the equal
ones at the same mean. Like is predicted from like; the last rows show what the other windows would have
said. One draft forward of the 2-step run takes 0.31 ms where four of the 5-step run take 1.11 ms: the
first carries a fixed cost of some 0.04 ms that a quarter of the draft time spreads over all."""


def section(data: Data) -> Section:
    found = Section("Two steps from five", TEXT)
    if not data.has(FIVE, TWO, BASE):
        found.claim("round time and S of the 2-step run", "within 3 %", "the logs are not here", None)
        return found
    for row in compare(data.side(TWO), data.side(BASE)).iter_rows(named=True):
        _claim(found, data, row, mixed=False)
        if row["batch_size"] > 1:
            _claim(found, data, row, mixed=True)
    return found


def _claim(found: Section, data: Data, row: dict[str, Any], *, mixed: bool) -> None:
    table = best_steps(
        data.profile(FIVE), data.side(FIVE), data.side(BASE), contexts=[row["context"]], mixed=mixed
    )
    guess = table.filter(pl.col("batch_size") == row["batch_size"], pl.col("steps") == 2).row(0, named=True)
    off_ms = 100 * (guess["t_round_ms"] / row["t_spec_ms"] - 1)
    off_s = 100 * (guess["speedup"] / row["speedup"] - 1)
    shown = f"{guess['t_round_ms']:.3f} for {row['t_spec_ms']:.3f} ms: {off_ms:+.2f} %"
    spread = f"({guess['speedup_lo']:.3f} to {guess['speedup_hi']:.3f})"
    shown_s = f"{guess['speedup']:.3f} {spread} for {row['speedup']:.3f}: {off_s:+.2f} %"
    context = f"b = {row['batch_size']}, L = {row['context']:.0f}"
    context += ", from the 5-step run's mixed batches" if mixed else ""
    expected = "more: other batches" if mixed else "within 3 %"
    found.claim(f"round time, {context}", expected, shown, None if mixed else abs(off_ms) <= 3)
    found.claim(
        f"speedup, {context}", expected.replace("more", "less"), shown_s, None if mixed else abs(off_s) <= 3
    )
