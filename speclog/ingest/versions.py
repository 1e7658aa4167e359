"""The engine version a log's own layout allows, when nothing states it: first matching rule wins."""

from __future__ import annotations

from collections.abc import Callable

from speclog.ingest.session import Session

Range = tuple[str, str | None]


def infer(session: Session) -> Range | None:
    """(oldest, newest) version that prints such lines; newest None: none newer is known to differ."""
    if session.engine != "sglang":
        return None
    seen = _Seen(session)
    for test, found in _RULES:
        if test(seen):
            return found
    return None


class _Seen:
    """What a session's lines showed, as the rules ask for it."""

    def __init__(self, session: Session) -> None:
        self.layout = session.layout
        self.args = session.args
        self.text = [(event["kind"], event["message"]) for event in session.events]

    def line(self, kind: str, part: str) -> bool:
        return any(name == kind and part in message for name, message in self.text)

    def field(self, name: str) -> bool:
        return name in self.layout

    def flag(self, name: str) -> bool:
        return f"shape.{name}" in self.layout

    def old_graph(self) -> bool:
        return self.flag("dot") and self.field("decode_window.graph") and self.flag("trailing")


_RULES: list[tuple[Callable[[_Seen], bool], Range]] = [
    (
        lambda s: s.line("torch_dist_begin", "Init parallel") or s.line("graph_end", "end. bs=["),
        ("0.5.21", None),
    ),
    (lambda s: s.flag("args_dict"), ("0.5.19", None)),
    (lambda s: s.line("graph_begin", "num_tokens_per_req="), ("0.5.16", "0.5.18")),
    (lambda s: s.line("graph_begin", "num_tokens_per_bs="), ("0.5.14", "0.5.15")),
    (lambda s: s.line("kv_cache_alloc", "allocated. dtype:"), ("0.5.13", None)),
    (lambda s: s.field("prefill_batch.pending_token"), ("0.5.11", None)),
    (lambda s: s.flag("prefill_graph_first"), ("0.5.10", "0.5.10")),
    (lambda s: s.flag("prefill_graph_last"), ("0.5.9", "0.5.9")),
    (
        lambda s: s.line("load_weight_end", "end. elapsed=") and s.line("load_weight_end", "dtype="),
        ("0.5.9", "0.5.9"),
    ),
    (lambda s: s.flag("comma") and not s.flag("trailing"), ("0.5.9", None)),
    (lambda s: s.flag("comma") and s.line("spec_v2", "Beta spec"), ("0.5.4", "0.5.6")),
    (lambda s: s.flag("comma") and s.line("attention_backend", "not explicitly"), ("0.5.4", "0.5.6")),
    (lambda s: s.flag("comma") and s.line("spec_v2", "Spec v2"), ("0.5.7", "0.5.8")),
    (lambda s: s.flag("comma") and s.line("attention_backend", "not specified"), ("0.5.7", "0.5.8")),
    (lambda s: s.flag("comma") and s.flag("pp_first"), ("0.5.5", "0.5.8")),
    (lambda s: s.flag("comma"), ("0.5.4", "0.5.8")),
    (lambda s: s.flag("dot") and s.field("decode_window.accept_rate_raw"), ("0.5.3", "0.5.3")),
    (lambda s: s.old_graph() and s.field("decode_window.accept_len_raw"), ("0.4.9", "0.5.2")),
    (lambda s: s.old_graph(), ("0.4.9", "0.5.3")),
    (
        lambda s: s.field("decode_window.graph") and s.line("max_total_num_tokens", "available_"),
        ("0.4.8", "0.4.8"),
    ),
    (lambda s: s.flag("dot") and s.field("decode_window.graph"), ("0.4.6", "0.4.8")),
    (lambda s: s.field("decode_window.largest_len"), ("0.4.3", "0.4.3")),
    (lambda s: s.flag("dot") and s.field("decode_window.gen_tok_s"), ("0.4.4", "0.4.4")),
]


def shape_flags(line: str) -> set[str]:
    """What the punctuation of a batch line tells about the version that printed it."""
    flags = {"trailing"} if line.rstrip(" \r\n").endswith(",") else set()
    flags.add("dot" if "batch. " in line else "comma")
    if "] Prefill batch" in line and "graph: " in line and "pending-token" not in line:
        first = line.index("graph: ") < line.find("input throughput")
        flags.add("prefill_graph_first" if first else "prefill_graph_last")
    tags = line[: line.find("]")].split(" ")[2:]
    if any(t.startswith("PP") for t in tags) and any(t.startswith("TP") for t in tags):
        pp = next(i for i, t in enumerate(tags) if t.startswith("PP"))
        tp = next(i for i, t in enumerate(tags) if t.startswith("TP"))
        flags.add("pp_first" if pp < tp else "tp_first")
    return {f"shape.{flag}" for flag in flags}


def compare_key(version: str) -> tuple[int, ...]:
    """A version as numbers for ordering: ``0.5.8.post1`` -> (0, 5, 8)."""
    numbers = []
    for part in version.split(".")[:3]:
        digits = "".join(c for c in part if c.isdigit())
        numbers.append(int(digits) if digits and part[0].isdigit() else 0)
    return tuple(numbers)
