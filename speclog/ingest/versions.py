"""The engine version a log's own layout allows, when nothing states it: first matching rule wins."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from speclog.formats.values import whole_number
from speclog.ingest.session import Session

Range = tuple[str, str | None]


def infer(session: Session) -> Range | None:
    """(oldest, newest) version that prints such lines; newest None: none newer is known to differ."""
    return _infer(frozenset(session.layout)) if session.engine == "sglang" else None


@lru_cache(maxsize=1024)
def _infer(layout: frozenset[str]) -> Range | None:
    seen = _Seen(layout)
    for test, found in _RULES:
        if test(seen):
            return found
    return None


class _Seen:
    """What a session's lines showed, as the rules ask for it."""

    def __init__(self, layout: frozenset[str]) -> None:
        self.layout = layout

    def line(self, name: str) -> bool:
        """Whether a line with this feature (`_LINES`) was seen."""
        return f"line.{name}" in self.layout

    def field(self, name: str) -> bool:
        """Whether a batch line had this field."""
        return name in self.layout

    def flag(self, name: str) -> bool:
        """Whether a batch line (or the arguments) had this shape."""
        return f"shape.{name}" in self.layout

    def old_graph(self) -> bool:
        """``Decode batch. ... cuda graph: True, ... , ``"""
        return self.flag("dot") and self.field("decode_window.graph") and self.flag("trailing")


_RULES: list[tuple[Callable[[_Seen], bool], Range]] = [
    (lambda s: s.line("init_parallel") or s.line("graph_end_bs"), ("0.5.21", None)),
    (lambda s: s.flag("args_dict"), ("0.5.19", None)),
    (lambda s: s.line("tokens_per_req") and s.flag("args_call"), ("0.5.16", "0.5.18")),
    (lambda s: s.line("tokens_per_req"), ("0.5.16", None)),
    (lambda s: s.line("tokens_per_bs"), ("0.5.14", "0.5.15")),
    (lambda s: s.line("kv_dtype"), ("0.5.13", None)),
    (lambda s: s.field("prefill_batch.pending_token"), ("0.5.11", None)),
    (lambda s: s.flag("prefill_graph_first"), ("0.5.10", "0.5.10")),
    (lambda s: s.flag("prefill_graph_last"), ("0.5.9", "0.5.9")),
    (lambda s: s.line("weights_elapsed_dtype"), ("0.5.9", "0.5.9")),
    (lambda s: s.flag("comma") and not s.flag("trailing"), ("0.5.9", None)),
    (lambda s: s.flag("comma") and s.line("beta_spec"), ("0.5.4", "0.5.6")),
    (lambda s: s.flag("comma") and s.line("not_explicitly"), ("0.5.4", "0.5.6")),
    (lambda s: s.flag("comma") and s.line("spec_v2"), ("0.5.7", "0.5.8")),
    (lambda s: s.flag("comma") and s.line("not_specified"), ("0.5.7", "0.5.8")),
    (lambda s: s.flag("comma") and s.flag("pp_first"), ("0.5.5", "0.5.8")),
    (lambda s: s.flag("comma"), ("0.5.4", "0.5.8")),
    (lambda s: s.flag("dot") and s.field("decode_window.accept_rate_raw"), ("0.5.3", "0.5.3")),
    (lambda s: s.old_graph() and s.field("decode_window.accept_len_raw"), ("0.4.9", "0.5.2")),
    (lambda s: s.old_graph(), ("0.4.9", "0.5.3")),
    (lambda s: s.field("decode_window.graph") and s.line("available_mem"), ("0.4.8", "0.4.8")),
    (lambda s: s.flag("dot") and s.field("decode_window.graph"), ("0.4.6", "0.4.8")),
    (lambda s: s.field("decode_window.largest_len"), ("0.4.3", "0.4.3")),
    (
        lambda s: s.flag("dot") and s.flag("trailing") and s.field("decode_window.gen_tok_s"),
        ("0.4.4", "0.4.4"),
    ),
    (lambda s: s.flag("dot") and s.flag("trailing"), ("0.4.3", "0.5.3")),
    (lambda s: s.flag("dot") and s.field("decode_window.gen_tok_s"), ("0.4.4", "0.4.6")),
]

# Kind of line, text in it, and what the pair is called in the rules.
_LINES = (
    ("torch_dist_begin", "Init parallel", "init_parallel"),
    ("graph_end", "end. bs=[", "graph_end_bs"),
    ("graph_begin", "num_tokens_per_req=", "tokens_per_req"),
    ("graph_begin", "num_tokens_per_bs=", "tokens_per_bs"),
    ("kv_cache_alloc", "allocated. dtype:", "kv_dtype"),
    ("load_weight_end", ", dtype=", "weights_dtype"),
    ("spec_v2", "Beta spec", "beta_spec"),
    ("spec_v2", "Spec v2", "spec_v2"),
    ("attention_backend", "not explicitly", "not_explicitly"),
    ("attention_backend", "not specified", "not_specified"),
    ("max_total_num_tokens", "available_", "available_mem"),
)
_KINDS = frozenset(kind for kind, _, _ in _LINES)
_NONE: frozenset[str] = frozenset()


def line_flags(kind: str, message: str) -> frozenset[str] | set[str]:
    """What a start-up line tells about the version that printed it."""
    if kind not in _KINDS:
        return _NONE
    flags = {f"line.{name}" for known, text, name in _LINES if known == kind and text in message}
    if "line.weights_dtype" in flags and "end. elapsed=" in message:
        flags.add("line.weights_elapsed_dtype")
    return flags


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
        digits = "".join(c for c in part if c in "0123456789")
        numbers.append(whole_number(digits) or 0 if part[:1].isdecimal() else 0)
    return tuple(numbers)
