"""Figures into docs/performance.md: each benchmark replaces what stands between its own two markers."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


def write(name: str, lines: Sequence[str]) -> None:
    """Put ``lines`` between ``<!-- NAME begins -->`` and ``<!-- NAME ends -->``; all else stays."""
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    if not rest or not after:
        raise SystemExit(f"{PAGE}: no markers of {name}")
    PAGE.write_text("\n".join([before + begin, *lines, end]) + after, encoding="utf-8")


def machine() -> str:
    """Where and when: said in every section."""
    import duckdb

    load = os.getloadavg()[0]
    return (
        f"Measured {date.today()} on {os.cpu_count()} cores of {processor()}, load {load:.1f} when it began; "
        f"Python {platform.python_version()}, DuckDB {duckdb.__version__}. Each command is a process of its own."
    )


def processor() -> str:
    """What the processor calls itself, with its generation: two of a name can be years apart."""
    told: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            told.setdefault(name.strip(), value.strip())
    name = told.get("model name") or platform.machine()
    return f"{name} (family {told['cpu family']}, model {told['model']})" if "cpu family" in told else name


def environment() -> dict[str, str]:
    """The environment of a measured command: an installed speclog has its bytecode, so it may be kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(target: str, arguments: Sequence[str]) -> tuple[float, float, int]:
    """Run ``speclog --store TARGET ARGUMENTS``: (wall seconds, CPU seconds, exit code)."""

    def cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    began, before = time.perf_counter(), cpu()
    done = subprocess.run(
        [sys.executable, "-m", "speclog", "--store", target, *arguments],
        capture_output=True,
        text=True,
        env=environment(),
    )
    if done.returncode:
        print("  " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return time.perf_counter() - began, cpu() - before, done.returncode


def table(target: str, questions: dict[str, list[str]], rounds: int) -> list[str]:
    """Time every question ``rounds`` times; the best of each as rows of a table, printed as they come."""
    lines = ["| question | wall s | CPU s |", "|---|---|---|"]
    for name, arguments in questions.items():
        found = [timed(target, arguments) for _ in range(rounds)]
        wall, cpu, code = min(found)
        lines.append(f"| {name} | {wall:.2f} | {cpu:.2f} |" + (f" exit {code}" if code else ""))
        print(lines[-1], flush=True)
    return lines
