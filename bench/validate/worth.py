"""Gains and interactions: do their intervals hold the truth, and does the story come out as it is told?"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.validate import ROOT, Data, Section
from bench.validate.coverage import BASE, SPEC, TAU, run
from speclog.analysis.attribution import BASELINE, CANDIDATE, WITH, Attribution, explain
from speclog.analysis.design import load
from speclog.analysis.side import Side
from speclog.analysis.worth import effect, interaction
from speclog.ingest.api import ingest_paths
from speclog.store import open_store

TRIALS, WINDOWS, RESAMPLES = 200, 60, 400
GAINS = (1.41, 1.2)
TEXT = f"""Four simulated cells (plain and speculative, each without and with a setting that is worth x{GAINS[0]} to the one and
x{GAINS[1]} to the other), {WINDOWS} windows each, scattering and correlated as in the section on coverage; {TRIALS} trials,
seeded. Then the story's logs: what six NCCL variables are worth on the baseline, and what is not known without the missing
run."""


def section(data: Data) -> Section:
    del data
    found = Section("What a confounder is worth", TEXT)
    for correlation in (0.3, 0.7):
        gain, alike = covered(correlation)
        shown = f"gain {gain:.1f} %, interaction {alike:.1f} %"
        holds = all(91 <= share <= 99 for share in (gain, alike))
        found.claim(f"95 % intervals hold the truth, r = {correlation}", "91 to 99 %", shown, holds)
    _story(found)
    return found


def covered(correlation: float) -> tuple[float, float]:
    """Shares of trials (%) whose intervals of the baseline's gain and of the interaction hold the truth."""
    hits = np.zeros(2)
    for trial in range(TRIALS):
        rng = np.random.default_rng([round(10 * correlation), trial])
        cells = [
            Side([run(rng, a / gain, c / gain, WINDOWS, correlation, tau)], resamples=RESAMPLES)
            for (a, c), tau, most in ((BASE, 1.0, GAINS[0]), (SPEC, TAU, GAINS[1]))
            for gain in (1.0, most)
        ]
        gained, alike = effect(*cells[:2], 1), interaction(cells, 1)
        if isinstance(gained, str) or isinstance(alike, str):
            continue
        hits += [
            gained.gain.low <= GAINS[0] <= gained.gain.high,
            alike.low <= GAINS[1] / GAINS[0] <= alike.high,
        ]
    gain, both = 100 * hits / TRIALS
    return float(gain), float(both)


def _story(found: Section) -> None:
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "s.duckdb")
        ingest_paths([ROOT / "examples/logs/kimi-k25-story"], store_target=target, lock_timeout=20.0)
        with open_store(target) as store:
            ids = dict(store.rows("SELECT name, run_id FROM run"))
            sql = "SELECT * FROM decode_window WHERE run_id = ? ORDER BY source_index, line_no"

            def side(runs: object) -> Side:
                return Side([store.frame(sql, [run_id]) for run_id in runs])  # type: ignore[attr-defined]

            names = ("eagle3-5x6-untuned", "baseline-fresh", "baseline-retuned")
            told = explain(load(store, list(ids.values())), side, *(ids[name] for name in names))
    assert isinstance(told, Attribution), told
    pair = told.pairs[ids["baseline-fresh"], ids["baseline-retuned"]]
    assert not isinstance(pair, str), pair
    gain = pair.gain
    shown = f"x{gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f}, {gain.kind})"
    found.claim(
        "six NCCL variables on the baseline", "x1.41 within 0.02", shown, abs(gain.value - 1.41) <= 0.02
    )
    pooled = told.effects[BASELINE]
    if not isinstance(pooled, str):
        span = pooled.gain
        shown = f"x{span.value:.3f} ({span.low:.3f} to {span.high:.3f}, {span.kind})"
        found.claim("the same, both tuned baselines pooled", "-", shown, None)
    found.claim(
        "on EAGLE-3", "the missing run", str(told.effects[CANDIDATE]), told.missing == [(CANDIDATE, WITH)]
    )
    if not isinstance(told.adjusted, str):
        made = told.adjusted
        shown = f"S = {made.speedup.value:.2f} if both gain alike, {made.if_no_gain:.2f} if it gains nothing"
        holds = made.if_no_gain < 1 < made.speedup.value
        found.claim("the missing run, estimated", "anything from a loss to a win", shown, holds)
