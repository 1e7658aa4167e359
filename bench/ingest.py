"""How fast logs get into the store, against ripgrep, lnav and the loop people write; `make bench-ingest`.

Builds its files under .bench/, runs every contestant as a process of its own, and prints (and writes into
docs/performance.md) MB/s, CPU time, peak memory and ratios. MB is 10^6 bytes.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / ".bench"
REAL = ROOT.parent / "shared" / "logs" / "rtxpro6000-kimi" / "sglang-optimized.log"
PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- bench-ingest begins -->", "<!-- bench-ingest ends -->")
GB = 1_000_000_000

LOOP = r"""
import re, sys
line_re = re.compile(
    r"\[(?P<ts>[\d-]+ [\d:]+)(?: [A-Z]+\d+)*\] Decode batch, #running-req: (?P<running>\d+), #token: (?P<token>\d+), "
    r"token usage: (?P<usage>[\d.]+), (?:accept len: (?P<len>[\d.]+), accept rate: (?P<rate>[\d.]+), )?"
    r"cuda graph: (?P<graph>\w+), gen throughput \(token/s\): (?P<tput>[\d.]+), #queue-req: (?P<queue>\d+)"
)
n = 0
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    if "Decode batch" in line:
        m = line_re.match(line)
        if m:
            n += 1
            row = (m["ts"], int(m["running"]), int(m["token"]), float(m["usage"]), float(m["tput"]), int(m["queue"]))
