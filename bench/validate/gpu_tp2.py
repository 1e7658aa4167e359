"""Two H200s, TP2: the 2x2 of NCCL tuning and treatment, made real."""

from __future__ import annotations

from bench.validate import Data, Section
from bench.validate.gpu import interval, visit
from speclog.analysis.breakeven import compare
from speclog.analysis.worth import interaction
from speclog.report.explained import told

TEXT = """Two H200s joined by NVLink (NV18), TP2 through NCCL (SGLang's own all-reduce off, NVLink multicast off), profiler on
in every arm, accept length simulated at 2.1: `tests/gpu/factorial.py`, overlay nccl-pcie-ll off and on x baseline and
EAGLE-3 5/6. The overlay was tuned for eight GPUs on PCIe; here it is a factor like any other. The visit ended after five
of eight sessions, and the sweep of NCCL_PROTO was not run. The tuned EAGLE-3 arm alone has a repeat, and its two
sessions differ from each other by more than the tuning moves anything at batch size 1: nothing is claimed there."""
BASE, SPEC, TUNED = "llama8b-baseline_tp2", "llama8b-eagle3-5x6_tp2", "_nccl-pcie-ll"


def section(_: Data) -> Section:
    found = Section("Two H200s: tuning x treatment", TEXT)
    with visit("h200-tp2") as data:
        pairs = data.store.rows("SELECT candidate_name, baseline_name, verdict FROM comparison")
        right = sum(v == ("fair" if (TUNED in c) == (TUNED in b) else "unfair") for c, b, v in pairs)
        found.claim(
            "same-environment pairs fair, cross pairs unfair",
            "6 of 6",
            f"{right} of {len(pairs)}",
            right == len(pairs) == 6,
        )
        off = compare(data.side(f"{SPEC}.r1"), data.side(f"{BASE}.r1"))
        on = compare(data.side(f"{SPEC}{TUNED}.r1", f"{SPEC}{TUNED}.r2"), data.side(f"{BASE}{TUNED}.r1"))
        lines = [
            "| batch size | tuning | baseline step ms | EAGLE-3 round ms | break-even | speedup |",
            "|---|---|---|---|---|---|",
        ]
        for plain, tuned in zip(off.iter_rows(named=True), on.iter_rows(named=True), strict=True):
            for label, row in (("off", plain), ("on", tuned)):
                lines.append(
                    f"| {row['batch_size']} | {label} | {row['t_base_ms']:.3f} | {row['t_spec_ms']:.3f} "
                    f"| {interval(row, 'tau_star')} | {interval(row, 'speedup')} |"
                )
            size = plain["batch_size"]
            base_gain, spec_gain = (
                plain["t_base_ms"] / tuned["t_base_ms"],
                plain["t_spec_ms"] / tuned["t_spec_ms"],
            )
            cells = (
                (f"{BASE}.r1",),
                (f"{BASE}{TUNED}.r1",),
                (f"{SPEC}.r1",),
                (f"{SPEC}{TUNED}.r1", f"{SPEC}{TUNED}.r2"),
            )
            alike = interaction([data.side(*names) for names in cells], size)
            shown = alike if isinstance(alike, str) else told(alike)
            lines.append(f"| {size} | off/on | x{base_gain:.3f} | x{spec_gain:.3f} | | interaction {shown} |")
            apart = abs(plain["tau"] / tuned["tau"] - 1) * 100
            found.claim(
                f"accept length off and on, b = {size}", "equal within 2 %", f"{apart:.2f} % apart", apart < 2
            )
        share = data.store.rows(
            "SELECT r.name, p.bs, sum(p.verify_ms * p.n) / sum(p.cycle_ms * p.n) FROM profile_window AS p JOIN run AS r "
            "USING (run_id) WHERE p.kind = 'spec' AND NOT coalesce(p.warmup, false) AND p.bs IN (1, 8) GROUP BY ALL ORDER BY ALL"
        )
        lines += ["", "| session | batch size | verify's share of the round |", "|---|---|---|"]
        lines += [f"| {name} | {bs:.0f} | {100 * part:.1f} % |" for name, bs, part in share]
        found.table = "\n".join(lines)
    return found
