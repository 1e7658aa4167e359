"""One H200, `speclog launch`: pairs that are fair without anybody vouching."""

from __future__ import annotations

from bench.validate import Data, Section
from bench.validate.gpu import DATA, interval, visit
from speclog.analysis.breakeven import compare

TEXT = """One H200 (driver 580.159.04), SGLang 0.5.14, Llama-8B shape, dummy weights, accept length simulated at 2.1:
`tests/gpu/launch_visit.py` ran the profiles llama8b-baseline, -eagle3-5x6 and -eagle3-2x3 interleaved. The visit ended
before the second baseline, so intervals are within-run. The sixth session is the one that is missing."""
BASE = "llama8b-baseline.r1"
ARMS = {"EAGLE-3 5/6": "llama8b-eagle3-5x6", "EAGLE-3 2/3": "llama8b-eagle3-2x3"}


def section(_: Data) -> Section:
    found = Section("Launched on one H200: fair by construction", TEXT)
    with visit(DATA / "h200-launch") as data:
        verdicts = data.store.rows("SELECT verdict, vouched FROM comparison")
        fair = sum(verdict == "fair" and not vouched for verdict, vouched in verdicts)
        found.claim(
            "pairs fair with no annotation",
            "4 of 4",
            f"{fair} of {len(verdicts)}",
            fair == len(verdicts) == 4,
        )
        lines = ["| arm | batch size | accept length | break-even | speedup |", "|---|---|---|---|---|"]
        for arm, name in ARMS.items():
            rows = [compare(data.side(f"{name}.{r}"), data.side(BASE)) for r in ("r1", "r2")]
            for first, second in zip(*(frame.iter_rows(named=True) for frame in rows), strict=True):
                apart = 100 * abs(first["speedup"] / second["speedup"] - 1)
                found.claim(
                    f"speedup of two sessions, {arm}, b = {first['batch_size']}",
                    "within 1 %",
                    f"{apart:.2f} % apart",
                    apart < 1,
                )
            pooled = compare(data.side(f"{name}.r1", f"{name}.r2"), data.side(BASE))
            lines += [
                f"| {arm} | {row['batch_size']} | {row['tau']:.2f} | {interval(row, 'tau_star')} | {interval(row, 'speedup')} |"
                for row in pooled.iter_rows(named=True)
            ]
        found.table = "\n".join(lines)
    return found