print(n)
"""

LNAV_FORMAT = {
    "sglang_log": {
        "title": "SGLang",
        "regex": {
            "std": {
                "pattern": r"^\[(?<timestamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[^\]]*\] (?<body>(?:Decode batch, "
                r"#running-req: (?<running>\d+), #token: (?<token>\d+), .*gen throughput \(token/s\): "
                r"(?<tput>[\d.]+))?.*)$"
            }
        },
        "timestamp-format": ["%Y-%m-%d %H:%M:%S"],
        "value": {
            "running": {"kind": "integer"},
            "token": {"kind": "integer"},
            "tput": {"kind": "float"},
        },
        "sample": [{"line": "[2026-01-29 01:16:05] Decode batch, #running-req: 1, #token: 2, token usage: 0.00, "
                            "cuda graph: True, gen throughput (token/s): 3.00, #queue-req: 0"}],
    }
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One process: wall and CPU seconds, peak resident memory in MB, what it printed."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    out: str


def measure(command: list[str], **env: str) -> Run:
    start = dt.datetime.now()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | env, cwd=ROOT
    )
    out = process.stdout.read().decode("utf-8", "replace") if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = (dt.datetime.now() - start).total_seconds()
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, out)


def sparse(path: Path, size: int) -> None:
    """The real log again and again, each copy some days after the one before: 96 % access lines."""
    data = REAL.read_bytes() if REAL.is_file() else stand_in()
    days = sorted(set(re.findall(rb"\[(\d{4}-\d\d-\d\d) ", data)))
    with path.open("wb") as file:
        copy = 0
        while file.tell() < size:
            text = data
            for day in reversed(days):
                later = dt.date.fromisoformat(day.decode()) + dt.timedelta(days=copy * len(days))
                text = text.replace(b"[" + day + b" ", b"[" + later.isoformat().encode() + b" ")
            file.write(text)
            copy += 1


def stand_in() -> bytes:
    """Lines in the proportions of the real log, where that is not at hand."""
    r = random.Random(1)
    lines = [
        "[2026-01-28 22:11:32] server_args=ServerArgs(model_path='m', tp_size=8, speculative_algorithm=None)"
    ]
    for i in range(13_800):
        stamp = f"[2026-01-28 22:{12 + i // 800:02d}:{i % 60:02d}"
        if i % 69 == 0:
            lines.append(decode_line(r, f"{stamp} TP0]"))
        else:
            lines.append(
                f'{stamp}] INFO:     127.0.0.1:{r.randrange(65536)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
            )
    return ("\n".join(lines) + "\n").encode()


def decode_line(r: random.Random, head: str) -> str:
    return (
        f"{head} Decode batch, #running-req: {r.randrange(1, 64)}, #token: {r.randrange(100, 400_000)}, "
        f"token usage: {r.random():.2f}, accept len: {1 + 4 * r.random():.2f}, accept rate: {r.random():.2f}, "
        f"cuda graph: True, gen throughput (token/s): {3000 * r.random():.2f}, #queue-req: 0"
    )


def dense(path: Path, size: int) -> None:
    """Nothing but batch lines (96 % decode), as with the access log off."""
    r, now = random.Random(1), dt.datetime(2026, 1, 1)
    with path.open("w", encoding="utf-8") as file:
        file.write(
            "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='m', tp_size=8, speculative_algorithm='EAGLE3')\n"
        )
        while file.tell() < size:
            lines = []
            for _ in range(50_000):
                now += dt.timedelta(seconds=r.random() < 0.3)
                head = f"[{now:%Y-%m-%d %H:%M:%S} TP0]"
                lines.append(decode_line(r, head) if r.random() < 0.96 else (
                    f"{head} Prefill batch, #new-seq: 1, #new-token: {r.randrange(64, 8192)}, #cached-token: 0, "
                    f"token usage: 0.10, #running-req: 3, #queue-req: 0, #pending-token: 0, cuda graph: False, "
                    f"input throughput (token/s): {9000 * r.random():.2f}"
                ))  # fmt: skip
            file.write("\n".join(lines) + "\n")


def build(kind: str, gigabytes: float) -> Path:
    path = BENCH / f"{kind}-{gigabytes:g}.log"
    if not path.is_file():
        print(f"building {path.relative_to(ROOT)}", flush=True)
        {"sparse": sparse, "dense": dense}[kind](path, int(gigabytes * GB))
    return path


def warm(path: Path) -> None:
    """Put the file into the page cache, so that no contestant pays for the disk."""
    with path.open("rb", buffering=0) as file:
        while file.read(16 << 20):
            pass


def speclog(path: Path) -> Run:
    store = BENCH / "store.duckdb"
    for old in BENCH.glob("store.duckdb*"):
        old.unlink()
    command = [sys.executable, "-m", "speclog", "--store", str(store), "ingest", str(path)]
    return measure(command, PYTHONPATH=str(ROOT))


def rivals(path: Path) -> dict[str, Run]:
    found = {"python re loop": measure([sys.executable, "-c", LOOP, str(path)])}
    if shutil.which("rg"):
        found["ripgrep, counting"] = measure(["rg", "-c", "Decode batch", str(path)])
    if shutil.which("lnav"):
        home = BENCH / "lnav"
        formats = home / ".config" / "lnav" / "formats" / "sglang"
        formats.mkdir(parents=True, exist_ok=True)
        (formats / "sglang.json").write_text(
            json.dumps({"$schema": "https://lnav.org/schemas/format-v1.schema.json"} | LNAV_FORMAT)
        )
        query = ";SELECT count(*), max(tput), avg(running) FROM sglang_log WHERE tput IS NOT NULL"
        found["lnav, one query"] = measure(["lnav", "-n", "-c", query, str(path)], HOME=str(home))
    return found


def row(name: str, path: Path, run: Run, base: Run | None = None) -> str:
    size = path.stat().st_size / 1e6
    ratio = f"{run.wall_s / base.wall_s:.1f}" if base else "1"
    return (
        f"| {name} | {size / 1000:.1f} GB | {size / run.wall_s:,.0f} | {size / run.cpu_s:,.0f} | "
        f"{run.rss_mb:,.0f} | {ratio} |"
    )


def table(sizes: list[float]) -> list[str]:
    """All measurements as rows of a Markdown table, printed as they come."""
    lines = [
        f"Measured {dt.date.today()} on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when it began; page cache warm.",
        "",
        "| what | file | MB/s | MB per CPU second | peak MB | time, speclog = 1 |",
        "|---|---|---|---|---|---|",
    ]
    for kind in ("sparse", "dense"):
        for size in sizes:
            path = build(kind, size)
            warm(path)
            mine = speclog(path)
            lines.append(row(f"**speclog ingest, {kind}**", path, mine))
            print(lines[-1], mine.out.strip()[-160:], flush=True)
            if size == sizes[0]:
                for name, run in rivals(path).items():
                    lines.append(row(f"{name}, {kind}", path, run, mine))
                    print(lines[-1], flush=True)
    return lines


def publish(lines: list[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    PAGE.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n" + text[end:], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 2, 4], help="gigabytes")
    parser.add_argument("--no-page", action="store_true", help="do not write docs/performance.md")
    options = parser.parse_args()
    BENCH.mkdir(exist_ok=True)
    lines = table(options.sizes)
    if not options.no_page:
        publish(lines)


if __name__ == "__main__":
    main()
