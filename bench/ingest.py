"""How fast logs get into the store, against ripgrep, lnav and the loop people write; `make bench-ingest`.

Builds one file at a time in a temporary directory, runs every contestant on it as a process of its own, and
prints (and writes into docs/performance.md) MB/s, CPU time, peak memory and ratios. MB is 10^6 bytes.
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
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench import section

REAL = section.ROOT.parent / "shared" / "logs" / "rtxpro6000-kimi" / "sglang-optimized.log"
GB = 1_000_000_000
KINDS = ("sparse", "sparse, varied", "one server", "dense")
ONCE = ("sparse, varied", "one server")
"""Measured in the first size only."""
REPEATS = 3
"""Runs of speclog on the first size; the median counts."""

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

POLARS = """
import sys
import polars as pl
line = pl.col("line")
parts = (
    pl.scan_lines(sys.argv[1], name="line")
    .filter(line.str.contains("Decode batch", literal=True))
    .select(line.str.split_exact(", ", 8).alias("part"))
    .unnest("part")
)
value = [pl.col(f"field_{i}").str.split_exact(": ", 1).struct.field("field_1").alias(f"field_{i}") for i in range(1, 9)]
rows = parts.select(pl.col("field_0").str.slice(1, 19).str.to_datetime("%Y-%m-%d %H:%M:%S"), *value).with_columns(
    pl.col("field_1", "field_2").cast(pl.Int64), pl.col("field_3").cast(pl.Float64)
)
print(rows.collect(engine="streaming").height)
"""
"""Decode lines cut at their separators and no more: one kind of line, one shape of it, no store."""

LNAV_FORMAT = {
    "sglang_log": {
        "title": "SGLang",
        "regex": {
            "std": {
                "pattern": r"^\[(?<timestamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[^\]]*\] (?<body>(?:Decode batch, "
                r"#running-req: (?<running>\d+), #token: (?<token>\d+), token usage: (?<usage>[\d.]+), "
                r"(?:accept len: (?<len>[\d.]+), accept rate: (?<rate>[\d.]+), )?cuda graph: (?<graph>\w+), "
                r"gen throughput \(token/s\): (?<tput>[\d.]+), #queue-req: (?<queue>\d+))?.*)$"
            }
        },
        "timestamp-format": ["%Y-%m-%d %H:%M:%S"],
        "value": {name: {"kind": "integer"} for name in ("running", "token", "queue")}
        | {name: {"kind": "float"} for name in ("usage", "len", "rate", "tput")}
        | {"graph": {"kind": "string"}},
        "sample": [{"line": "[2026-01-29 01:16:05] Decode batch, #running-req: 1, #token: 2, token usage: 0.00, "
                            "cuda graph: True, gen throughput (token/s): 3.00, #queue-req: 0"}],
    }
}  # fmt: skip
"""The eight values of the Python loop, in lnav's words: a catch-all behind them, as a log has other lines too."""
LNAV_QUERY = (
    ";SELECT count(*), avg(running), sum(token), avg(usage), avg(len), avg(rate), count(graph), max(tput), max(queue) "
    "FROM sglang_log WHERE tput IS NOT NULL"
)


