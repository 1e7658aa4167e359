"""The optional journal: one JSON object a round, block-buffered, in a file that is rotated by size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speclog.profiler.round import Round


class Journal:
    """Appends rounds to `path`; beyond `limit_mb` the file becomes `path.1` (replacing an older one)."""

    def __init__(self, path: str, limit_mb: float) -> None:
        self.path = Path(path)
        self.limit = int(limit_mb * 1e6)
        self.file = self.begin()

    def begin(self) -> Any:
        """Open the file for appending."""
        return self.path.open("a", encoding="utf-8", buffering=1 << 16)

    def write(self, round_: Round, times_ms: dict[str, float], window: int) -> None:
        """Append one round: when, what shape, times in ms, accepted drafts per request."""
        record: dict[str, Any] = {
            "t": round(round_.t_wall, 6),
            "kind": round_.kind,
            "win": window,
            "bs": round_.bs,
            "seq": round_.context,
            "steps": round_.steps,
            "topk": round_.topk,
            "ndraft": round_.draft_tokens,
            "graph": round_.graphs,
            "accepted": round_.accepted,
        }
        record.update((f"{part}_ms", round(value, 4)) for part, value in times_ms.items())
        self.file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def flush(self) -> None:
        """Write out what is buffered (at the end of a window), and rotate if the file has grown enough."""
        self.file.flush()
        if self.file.tell() >= self.limit:
            self.file.close()
            self.path.replace(str(self.path) + ".1")
            self.file = self.begin()
