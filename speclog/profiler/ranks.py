"""Comparing the ranks of one server on one host.

Tensor-parallel ranks run the same rounds in step, so the rank whose verification is shortest is the one that
the others waited for in their collectives. Each rank leaves its newest windows in a small file of a folder
that the ranks share; rank 0 compares the newest window that all of them have. No rank ever waits for another.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from speclog.profiler.window import Fields, Window

KEPT = 8  # windows in a rank's file: how far the ranks' printing may drift apart


def folder() -> Path:
    """The ranks' common folder: EAGLE3_PROFILE_RANKS_DIR, or one that their common parent process names."""
    if os.environ.get("EAGLE3_PROFILE_RANKS_DIR"):
        return Path(os.environ["EAGLE3_PROFILE_RANKS_DIR"])
    owner = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"speclog-eagle3-{owner}-{os.getppid()}"


class Ranks:
    """One rank's view of the others: publish every window, and on rank 0 say how far they were apart."""

    def __init__(self, rank: int, size: int, path: Path | None = None) -> None:
        self.rank, self.size = rank, size
        self.path = path or folder()
        self.recent: dict[str, float] = {}
        self.path.mkdir(mode=0o700, exist_ok=True)

    def on_line(self, number: int, window: Window) -> Fields:
        """Publish a window; the extra fields of its line: `ranks`, `skew_win`, `skew_ms`, `slow_rank`."""
        part = "verify" if window.kind == "spec" else "fwd"
        values = [times[part] for times in (window.chained or window.single) if part in times]
        if values:
            self.recent[f"{number}:{window.kind}:{window.bs}:{window.n}"] = sum(values) / len(values)
            for key in list(self.recent)[:-KEPT]:
                del self.recent[key]
            self.publish()
        return self.compare() if self.rank == 0 else []

    def publish(self) -> None:
        """Replace this rank's file in one step."""
        fresh = self.path / f"rank{self.rank}.new"
        fresh.write_text(json.dumps(self.recent), encoding="utf-8")
        fresh.replace(self.path / f"rank{self.rank}.json")

    def read(self, rank: int) -> dict[str, Any]:
        """Another rank's newest windows; nothing if it has none yet."""
        try:
            data = json.loads((self.path / f"rank{rank}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def compare(self) -> Fields:
        """The spread of the newest window that every rank has: longest minus shortest mean, in ms."""
        all_ranks = [self.recent, *(self.read(rank) for rank in range(1, self.size))]
        common = [key for key in self.recent if all(key in one for one in all_ranks)]
        if not common:
            return [("ranks", self.size), ("skew_win", None), ("skew_ms", None), ("slow_rank", None)]
        means = [float(one[common[-1]]) for one in all_ranks]
        spread = max(means) - min(means)
        return [
            ("ranks", self.size),
            ("skew_win", common[-1].partition(":")[0]),
            ("skew_ms", f"{spread:.3f}"),
            ("slow_rank", means.index(min(means))),
        ]