@dataclass(frozen=True)
class Run:
    """One process: wall and CPU seconds, peak resident memory in MB, what it printed."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    out: str


def measure(command: list[str], **env: str) -> Run:
    """Run a command to its end. Raises SystemExit with its output when it fails."""
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=section.environment() | env,
        cwd=section.ROOT,
    )
    out = process.stdout.read().decode("utf-8", "replace") if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if process.returncode:
        raise SystemExit(f"{command[0]} failed: {out[-2000:]}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, out)


def days_later(text: bytes, days: list[str], by: int) -> bytes:
    """A log with every date in it moved."""
    for day in reversed(days):
        later = (dt.date.fromisoformat(day) + dt.timedelta(days=by)).isoformat()
        text = text.replace(f"[{day} ".encode(), f"[{later} ".encode())
    return text


def repeat(path: Path, head: bytes, text: bytes, size: int) -> None:
    """The head once, then the text again and again, each copy some days after the one before."""
    days = sorted({day.decode() for day in re.findall(rb"\[(\d{4}-\d\d-\d\d) ", text)})
    with path.open("wb") as file:
        file.write(head)
        copy = 0
        while file.tell() < size:
            file.write(days_later(text, days, copy * len(days)))
            copy += 1


def sparse(path: Path, size: int) -> None:
    """The real log again and again: 96 % access lines, and a restart in every copy."""
    repeat(path, b"", real(), size)


def sparse_varied(path: Path, size: int) -> None:
    """The same, but no two start-ups alike: ports, seeds, times and memory figures differ from copy to copy."""
    r = random.Random(3)
    lines = real().splitlines(keepends=True)
    ready = next(i for i, line in enumerate(lines) if b"ready to roll" in line) + 1
    head, rest = b"".join(lines[:ready]), b"".join(lines[ready:])
    days = sorted({day.decode() for day in re.findall(rb"\[(\d{4}-\d\d-\d\d) ", head + rest)})
    with path.open("wb") as file:
        copy = 0
        while file.tell() < size:
            file.write(days_later(varied(head, r) + rest, days, copy * len(days)))
            copy += 1


def varied(head: bytes, r: random.Random) -> bytes:
    """A start-up with other ports and another seed, times and memory figures."""
    head = re.sub(rb"(?<=random_seed=)\d+", lambda _: b"%d" % r.randrange(10**9), head)
    head = re.sub(rb"(?<=[ ,(_]port=)\d+", lambda _: b"%d" % r.randrange(1024, 65536), head)
    return re.sub(
        rb"((?:elapsed=|mem usage=|avail mem=|mem=)\d+\.)\d+",
        lambda m: m[1] + b"%02d" % r.randrange(100),
        head,
    )


def one_server(path: Path, size: int) -> None:
    """The same with its start-up once: a server that stayed up."""
    lines = real().splitlines(keepends=True)
    ready = next(i for i, line in enumerate(lines) if b"ready to roll" in line) + 1
    repeat(path, b"".join(lines[:ready]), b"".join(lines[ready:]), size)


def real() -> bytes:
    return REAL.read_bytes() if REAL.is_file() else stand_in()


def stand_in() -> bytes:
    """Lines in the proportions of the real log, where that is not at hand."""
    r = random.Random(1)
    lines = [
        "[2026-01-28 22:11:32] server_args=ServerArgs(model_path='m', tp_size=8, speculative_algorithm=None)",
        "[2026-01-28 22:11:59] The server is fired up and ready to roll!",
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
    head = "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='m', tp_size=8, speculative_algorithm='EAGLE3')\n"
    lines = []
    for _ in range(min(300_000, size // 190)):
        now += dt.timedelta(seconds=r.random() < 0.28)
        stamp = f"[{now:%Y-%m-%d %H:%M:%S} TP0]"
        lines.append(decode_line(r, stamp) if r.random() < 0.96 else (
            f"{stamp} Prefill batch, #new-seq: 1, #new-token: {r.randrange(64, 8192)}, #cached-token: 0, "
            f"token usage: 0.10, #running-req: 3, #queue-req: 0, #pending-token: 0, cuda graph: False, "
            f"input throughput (token/s): {9000 * r.random():.2f}"
        ))  # fmt: skip
    repeat(path, head.encode(), ("\n".join(lines) + "\n").encode(), size)


BUILD = {"sparse": sparse, "sparse, varied": sparse_varied, "one server": one_server, "dense": dense}


@contextmanager
def log_of(kind: str, gigabytes: float, folder: Path) -> Iterator[Path]:
    """A log of a size, in the page cache; gone afterwards. Raises SystemExit when the disk is too full."""
    size = int(gigabytes * GB)
    free = shutil.disk_usage(folder).free
    if free < 1.3 * size + GB:
        raise SystemExit(f"{folder}: {free / GB:.1f} GB free, {1.3 * size / GB + 1:.1f} needed; set TMPDIR")
    path = folder / "bench.log"
    BUILD[kind](path, size)
    with path.open("rb", buffering=0) as file:
        os.fsync(file.fileno())  # else it is still being written to disk beside whoever is measured first
        while file.read(16 << 20):
            pass
    try:
        yield path
    finally:
        path.unlink()


def speclog(path: Path) -> Run:
    """`speclog ingest` into a new store."""
    store = path.with_name("store.duckdb")
    try:
        command = [sys.executable, "-m", "speclog", "--store", str(store), "ingest", str(path)]
        # An installed package has its byte code; a checkout may be told not to write any.
        return measure(
            command, PYTHONPATH=str(section.ROOT), PYTHONPYCACHEPREFIX=str(path.with_name("pycache"))
        )
    finally:
        for old in path.parent.glob("store.duckdb*"):
            old.unlink()


def rivals(path: Path) -> dict[str, Run]:
    """What people use instead, where it is installed."""
    found = {
        "polars alone, decode lines only": measure([sys.executable, "-c", POLARS, str(path)]),
        "Python re loop": measure([sys.executable, "-c", LOOP, str(path)]),
    }
    if shutil.which("rg"):
        found["ripgrep, counting"] = measure(["rg", "-c", "Decode batch", str(path)])
    return found | lnav(path)


def lnav(path: Path) -> dict[str, Run]:
    """One SQL aggregate over a declared format, where lnav is installed."""
    if not shutil.which("lnav"):
        return {}
    home = path.with_name("lnav")
    formats = home / ".config" / "lnav" / "formats" / "sglang"
    formats.mkdir(parents=True, exist_ok=True)
    (formats / "sglang.json").write_text(
        json.dumps({"$schema": "https://lnav.org/schemas/format-v1.schema.json"} | LNAV_FORMAT)
    )
    run = measure(["lnav", "-n", "-c", LNAV_QUERY, str(path)], HOME=str(home))
    shutil.rmtree(home)
    return {"lnav, one query": run}


def row(name: str, size: int, run: Run, base: Run | None = None) -> str:
    """One line of the table; ``base`` is speclog's run on the same file."""
    ratio = f"{run.wall_s / base.wall_s:.2f}" if base else "1"
    return (
        f"| {name} | {size / GB:.2f} GB | {run.wall_s:.1f} | {size / 1e6 / run.wall_s:,.0f} | "
        f"{size / 1e6 / run.cpu_s:,.0f} | {run.rss_mb:,.0f} | {ratio} |"
    )


