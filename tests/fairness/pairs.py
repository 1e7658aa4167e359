"""The labelled set: pairs of runs and the verdict a careful person would give, with the reason.

Labels were written from the rules of docs/fairness.md before any verdict was looked at. ``own`` pairs are
real logs (../shared/logs/h200-llama8b, examples/logs); the others are built as ingest would write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.fairness.build import PREFIXES, Made, baseline, candidate


@dataclass(frozen=True)
class Labelled:
    """A pair and its label; ``swapped``: the plain run is named as the candidate."""

    kind: str
    name: str
    candidate: Made
    baseline: Made
    label: str
    swapped: bool = False


def built() -> list[Labelled]:
    """Every built pair, with run names that are unique over the whole set."""
    made = [
        *_one_confounder(),
        *_entailed(),
        *_not_entailed(),
        *_noise(),
        *_unknown(),
        *_measurement(),
        *_several(),
    ]
    made += [_swap(pair) for pair in made if pair.name in _SWAPPED]
    return [_named(number, pair) for number, pair in enumerate(made)]


def _named(number: int, pair: Labelled) -> Labelled:
    return Labelled(
        pair.kind,
        pair.name,
        pair.candidate.but(name=f"p{number:03}-c"),
        pair.baseline.but(name=f"p{number:03}-b"),
        pair.label,
        pair.swapped,
    )


def _swap(pair: Labelled) -> Labelled:
    return Labelled("swapped arms", pair.name, pair.candidate, pair.baseline, pair.label, True)


_SWAPPED = {
    "NCCL_PROTO set in one arm",
    "only what SGLang changes",
    "another port and seed",
    "no environment recorded",
    "CUDA graphs off in the baseline",
    "another model",
}

_ENV: Mapping[str, tuple[dict[str, str], dict[str, str]]] = {
    "NCCL_PROTO set in one arm": ({"NCCL_PROTO": "LL"}, {}),
    "NCCL_ALGO with two values": ({"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "Tree"}),
    "CUDA_DEVICE_MAX_CONNECTIONS": (
        {"CUDA_DEVICE_MAX_CONNECTIONS": "8"},
        {"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    ),
    "an SGLang switch of the target": ({}, {"SGLANG_USE_AITER": "1"}),
    "OMP_NUM_THREADS": ({"OMP_NUM_THREADS": "8"}, {"OMP_NUM_THREADS": "1"}),
    "allocator": ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, {}),
    "graph file with other content": (
        {"NCCL_GRAPH_FILE": "/etc/g.xml", "NCCL_GRAPH_FILE.sha256": "aa"},
        {"NCCL_GRAPH_FILE": "/etc/g.xml", "NCCL_GRAPH_FILE.sha256": "bb"},
    ),
}
_HARDWARE: Mapping[str, tuple[Any, Any]] = {
    "gpu.name": ("NVIDIA H200", "NVIDIA H100 80GB HBM3"),
    "gpu.count": (8, 4),
    "gpu.power_limit_w": (700, 450),
    "gpu.clocks_max_sm_mhz": (1980, 1500),
    "gpu.other_processes": (0, 2),
    "driver": ("580.95.05", "570.10.00"),
    "cuda": ("13.0", "12.8"),
    "nccl": ("2.28.9", "2.27.5"),
    "topology": ("NVLink", "PCIe"),
}
_SERVER: Mapping[str, tuple[Any, Any]] = {
    "another model": ("model_path", ("/models/target", "/models/other")),
    "quantization": ("quantization", (None, "fp8")),
    "dtype": ("dtype", ("auto", "float16")),
    "KV cache dtype": ("kv_cache_dtype", ("auto", "fp8_e4m3")),
    "tensor parallel": ("tp_size", (1, 2)),
    "attention backend": ("attention_backend", ("fa3", "triton")),
    "page size": ("page_size", (64, 1)),
    "torch compile": ("enable_torch_compile", (False, True)),
    "custom all-reduce": ("disable_custom_all_reduce", (False, True)),
    "memory fraction": ("mem_fraction_static", (0.9, 0.8)),
    "radix cache": ("disable_radix_cache", (False, True)),
    "chunked prefill": ("chunked_prefill_size", (8192, 2048)),
    "log interval": ("decode_log_interval", (40, 10)),
    "revision": ("revision", ("a1", "b2")),
    "overlap off in the baseline": ("disable_overlap_schedule", (False, True)),
    "overlap off in the candidate, spec v2": ("disable_overlap_schedule", (True, False)),
    "schedule policy": ("schedule_policy", ("fcfs", "lpm")),
    "context length": ("context_length", (8192, 32768)),
}
_WEIGHTS: Mapping[str, tuple[Any, Any]] = {
    "weights of another quantization": (14.98, 7.6),
    "weights of another tiny model": (0.25, 0.03),
}
_WORKLOAD: Mapping[str, tuple[Any, Any]] = {
    "cache_hit_share": (0.0, 0.4),
    "dataset": ("sharegpt", "gsm8k"),
    "input_len": (128, 1024),
    "output_len": (512, 64),
    "temperature": (0, 1),
    "seed": (1, 2),
    "ignore_eos": (True, False),
    "request_rate": ("inf", "4"),
    "flush_cache": (True, False),
}


def _facts(prefix: str, pairs: Mapping[str, tuple[Any, Any]], kind: str) -> list[Labelled]:
    return [
        Labelled(kind, prefix + key, _c(facts={prefix + key: a}), _b(facts={prefix + key: b}), "unfair")
        for key, (a, b) in pairs.items()
    ]


def _c(**changes: Any) -> Made:
    return candidate(**changes)


def _b(**changes: Any) -> Made:
    return baseline(**changes)


def _one_confounder() -> list[Labelled]:
    env = [Labelled("environment", name, _c(env=a), _b(env=b), "unfair") for name, (a, b) in _ENV.items()]
    server = [
        Labelled("server", name, _c(args={key: a}), _b(args={key: b}), "unfair")
        for name, (key, (a, b)) in _SERVER.items()
    ]
    graphs = Labelled(
        "server",
        "CUDA graphs off in the baseline",
        _c(),
        _b(args={"disable_cuda_graph": True}, facts={"graph.enabled": False}, graph=False, round_ms=19.1),
        "unfair",
    )
    weights = [
        Labelled(
            "server", name, _c(facts={"weight.target_gb": a}), _b(facts={"weight.target_gb": b}), "unfair"
        )
        for name, (a, b) in _WEIGHTS.items()
    ]
    software = [
        Labelled("software", "SGLang version", _c(version="0.5.14"), _b(version="0.5.13"), "unfair"),
        Labelled(
            "software", "SGLang post release", _c(version="0.5.14.post1"), _b(version="0.5.14"), "unfair"
        ),
        Labelled(
            "software",
            "disjoint inferred versions",
            _c(version=None, version_range=("0.5.11", "0.5.12")),
            _b(version=None, version_range=("0.5.14", "0.5.15")),
            "unfair",
        ),
        Labelled("software", "torch", _c(), _b(facts={"torch": "2.9.0"}), "unfair"),
        Labelled("software", "a plugin in one arm", _c(facts={"plugins": ["x"]}), _b(), "unfair"),
        Labelled("software", "profiling in one arm", _c(facts={"profiling": "events"}), _b(), "unfair"),
    ]
    return [
        *env,
        *_facts("", _HARDWARE, "hardware"),
        *server,
        graphs,
        *weights,
        *software,
        *_facts("workload.", _WORKLOAD, "workload"),
    ]


def _entailed() -> list[Labelled]:
    v1 = {"disable_overlap_schedule": True}
    off = {"overlap_scheduler": "off"}
    return [
        Labelled("entailed only", "only what SGLang changes", _c(), _b(), "fair"),
        Labelled(
            "entailed only",
            "spec v1 turns the overlap off",
            _c(version="0.5.9", args=v1, facts=off),
            _b(version="0.5.9"),
            "fair",
        ),
        Labelled("entailed only", "mixed chunk off", _c(), _b(args={"enable_mixed_chunk": True}), "fair"),
        Labelled(
            "entailed only",
            "smaller memory fraction",
            _c(args={"mem_fraction_static": 0.82}),
            _b(args={"mem_fraction_static": 0.85}),
            "fair",
        ),
        Labelled("entailed only", "smaller KV pool", _c(facts={"kv_tokens": 300000}), _b(), "fair"),
        Labelled(
            "entailed only",
            "pages of one token under a draft tree",
            _c(args={"page_size": 1, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8}),
            _b(args={"page_size": 64}),
            "fair",
        ),
        Labelled(
            "entailed only",
            "another attention backend under a draft tree",
            _c(args={"attention_backend": "fa4", "speculative_eagle_topk": 4}),
            _b(args={"attention_backend": "trtllm_mha"}),
            "fair",
        ),
        Labelled(
            "entailed only",
            "a few less cached prefixes under speculation",
            _c(facts={"cached_prefix_share": 0.52}),
            _b(facts={"cached_prefix_share": 0.6}),
            "fair",
        ),
        Labelled("entailed only", "two steps", _c(args={"speculative_num_steps": 2}, tau=1.8), _b(), "fair"),
    ]


def _not_entailed() -> list[Labelled]:
    """SGLang makes these differences of a draft tree only, and the candidate drafts a chain (topk 1)."""
    return [
        Labelled(
            "not entailed",
            "pages of one token",
            _c(args={"page_size": 1}),
            _b(args={"page_size": 64}),
            "unfair",
        ),
        Labelled(
            "not entailed",
            "another attention backend",
            _c(args={"attention_backend": "fa4"}),
            _b(args={"attention_backend": "trtllm_mha"}),
            "unfair",
        ),
        Labelled(
            "not entailed",
            "pages of one token, topk unknown",
            _c(args={"page_size": 1, "speculative_eagle_topk": None}),
            _b(args={"page_size": 64}),
            "unfair",
        ),
    ]


def _noise() -> list[Labelled]:
    return [
        Labelled("noise only", "another port and seed", _c(args={"port": 1, "random_seed": 7}), _b(), "fair"),
        Labelled("noise only", "another host name", _c(args={"host": "0.0.0.0"}), _b(), "fair"),
        Labelled("noise only", "served model name", _c(args={"served_model_name": "x"}), _b(), "fair"),
        Labelled("noise only", "NCCL's own log", _c(env={"NCCL_DEBUG": "INFO"}), _b(), "fair"),
        Labelled(
            "noise only",
            "another container image around the same libraries",
            _c(env={"NCCL_VERSION": "2.28.3-1", "CUDA_VERSION": "13.0.2"}),
            _b(env={"NCCL_VERSION": "2.27.5-1"}),
            "fair",
        ),
        Labelled("noise only", "where SGLang logs", _c(env={"SGLANG_LOG_MS": "1"}), _b(), "fair"),
        Labelled("noise only", "a cache directory", _c(env={"TRITON_CACHE_DIR": "/a"}), _b(), "fair"),
        Labelled("noise only", "number of prompts", _c(facts={"workload.num_prompts": [8]}), _b(), "fair"),
        Labelled("noise only", "idle clocks", _c(facts={"gpu.clocks_sm_mhz": 345}), _b(), "fair"),
        Labelled(
            "noise only", "clocks within a per cent", _c(facts={"gpu.power_limit_w": 699}), _b(), "fair"
        ),
        Labelled(
            "noise only", "weights within a per cent", _c(facts={"weight.target_gb": 15.0}), _b(), "fair"
        ),
        Labelled(
            "noise only",
            "weights of 0.03 and 0.0 GB on a CPU",
            _c(facts={"weight.target_gb": 0.03}),
            _b(facts={"weight.target_gb": 0.0}),
            "fair",
        ),
        Labelled(
            "noise only",
            "a temperature written 0 and 0.0",
            _c(facts={"workload.temperature": "0"}),
            _b(facts={"workload.temperature": "0.0"}),
            "fair",
        ),
        Labelled(
            "noise only",
            "a cache-hit share half a point apart",
            _c(facts={"workload.cache_hit_share": 0.005}),
            _b(facts={"workload.cache_hit_share": 0.0}),
            "fair",
        ),
        Labelled(
            "noise only",
            "the same prompts sent more often to one arm",
            _c(facts={"cached_prefix_share": 0.75}),
            _b(facts={"cached_prefix_share": 0.6}),
            "fair",
        ),
    ]


def _unknown() -> list[Labelled]:
    dropped = (
        "fact.gpu.name",
        "fact.driver",
        "fact.torch",
        "fact.gpu.power_limit_w",
        "fact.workload.dataset",
        "fact.workload.output_len",
    )
    once = (
        "fact.gpu.other_processes",
        "fact.gpu.clocks_max_sm_mhz",
        "fact.cuda",
        "fact.plugins",
        "fact.workload.temperature",
        "fact.workload.seed",
    )
    path = {"NCCL_TOPO_FILE": "/etc/topo.xml"}
    preload = {"LD_PRELOAD": "libtcmalloc.so"}
    wider = (*PREFIXES, "LD_PRELOAD")
    return [
        Labelled(
            "unknown", "a variable only one record covers", _c(env=preload, prefixes=wider), _b(), "unproven"
        ),
        Labelled("unknown", "a variable that nobody listed", _c(), _b(env={"MY_KERNEL": "1"}), "unproven"),
        Labelled("noise only", "a variable unset in the wider record", _c(prefixes=wider), _b(), "fair"),
        *(Labelled("unknown", f"{name} unknown", _c(drop=[name]), _b(), "unproven") for name in dropped),
        *(Labelled("unknown", f"{name} of one arm", _c(), _b(drop=[name]), "unproven") for name in once),
        Labelled("unknown", "facts that nobody recorded", _c(drop=once), _b(drop=once), "fair"),
        Labelled("unknown", "no environment recorded", _c(prefixes=()), _b(prefixes=()), "unproven"),
        Labelled("unknown", "environment of one arm", _c(), _b(prefixes=()), "unproven"),
        Labelled("unknown", "no server arguments", _c(), _b(known_args=False), "unproven"),
        Labelled(
            "unknown",
            "version only inferred",
            _c(version=None, version_range=("0.5.14", "0.5.15")),
            _b(),
            "unproven",
        ),
        Labelled("unknown", "same path, content unknown", _c(env=path), _b(env=path), "unproven"),
        Labelled(
            "unknown", "an argument nobody listed", _c(args={"novel": 1}), _b(args={"novel": 2}), "unproven"
        ),
    ]


def _measurement() -> list[Labelled]:
    return [
        Labelled("measurement", "the baseline never served", _c(), _b(served=False), "unproven"),
        Labelled("measurement", "three windows", _c(windows=3), _b(), "unproven"),
        Labelled("measurement", "requests retracted in one arm", _c(retractions=2), _b(), "unproven"),
        Labelled("measurement", "one arm queues", _c(queue=5), _b(), "unproven"),
        Labelled(
            "measurement",
            "lossy acceptance",
            _c(args={"speculative_accept_threshold_single": 0.5}),
            _b(),
            "unfair",
        ),
        Labelled("measurement", "a round shorter than a step", _c(round_ms=3.0), _b(), "unfair"),
        Labelled(
            "measurement", "simulated accept length", _c(env={"SGLANG_SIMULATE_ACC_LEN": "2.1"}), _b(), "fair"
        ),
        Labelled("measurement", "client figures in doubt", _c(doubts=["peak below mean"]), _b(), "fair"),
    ]


def _several() -> list[Labelled]:
    env = {"NCCL_PROTO": "LL"}
    return [
        Labelled("several", "confounder and unknown", _c(env=env), _b(drop=["fact.torch"]), "unfair"),
        Labelled("several", "confounder and noise", _c(env=env, args={"port": 2}), _b(), "unfair"),
        Labelled(
            "several",
            "two confounders that cancel",
            _c(env=env),
            _b(args={"attention_backend": "triton"}),
            "unfair",
        ),
        Labelled(
            "several", "noise and unknown", _c(args={"port": 2}, drop=["fact.driver"]), _b(), "unproven"
        ),
        Labelled(
            "several",
            "noise and entailed",
            _c(args={"port": 2}),
            _b(args={"enable_mixed_chunk": True}),
            "fair",
        ),
    ]


OWN: list[tuple[str, str, str]] = [
    ("eagle3-s5-a2.1", "base", "unproven"),
    ("eagle3-s5-a2.1", "base-repeat", "unproven"),
    ("eagle3-s5-a2.1", "base-nograph", "unfair"),
    ("eagle3-s2-a2.1", "base", "unproven"),
    ("eagle3-s2-a2.1", "base-nograph", "unfair"),
    ("eagle3-s5-a1.4", "base", "unproven"),
    ("eagle3-s5-a3.0", "base-nograph", "unfair"),
    ("eagle3-s5-a2.1-nograph", "base", "unfair"),
    ("eagle3-s5-a2.1-nograph", "base-nograph", "unproven"),
    ("profiled-eagle3-s5-a2.1", "profiled-base", "unproven"),
    ("profiled-eagle3-s5-a2.1", "base", "unfair"),
    ("eagle3-s5-a2.1", "base-killed-at-boot", "unproven"),
    ("base", "base-repeat", "unproven"),
    ("base", "base-nograph", "unfair"),
    ("eagle3-5x6-untuned", "baseline-fresh", "fair"),
    ("eagle3-5x6-untuned", "baseline-remembered", "unfair"),
    ("eagle3-5x6-untuned", "baseline-retuned", "unfair"),
    ("eagle3-2x3-untuned", "baseline-fresh", "fair"),
    ("eagle3-5x6-untuned", "base", "unfair"),
]
"""Real logs as they are (no manifest: unproven at best) and the synthetic story (with manifests)."""
