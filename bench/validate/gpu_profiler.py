"""The profiler on a GPU, on two SGLang versions: what it costs, and that its phases are the round."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import mean, median

from bench.validate import Data, Section
from bench.validate.gpu import DATA, visit

TEXT = """One H200 a version: four servers on one GPU took turns (off, on, on, off), so that blocks of the same requests
alternate within seconds (`tests/gpu/profiler_visit.py`). Costs are of client-side throughput, one ratio a complete quad.
On and off are two processes, and processes differ by up to a per cent by themselves: the plain server of 0.5.13.post1 is
0.9 % slower with the profiler in two kinds of request, while the profiler's own trial, which alternates rounds with and
without it inside that same process at equal context, finds a third of that (its interval is printed below). On SGLang
0.5.15.post1 only the plain server could be run there (its kernels want packages that have nothing to do with the profiler)."""
VISITS = {"0.5.14": "h200-profiler", "0.5.13.post1": "h200-profiler-0.5.13"}
SUMS = {
    "base-on": "fwd_ms + gap_ms",
    "eagle3-on": "draft_ms + vprep_ms + verify_ms + accept_ms + extend_ms + gap_ms",
}


def costs(folder: str) -> dict[str, list[float]]:
    """Throughput on against off in per cent, by arm and kind of request, one number a complete quad."""
    text = (DATA / folder / "blocks.jsonl").read_text(encoding="utf-8")
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


def cost(found: Section, version: str, folder: str) -> None:
    """A claim a kind of request."""
    for key, percents in costs(folder).items():
        shown = f"{mean(percents):+.2f} % (quads {', '.join(f'{p:+.2f}' for p in percents)})"
        holds = abs(mean(percents)) <= 1
        found.claim(f"{version}, {key}: throughput on against off", "within 1 %", shown, holds)


def trial(found: Section, version: str, data: Data, name: str) -> None:
    """The profiler's own on/off trial: the last line of a server holds all its windows."""
    lines, _ = data.ab(name)
    last = lines.row(-1, named=True)
    low, high = (float(end) for end in str(last["ci95_pct"]).split(","))
    shown = (
        f"{float(last['overhead_pct']):+.2f} % ({low:+.2f} to {high:+.2f}), {last['n_on']} rounds on and off"
    )
    found.claim(
        f"{version}, {name}: its own trial",
        "interval reaches into -1 to 1 %",
        shown,
        low <= 1 and high >= -1,
    )


def phases(found: Section, version: str, data: Data, name: str) -> None:
    """Phases and gap make the cycle, every window has its context, and the cycle is the decode lines' round."""
    rows = data.store.rows(
        f"SELECT cycle_ms, {SUMS[name]}, seq, bs FROM profile_window JOIN run USING (run_id) "  # noqa: S608
        "WHERE name = ? AND part = 0",
        [name],
    )
    worst = max(100 * abs(parts / cycle - 1) for cycle, parts, _, _ in rows)
    shown = f"worst of {len(rows)}: {worst:.3f} %"
    found.claim(f"{version}, {name}: phases + gap = cycle", "within 0.5 %", shown, worst < 0.5)
    known = sum(seq is not None for _, _, seq, _ in rows)
    shown = f"{known} of {len(rows)}"
    found.claim(f"{version}, {name}: context length on every window", "all", shown, known == len(rows))
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
        f"{version}, {name}: cycle_ms against the decode lines at 400 tokens",
        "within 1 %",
        f"{mine:.3f} and {theirs:.3f} ms: {off:+.2f} %",
        abs(off) <= 1,
    )


def section(_: Data) -> Section:
    found = Section("The profiler on one H200", TEXT)
    for version, folder in VISITS.items():
        cost(found, version, folder)
        with visit(DATA / folder) as data:
            for name in SUMS:
                trial(found, version, data, name)
                phases(found, version, data, name)
    return found