def table(sizes: list[float], folder: Path) -> Iterator[str]:
    """All measurements as rows of a Markdown table, as they come; the first size is everyone's."""
    yield (
        f"Measured {dt.date.today()} on {os.cpu_count()} cores of {section.processor()} (load {os.getloadavg()[0]:.1f} when it began), "
        f"Python {sys.version.split()[0]}, {versions()}. Page cache warm; the first size is the median of {REPEATS}."
    )
    yield ""
    yield "| what | file | s | MB/s | MB per CPU second | peak MB | time, speclog = 1 |"
    yield "|---|---|---|---|---|---|---|"
    for kind in KINDS:
        for size in sizes if kind not in ONCE else sizes[:1]:
            with log_of(kind, size, folder) as path:
                n = path.stat().st_size
                runs = [speclog(path) for _ in range(REPEATS if size == sizes[0] else 1)]
                mine = sorted(runs, key=lambda run: run.wall_s)[len(runs) // 2]
                yield row(f"**speclog ingest, {kind}**", n, mine)
                beside = rivals if size == sizes[0] and kind != "sparse, varied" else lnav
                for name, run in beside(path).items():
                    yield row(f"{name}, {kind}", n, run, mine)


def versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "numpy"))


def main() -> None:
    """Measure, print, publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 2, 4], help="gigabytes")
    parser.add_argument("--quick", action="store_true", help="0.25 GB only; the page stays as it is")
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(prefix="speclog-bench-") as name:
        folder = Path(name)
        tiny = folder / "tiny.log"
        tiny.write_bytes(real()[:200_000])
        speclog(tiny)  # byte code is compiled and the template of new stores made, once per machine
        for line in table([0.25] if options.quick else options.sizes, folder):
            print(line, flush=True)
            lines.append(line)
    if not options.quick:
        section.write("bench-ingest", lines)


if __name__ == "__main__":
    main()
