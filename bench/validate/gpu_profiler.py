"""The profiler on a GPU: what it costs, and that its phases are the round."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import mean, median

from bench.validate import Data, Section
from bench.validate.gpu import DATA, visit

TEXT = """One H200, SGLang 0.5.14: four servers on one GPU took turns (off, on, on, off), so that blocks of the same requests
alternate within seconds (`tests/gpu/profiler_visit.py`). Costs are of client-side throughput, one ratio a complete quad.
On SGLang 0.5.15.post1 the plain server attached and was measured too (its phases and its decode lines agree within
0.12 %); its EAGLE-3 worker could not start there for want of a package that has nothing to do with the profiler."""
FIELDS = "draft_ms + vprep_ms + verify_ms + accept_ms + extend_ms + gap_ms"


def costs() -> dict[str, list[float]]:
    """Throughput on against off in per cent, by kind of request, one number a complete quad."""
    text = (DATA / "h200-profiler" / "blocks.jsonl").read_text(encoding="utf-8")
    speeds: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: {"on": [], "off": []})
    for block in map(json.loads, text.splitlines()):
        key = f"{block['kind']}, {block['at_once']} at once, prompt {block['prompt']}"
        speeds[key, block["quad"]][block["arm"]].append(block["tok_s"])
    found: dict[str, list[float]] = defaultdict(list)
    for (key, _), arms in speeds.items():
        if len(arms["on"]) == len(arms["off"]):
            found[key].append(100 * (mean(arms["on"]) / mean(arms["off"]) - 1))
    return found


def line_at(points: list[tuple[float, float]], context: float) -> float:
    """The least-squares line through (context, ms) points, at a context."""
    mx, my = mean(x for x, _ in points), mean(y for _, y in points)
    slope = sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)
    return my + slope * (context - mx)


def section(_: Data) -> Section:
    found = Section("The profiler on one H200", TEXT)
    for key, percents in costs().items():
        shown = f"{mean(percents):+.2f} % (quads {', '.join(f'{p:+.2f}' for p in percents)})"
        found.claim(f"throughput on against off: {key}", "within 1 %", shown, abs(mean(percents)) <= 1)
    with visit("h200-profiler") as data:
        for name, total in (("base-on", "fwd_ms + gap_ms"), ("eagle3-on", FIELDS)):
            rows = data.store.rows(
                f"SELECT cycle_ms, {total}, seq, bs FROM profile_window JOIN run USING (run_id) "  # noqa: S608
                "WHERE name = ? AND part = 0",
                [name],
            )
            worst = max(100 * abs(parts / cycle - 1) for cycle, parts, _, _ in rows)
            found.claim(
                f"phases + gap = cycle, {name}",
                "within 0.5 %",
                f"worst of {len(rows)}: {worst:.3f} %",
                worst < 0.5,
            )
            missing = sum(seq is None for _, _, seq, _ in rows)
            found.claim(
                f"context length on every window, {name}",
                "all",
                f"{len(rows) - missing} of {len(rows)}",
                not missing,
            )
            mine = line_at([(seq, cycle) for cycle, _, seq, bs in rows if bs == 1 and seq < 700], 400)
            clean = data.store.rows(
                "SELECT context, round_ms FROM decode_window JOIN run USING (run_id) WHERE name = ? AND excluded IS NULL "
                "AND running_req = 1 AND context < 700",
                [name],
            )
            middle = median(y for _, y in clean)
            theirs = line_at([(x, y) for x, y in clean if abs(y / middle - 1) < 0.1], 400)
            off = 100 * (mine / theirs - 1)
            found.claim(
                f"cycle_ms against the decode lines at 400 tokens, {name}", "within 1 %", f"{mine:.3f} and {theirs:.3f} ms: {off:+.2f} %",
                abs(off) <= 1,
            )  # fmt: skip
    return found
