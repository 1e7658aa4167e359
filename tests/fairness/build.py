"""Run records as ingest writes them, for verdicts: a fully recorded run, and every change one wants to it.

The frames go through the real store; nothing of the verdict is imitated here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl

START = datetime(2026, 11, 1, 12)
PREFIXES = ("NCCL_", "CUDA_", "SGLANG_", "OMP_", "TORCH", "PYTORCH_", "TRITON_", "EAGLE3_", "SIMULATE_ACC_")

ARGS: dict[str, Any] = {
    "model_path": "/models/target", "tokenizer_path": "/models/target", "served_model_name": "target",
    "revision": None, "load_format": "auto", "dtype": "auto", "quantization": None, "kv_cache_dtype": "auto",
    "context_length": 8192, "tp_size": 1, "pp_size": 1, "dp_size": 1, "ep_size": 1, "page_size": 1,
    "attention_backend": "fa3", "decode_attention_backend": None, "prefill_attention_backend": None,
    "disable_cuda_graph": False, "cuda_graph_bs": [1, 2, 4, 8], "cuda_graph_max_bs": 8,
    "enable_torch_compile": False, "disable_custom_all_reduce": False, "mem_fraction_static": 0.85,
    "chunked_prefill_size": 8192, "enable_mixed_chunk": False, "disable_radix_cache": False,
    "disable_overlap_schedule": False, "max_running_requests": None, "decode_log_interval": 40,
    "schedule_policy": "fcfs", "random_seed": 42, "host": "127.0.0.1", "port": 30000,
    "speculative_algorithm": None, "speculative_draft_model_path": None, "speculative_num_steps": None,
    "speculative_eagle_topk": None, "speculative_num_draft_tokens": None,
    "speculative_accept_threshold_single": 1.0, "speculative_accept_threshold_acc": 1.0,
}  # fmt: skip
SPECULATION: dict[str, Any] = {
    "speculative_algorithm": "EAGLE3", "speculative_draft_model_path": "/models/draft",
    "speculative_num_steps": 5, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 6,
    "max_running_requests": 48, "cuda_graph_bs": [1, 2, 3, 4, 5, 6, 7, 8],
}  # fmt: skip
FACTS: dict[str, Any] = {
    "gpu.name": "NVIDIA H200", "gpu.count": 1, "gpu.power_limit_w": 700, "gpu.clocks_max_sm_mhz": 1980,
    "gpu.other_processes": 0, "topology": "one GPU", "driver": "580.95.05", "cuda": "13.0",
    "nccl": "2.28.9", "torch": "2.11.0+cu130", "plugins": [], "profiling": "off", "kv_tokens": 560916,
    "max_running_requests": 4096, "graph.enabled": True, "overlap_scheduler": "on",
    "weight.target_gb": 14.98, "workload.dataset": "sharegpt", "workload.input_len": 128,
    "workload.output_len": 512, "workload.seed": 1, "workload.temperature": 0, "workload.ignore_eos": True,
    "workload.request_rate": "inf", "workload.flush_cache": True, "workload.num_prompts": [4],
}  # fmt: skip
ENTAILED_FACTS: dict[str, Any] = {"kv_tokens": 526883, "max_running_requests": 48, "weight.draft_gb": 2.14}


@dataclass(frozen=True)
class Made:
    """A run to be: what its record says, and how fast its windows are."""

    name: str
    speculative: bool = False
    args: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str | None] = field(default_factory=dict)
    prefixes: Sequence[str] = PREFIXES
    facts: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = "0.5.14"
    version_range: tuple[str | None, str | None] = (None, None)
    engine: str = "sglang"
    served: bool = True
    round_ms: float | None = None
    tau: float = 2.1
    levels: Sequence[int] = (1,)
    windows: int = 14
    graph: bool | None = True
    queue: int = 0
    retractions: int = 0
    drift: float = 0.0
    drop: Sequence[str] = ()
    known_args: bool = True
    noise: float = 0.002
    started: datetime = START
    doubts: Sequence[str] = ()

    @property
    def run_id(self) -> str:
        """The id ingest would give: a hash of the session."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:24]

    def but(self, **changes: Any) -> Made:
        """The same run with something changed; mappings are merged."""
        for key in ("args", "env", "facts"):
            if key in changes:
                changes[key] = {**getattr(self, key), **changes[key]}
        return replace(self, **changes)

    def frames(self) -> dict[str, pl.DataFrame]:
        """What ingest would append for it."""
        ids = {"ingest_id": f"{self.run_id}-1", "run_id": self.run_id}
        tables = {
            "raw_run": [ids | self._run()],
            "raw_ingest": [ids | self._ingest()],
            "raw_server_arg": [
                ids | {"name": k, "value": json.dumps(v), "source": "server_args", "line_no": 5}
                for k, v in self._args().items()
            ],
            "raw_env_var": [
                ids | {"name": k, "value": v, "source": "manifest", "line_no": 1} for k, v in self.env.items()
            ],
            "raw_env_scan": [ids | {"prefix": prefix, "line_no": 1} for prefix in self.prefixes],
            "raw_fact": [
                ids | {"name": k, "value": _text(v), "source": "manifest", "line_no": 1}
                for k, v in self._facts().items()
            ],
            "raw_decode_window": [ids | window for window in self._windows()] if self.served else [],
            "raw_event": [ids | event for event in self._events()],
            "raw_bench_result": [
                ids
                | {"source": "b.jsonl", "line_no": 1, "tool": "bench_serving", "doubts": list(self.doubts)}
            ]
            if self.doubts
            else [],
        }
        return {name: _frame(name, rows) for name, rows in tables.items() if rows}

    def _run(self) -> dict[str, Any]:
        low, high = self.version_range
        return {
            "name": self.name, "engine": self.engine, "version": self.version, "version_min": low,
            "version_max": high, "version_source": "manifest" if self.version else None,
            "served": self.served, "end_reason": "shutdown", "synthetic": True, "started_at": self.started,
            "ended_at": self.started + timedelta(seconds=self.windows), "server_args_line": 5,
        }  # fmt: skip

    def _ingest(self) -> dict[str, Any]:
        return {
            "source": f"/logs/{self.name}.log", "session_index": 0, "parser_version": 1,
            "speclog_version": "0", "sha256": self.run_id, "ingested_at": START, "status": "complete",
            "first_line": 1, "last_line": 100, "lines": 100,
        }  # fmt: skip

    def _args(self) -> dict[str, Any]:
        if not self.known_args:
            return {}
        merged = ARGS | (SPECULATION if self.speculative else {}) | dict(self.args)
        return {name: value for name, value in merged.items() if f"arg.{name}" not in self.drop}

    def _facts(self) -> dict[str, Any]:
        merged = FACTS | (ENTAILED_FACTS if self.speculative else {}) | dict(self.facts)
        return {name: value for name, value in merged.items() if f"fact.{name}" not in self.drop}

    def _windows(self) -> list[dict[str, Any]]:
        base = self.round_ms or (7.4 if self.speculative else 4.8)
        tau = self.tau if self.speculative else 1.0
        rows: list[dict[str, Any]] = []
        for batch in self.levels:
            for place in range(self.windows):
                wobble = 1 + self.noise * (((place * 7) % 5) - 2) / 2 + self.drift * place / self.windows
                round_ms = base * (1 + 0.01 * batch) * wobble
                rows.append(
                    {
                        "source_index": 0, "line_no": 20 + len(rows), "ts": self.started,
                        "running_req": batch,
                        "token": int(batch * (200 + min(40, 600 / self.windows) * place)), "token_usage": 0.1,
                        "accept_len": tau if self.speculative else None,
                        "accept_len_raw": tau if self.speculative else None, "graph": self.graph,
                        "gen_tok_s": batch * tau / round_ms * 1000, "queue_req": self.queue,
                        "prefills_since": int(place == 0), "warmup": False,
                    }
                )  # fmt: skip
        return rows

    def _events(self) -> list[dict[str, Any]]:
        kinds = ["ready", *["retract"] * self.retractions]
        return [
            {"source_index": 0, "line_no": 18 + 4 * n, "line_end": 18 + 4 * n, "kind": kind, "message": kind}
            for n, kind in enumerate(kinds)
        ]


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _frame(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def append_all(store: Any, runs: Sequence[Made]) -> None:
    """Append runs to an open store, table by table (one insert for all, as fast as can be)."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for made in runs:
        for name, frame in made.frames().items():
            parts.setdefault(name, []).append(frame)
    store.append({name: pl.concat(frames, how="diagonal_relaxed") for name, frames in parts.items()})


def baseline(name: str = "base", **changes: Any) -> Made:
    """A plain run whose record is complete."""
    return Made(name).but(**changes)


def candidate(name: str = "spec", **changes: Any) -> Made:
    """A speculative run with a complete record, equal to `baseline`'s but for what SGLang changes itself."""
    return Made(name, speculative=True).but(**changes)
