"""Two H200s, TP2: the 2x2 of NCCL tuning and treatment made real, and a sweep of NCCL_PROTO."""

from __future__ import annotations

from bench.validate import Data, Section
from bench.validate.gpu import DATA, TP2, interval, visit
from speclog.analysis.breakeven import compare
from speclog.analysis.side import Side
from speclog.analysis.worth import acceptance, effect, interaction
from speclog.report.explained import told

TEXT = """Two H200s joined by NVLink (NV18), TP2 through NCCL (SGLang's own all-reduce off, NVLink multicast off), profiler on
in every arm, accept length simulated at 2.1: `tests/gpu/factorial.py`, overlay nccl-pcie-ll off and on x baseline and
EAGLE-3 5/6, two sessions a cell, interleaved, then the plain server under each NCCL_PROTO, one session each. The overlay
was tuned for eight GPUs on PCIe; over NVLink it is worth nothing to either arm beyond a per cent, and less than nothing
to EAGLE-3 at batch size 8, while NCCL_PROTO alone costs a third when it is set wrong. An earlier visit that ended after
five sessions had the two tuned EAGLE-3 sessions 10 % apart at batch size 1: here the sessions of a cell agree within 0.3 %."""
BASE, SPEC, TUNED = "llama8b-baseline_tp2", "llama8b-eagle3-5x6_tp2", "_nccl-pcie-ll"
PROTO = "llama8b-baseline_tp2_NCCL_PROTO_{}.r1"
VERIFY = """SELECT r.name, p.bs, sum(p.verify_ms * p.n) / sum(p.cycle_ms * p.n), sum(p.host_ms * p.n) / sum(p.cycle_ms * p.n)
FROM profile_window AS p JOIN run AS r USING (run_id)
WHERE p.kind = 'spec' AND p.part = 0 AND NOT coalesce(p.warmup, false) AND p.bs IN (1, 8) GROUP BY ALL ORDER BY ALL"""


def verdicts(found: Section, data: Data) -> None:
    """Same-environment pairs must be fair and cross pairs unfair, in both directions."""
    pairs = data.store.rows("SELECT candidate_name, baseline_name, verdict FROM comparison")
    right = sum(v == ("fair" if (TUNED in c) == (TUNED in b) else "unfair") for c, b, v in pairs)
    shown = f"{right} of {len(pairs)}"
    found.claim(
        "same-environment pairs fair, cross pairs unfair", "16 of 16", shown, right == len(pairs) == 16
    )


def cell_rows(cells: list[Side]) -> list[str]:
    """The four cells at each batch size, what the tuning is worth to each arm, and the interaction."""
    lines = [
        "| batch size | tuning | baseline step ms | EAGLE-3 round ms | break-even | speedup |",
        "|---|---|---|---|---|---|",
    ]
    off, on = compare(cells[2], cells[0]), compare(cells[3], cells[1])
    for plain, tuned in zip(off.iter_rows(named=True), on.iter_rows(named=True), strict=True):
        size = plain["batch_size"]
        lines += [
            f"| {size} | {label} | {row['t_base_ms']:.3f} | {row['t_spec_ms']:.3f} "
            f"| {interval(row, 'tau_star')} | {interval(row, 'speedup')} |"
            for label, row in (("off", plain), ("on", tuned))
        ]
        gains = [effect(*cells[i : i + 2], size) for i in (0, 2)]
        base, spec = (gain if isinstance(gain, str) else told(gain.gain) for gain in gains)
        alike = interaction(cells, size)
        shown = alike if isinstance(alike, str) else told(alike)
        lines.append(f"| {size} | what it is worth | {base} | {spec} | | interaction {shown} |")
    return lines


def acceptances(found: Section, cells: list[Side]) -> None:
    """The tuning must leave the accept length alone: an equivalence test at 2 %, a batch size each."""
    for size in (1, 8):
        same = acceptance(cells[2], cells[3], size)
        shown = same if isinstance(same, str) else f"{told(same.ratio)}, p = {same.p:.3f}"
        holds = None if isinstance(same, str) else same.equivalent
        found.claim(f"accept length off and on, b = {size}", "equivalent within 2 %", shown, holds)


def sweep(found: Section) -> list[str]:
    """The plain server under each NCCL_PROTO against LL, and whether every pair of them is called unfair."""
    lines = ["| NCCL_PROTO | batch size | decode step ms | against LL |", "|---|---|---|---|"]
    with visit(DATA / "h200-tp2-sweep") as data:
        names = [PROTO.format(proto) for proto in ("LL", "LL128", "Simple")]
        ids = dict(data.store.rows("SELECT name, run_id FROM run"))
        unfair = 0
        for other in names[1:]:
            ((verdict, reasons),) = data.store.rows(
                "SELECT verdict, reasons FROM compare(?, ?)", [ids[other], ids[names[0]]]
            )
            unfair += verdict == "unfair" and "NCCL_PROTO" in reasons[0]
        found.claim(
            "settings of the sweep against LL", "unfair by NCCL_PROTO, 2 of 2", f"{unfair} of 2", unfair == 2
        )
        best = data.side(names[0])
        for size in (1, 8):
            for name in names[1:]:
                slower = effect(data.side(name), best, size)
                if isinstance(slower, str):
                    lines.append(f"| {name} | {size} | {slower} | |")
                    continue
                if name == names[1]:
                    lines.append(f"| LL | {size} | {slower.with_ms:.3f} | |")
                proto = name.removeprefix("llama8b-baseline_tp2_NCCL_PROTO_").removesuffix(".r1")
                lines.append(f"| {proto} | {size} | {slower.without_ms:.3f} | {told(slower.gain)} |")
    return lines


def section(_: Data) -> Section:
    found = Section("Two H200s: tuning x treatment", TEXT)
    with visit(TP2) as data:
        verdicts(found, data)
        arms = (BASE, BASE + TUNED, SPEC, SPEC + TUNED)
        cells = [data.side(f"{arm}.r1", f"{arm}.r2") for arm in arms]
        acceptances(found, cells)
        lines = cell_rows(cells)
        lines += [
            "",
            "| session | batch size | verify's share of the round | host's time against the round |",
        ]
        lines += ["|---|---|---|---|"]
        lines += [
            f"| {name} | {bs:.0f} | {100 * part:.1f} % | {100 * host:.1f} % |"
            for name, bs, part, host in data.store.rows(VERIFY)
        ]
    found.table = "\n".join([*lines, "", *sweep(found)])
    return found
