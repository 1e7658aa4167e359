"""The manifest: the first line of a log, by which it proves what ran where."""

import json
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import speclog
from speclog.launch import environment, machine
from speclog.launch.interpreter import Answer
from speclog.launch.profile import Profile
from speclog.launch.schema import Workload

HEAD = "SPECLOG_MANIFEST v=1"
_MODEL_KEYS = (
    "architectures", "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "intermediate_size", "moe_intermediate_size",
    "n_routed_experts", "num_experts", "num_local_experts", "n_shared_experts",
    "num_experts_per_tok", "first_k_dense_replace", "kv_lora_rank", "vocab_size",
    "max_position_embeddings", "torch_dtype", "dtype", "quantization_config",
)  # fmt: skip


@dataclass(frozen=True)
class Session:
    """One planned session: the profile, which repeat of its arm it is, and the resolved command line."""

    profile: Profile
    repeat: int
    argv: list[str]
    env: dict[str, str]
    model_path: str
    plugins: tuple[str, ...] = ()
    node_rank: int = 0


def now() -> str:
    """The moment in UTC, ISO 8601 with milliseconds and a Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def build(session: Session, answer: Answer, here: machine.Machine, show_host: bool = False) -> dict[str, Any]:
    """Everything about a session that could change its speed, secrets redacted (design contract, v=1)."""
    profile = session.profile
    return {
        "session": uuid.uuid4().hex,
        "profile": profile.name,
        "overlays": list(profile.overlays),
        "arm": profile.arm,
        "repeat": session.repeat,
        "argv": environment.scrub_argv(session.argv),
        "env": environment.recorded(session.env),
        "env_prefixes": environment.prefixes(),
        "versions": _versions(answer, here),
        "gpus": _gpus(answer, here),
        "topology": here.topology,
        "other_gpu_processes": here.other_gpu_processes,
        "plugins": sorted({*answer.plugins, *session.plugins}),
        "host_hash": machine.host(show_host),
        "git_commit": machine.git_commit(),
        "started_at": now(),
        "utc_offset_s": time.localtime().tm_gmtoff,
        "node_rank": session.node_rank,
        "evidence": profile.evidence,
        "workload": workload(profile.workload),
        "model_config": model_config(session.model_path, session.env),
    }


def line(manifest: dict[str, Any]) -> str:
    """The manifest as one log line."""
    return f"{HEAD} {json.dumps(manifest, ensure_ascii=True, separators=(',', ':'))}"


def workload(load: Workload) -> dict[str, Any]:
    """The workload as a manifest records it; ``num_prompts`` is one number for each batch size."""
    told = asdict(load) | {"num_prompts": [load.prompts(b) for b in load.batch_sizes]}
    told["request_rate"] = load.request_rate or "inf"
    del told["waves"]
    return told


def model_config(path: str, env: dict[str, str]) -> dict[str, Any] | None:
    """The shape of a model from its config.json, in a directory or the hub's cache; None if unreadable."""
    for file in _config_files(path, env):
        try:
            config = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        inner = config.get("text_config")
        told = config | inner if isinstance(inner, dict) else config
        return {key: told[key] for key in _MODEL_KEYS if key in told}
    return None


def _config_files(path: str, env: dict[str, str]) -> list[Path]:
    if Path(path).is_dir():
        return [Path(path) / "config.json"]
    snapshots = machine.hub_cache(env) / f"models--{path.replace('/', '--')}" / "snapshots"
    return sorted(snapshots.glob("*/config.json"), key=lambda f: f.stat().st_mtime, reverse=True)


def _versions(answer: Answer, here: machine.Machine) -> dict[str, str | None]:
    return {
        "sglang": answer.sglang,
        "torch": answer.torch,
        "cuda": answer.cuda,
        "nccl": answer.nccl,
        "driver": here.driver or ("none" if _gpus(answer, here) == [] else None),
        "python": answer.python,
        "speclog": speclog.__version__,
    }


def _gpus(answer: Answer, here: machine.Machine) -> list[dict[str, Any]] | None:
    """nvidia-smi's word; without it torch's names; None when neither could be asked."""
    if here.gpus is not None:
        return [gpu.recorded() for gpu in here.gpus]
    if answer.gpus is None:
        return None
    return [{"index": index, "name": name} for index, name in enumerate(answer.gpus)]
