"""Windows: rounds of one kind and shape, and the line that each becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from speclog.profiler import lines
from speclog.profiler.round import PARTS, Round

Fields = list[tuple[str, object]]


class Window:
    """The rounds of one (kind, steps, topk, draft tokens, batch size) since the last line."""

    def __init__(self, first: Round) -> None:
        self.kind = first.kind
        self.bs, self.steps = first.bs, first.steps
        self.topk, self.draft_tokens = first.topk, first.draft_tokens
        self.t_wall = first.t_wall
        self.t_host = first.t_host
        self.t_end = first.t_host
        self.n = 0
        self.chained: list[dict[str, float]] = []
        """Times of rounds whose successor followed at once, so that gap and cycle are known."""
        self.single: list[dict[str, float]] = []
        self.contexts: list[int] = []
        self.graphs: list[list[bool | None]] = [[], [], []]
        self.histogram: list[int] = [0] * (first.steps + 1)
        self.requests = 0
        self.counted = 0

    def add(self, round_: Round, times_ms: dict[str, float]) -> None:
        """Take in a finished round and its times."""
        self.n += 1
        self.t_end = round_.t_host + round_.host_ms / 1e3
        (self.chained if "cycle" in times_ms else self.single).append(times_ms)
        if round_.context is not None:
            self.contexts.append(round_.context)
        for seen, flag in zip(self.graphs, round_.graphs, strict=True):
            seen.append(flag)
        if round_.accepted is not None:
            self.counted += 1
            self.requests += len(round_.accepted)
            for drafts in round_.accepted:
                self.histogram += [0] * (drafts + 1 - len(self.histogram))
                self.histogram[max(drafts, 0)] += 1

    def fields(self, number: int, rank: Fields, mode: str, full: int) -> Fields:
        """The line's fields. All times come from the same rounds: the chained ones if there are any."""
        sample = self.chained or self.single

        def times(part: str) -> str:
            return lines.times([t[part] for t in sample if part in t])

        spec = self.kind == "spec"
        line: Fields = [*rank, ("win", number), ("n", self.n), ("part", int(self.n < full))]
        line += [("mode", mode), ("bs", self.bs), ("steps", self.steps), ("topk", self.topk)]
        line += [("ndraft", self.draft_tokens), ("seq", self.mean_context()), ("graph", self.graph_counts())]
        line.append(("cycle_ms", times("cycle")))
        if spec:
            line += [(f"{p}_ms", times(p)) for p in PARTS if p not in ("pre", "post")]
        line += [("fwd_ms", times("fwd")), ("gap_ms", times("gap")), ("host_ms", times("host"))]
        if spec:
            line += self.acceptance()
        line += [("t0", f"{self.t_wall:.3f}"), ("dur_s", f"{self.t_end - self.t_host:.3f}")]
        line.append(("ncycle", len(self.chained)))
        return line + [(f"{p}_ms", times(p)) for p in ("pre", "post") if any(p in t for t in sample)]

    def mean_context(self) -> int | None:
        """Mean over the rounds of the tokens in all requests together; None if never sampled."""
        return round(sum(self.contexts) / len(self.contexts)) if self.contexts else None

    def graph_counts(self) -> str | None:
        """Rounds that replayed a CUDA graph: `v` verify or forward, `d` draft, `x` re-extend, if known."""
        known = [
            f"{letter}{sum(map(bool, seen))}"
            for letter, seen in zip("vdx", self.graphs, strict=True)
            if seen and None not in seen
        ]
        return ",".join(known) or None

    def acceptance(self) -> Fields:
        """Request-rounds, accept length with the bonus token, histogram; unknown unless every round told."""
        if self.counted < self.n or not self.requests:
            return [("reqs", None), ("acc_len", None), ("acc_hist", None)]
        mean = sum(i * count for i, count in enumerate(self.histogram)) / self.requests
        histogram = ",".join(map(str, self.histogram))
        return [("reqs", self.requests), ("acc_len", f"{1 + mean:.4f}"), ("acc_hist", histogram)]


OnLine = Callable[[int, Window], Fields]


class Windows:
    """All open windows of a rank; prints them when they are full, old, or the engine runs dry."""

    def __init__(
        self, rank: Fields, mode: str, size: int, flush_s: float, on_line: OnLine | None = None
    ) -> None:
        self.rank, self.mode, self.size, self.flush_s = rank, mode, size, flush_s
        self.open: dict[tuple[Any, ...], Window] = {}
        self.number = 0
        self.on_line = on_line
        self.next_check = 0.0

    def add(self, round_: Round, times_ms: dict[str, float]) -> None:
        """Take in a round; print its window if that is full, and others that have become old."""
        key = (round_.kind, round_.steps, round_.topk, round_.draft_tokens, round_.bs)
        window = self.open.get(key)
        if window is None:
            window = self.open[key] = Window(round_)
        window.add(round_, times_ms)
        if window.n >= self.size:
            self.print(key)
        if round_.t_host >= self.next_check:
            self.next_check = round_.t_host + 1.0
            self.flush(older_than=round_.t_host - self.flush_s)

    def flush(self, older_than: float = float("inf")) -> None:
        """Print the windows begun before `older_than` (perf_counter seconds), full or not."""
        for key in [key for key, window in self.open.items() if window.t_host < older_than]:
            self.print(key)

    def print(self, key: tuple[Any, ...]) -> None:
        """Print and forget one window."""
        window = self.open.pop(key)
        fields = window.fields(self.number, self.rank, self.mode, self.size)
        if self.on_line is not None:
            fields += self.on_line(self.number, window)
        lines.emit(window.kind, fields)
        self.number += 1
