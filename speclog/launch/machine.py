"""What machine this is: GPUs, driver, topology, other processes, host, commit. Unknown is None."""

import hashlib
import re
import shutil
import socket
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_QUERY = {
    "index": "index",
    "name": "name",
    "uuid": "uuid",
    "driver": "driver_version",
    "power_limit_w": "power.limit",
    "clocks_sm_mhz": "clocks.sm",
    "clocks_max_sm_mhz": "clocks.max.sm",
    "memory_mib": "memory.total",
    "memory_used_mib": "memory.used",
    "persistence": "persistence_mode",
    "power_default_w": "power.default_limit",
}


_NEEDED = ("index", "name", "uuid", "driver", "memory_mib")


@dataclass(frozen=True)
class Gpu:
    """One visible GPU, as nvidia-smi tells it; a value it does not tell is None."""

    index: int
    name: str
    uuid_hash: str
    power_limit_w: float | None = None
    clocks_sm_mhz: float | None = None
    clocks_max_sm_mhz: float | None = None
    memory_mib: float | None = None
    memory_used_mib: float | None = None
    persistence: str | None = None
    power_default_w: float | None = None
    driver: str | None = None

    def recorded(self) -> dict[str, Any]:
        """The part that a manifest records."""
        return {k: v for k, v in asdict(self).items() if k in _RECORDED}


_RECORDED = (
    "index",
    "name",
    "uuid_hash",
    "power_limit_w",
    "clocks_sm_mhz",
    "clocks_max_sm_mhz",
    "memory_mib",
)


@dataclass(frozen=True)
class Machine:
    """The machine at one moment. ``gpus`` is None where nobody could be asked, [] where there are none."""

    gpus: list[Gpu] | None
    driver: str | None
    topology: str | None
    other_gpu_processes: int | None


def look(env: dict[str, str]) -> Machine:
    """Ask nvidia-smi about the GPUs that ``env`` makes visible."""
    everything = _query(_QUERY) or _query({name: _QUERY[name] for name in _NEEDED})
    if everything is None:
        return Machine(None, None, None, None)
    seen = [row for row in everything if _visible(row, env.get("CUDA_VISIBLE_DEVICES"))]
    gpus = [_gpu(row) for row in seen]
    topology = _ask("topo", "-m")
    return Machine(
        gpus=gpus,
        driver=next((gpu.driver for gpu in gpus), None),
        topology=re.sub(r"\x1b\[[0-9;]*m", "", topology).strip() if topology else None,
        other_gpu_processes=_processes({row["uuid"] for row in seen}),
    )


def _query(fields: dict[str, str]) -> list[dict[str, str]] | None:
    """One row a GPU; None when nvidia-smi is not there or does not know one of the fields."""
    rows = _ask(f"--query-gpu={','.join(fields.values())}", "--format=csv,noheader,nounits")
    if rows is None:
        return None
    return [dict(zip(fields, row.split(", "), strict=False)) for row in rows.splitlines() if row.strip()]


def _ask(*arguments: str) -> str | None:
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _visible(row: dict[str, str], devices: str | None) -> bool:
    if devices is None:
        return True
    return any(
        d == row["index"] or (d and row["uuid"].startswith(d)) for d in devices.replace(" ", "").split(",")
    )


def _gpu(row: dict[str, str]) -> Gpu:
    numbers = {k: _number(v) for k, v in row.items() if k.endswith(("_w", "_mhz", "_mib"))}
    return Gpu(
        index=int(row["index"]),
        name=row["name"],
        uuid_hash=digest(row["uuid"]),
        persistence=row.get("persistence"),
        driver=row.get("driver"),
        **numbers,
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _processes(uuids: set[str]) -> int | None:
    rows = _ask("--query-compute-apps=pid,gpu_uuid", "--format=csv,noheader")
    if rows is None:
        return None
    return sum(row.split(", ")[-1].strip() in uuids for row in rows.splitlines())


def digest(text: str) -> str:
    """A short hash that tells hosts and GPUs apart without naming them (first 16 hex digits of SHA-256)."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def host(show: bool = False) -> str:
    """The host's name: hashed, unless it may be shown."""
    return socket.gethostname() if show else digest(socket.gethostname())


def git_commit(folder: Path | None = None) -> str | None:
    """The commit that is checked out here, with ``+dirty`` when tracked files differ; None outside git."""
    where = ["git", "-C", str(folder or Path.cwd())]
    try:
        head = subprocess.run([*where, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10)
        changed = subprocess.run([*where, "diff", "--quiet", "HEAD"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return head.stdout.strip() + ("+dirty" if changed.returncode else "") if head.returncode == 0 else None


def hub_cache(env: dict[str, str]) -> Path:
    """Where downloaded models lie: HF_HUB_CACHE, or hub/ under HF_HOME."""
    cache = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = Path(env.get("HF_HOME") or cache / "huggingface")
    return Path(env.get("HF_HUB_CACHE") or home / "hub")
