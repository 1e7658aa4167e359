"""Preflight: what is here, what is missing, what would be unfair. Looks, never changes anything."""

import os
import resource
import shlex
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speclog.launch import environment, machine
from speclog.launch.interpreter import Answer
from speclog.launch.profile import Profile
from speclog.launch.resolve import arguments

OK, WARN, FAIL, UNKNOWN = "ok", "warn", "fail", "unknown"
_BUSY_SHARE = 0.05
_LOG_SPACE_MIB = 200


@dataclass(frozen=True)
class Check:
    """One thing looked at: ``ok``, ``warn``, ``fail`` or ``unknown``, what was found, and what mends it."""

    check: str
    status: str
    found: str
    mend: str = ""


def installed() -> Iterator[Check]:
    """What speclog itself needs: Python and the packages of ingest and report."""
    import importlib.metadata
    import platform

    yield Check("python", OK, platform.python_version())
    for package, use in (("polars", "ingest"), ("duckdb", "ingest, report"), ("altair", "report")):
        try:
            yield Check(package, OK, importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            yield Check(package, WARN, f"not installed: no {use} here", f"pip install {package}")


def engine(answer: Answer) -> Iterator[Check]:
    """What the server's interpreter has."""
    yield Check("interpreter", OK, f"{answer.executable} (Python {answer.python})")
    yield Check("sglang", OK, answer.sglang or "?")
    if answer.torch_error:
        yield Check(
            "torch", FAIL, f"{answer.torch}: {answer.torch_error}", "reinstall torch in that interpreter"
        )
    else:
        yield Check(
            "torch", OK, f"{answer.torch}, CUDA {answer.cuda or 'none'}, NCCL {answer.nccl or 'none'}"
        )
    yield Check("plugins", OK, ", ".join(answer.plugins) or "none")


def gpus(here: machine.Machine, needed: int) -> Iterator[Check]:
    """GPUs: visible, enough, idle, alike, and not held back by power caps."""
    if here.gpus is None:
        yield Check(
            "gpus",
            UNKNOWN if not needed else FAIL,
            "nvidia-smi does not answer",
            "nvidia-smi" if needed else "",
        )
        return
    names = sorted({gpu.name for gpu in here.gpus})
    enough = len(here.gpus) >= needed
    fewer = f"set tp_size to {len(here.gpus)}, or " if here.gpus else ""
    mend = "" if enough else f"{fewer}widen CUDA_VISIBLE_DEVICES"
    counted = f"{len(here.gpus)} of {needed} needed"
    yield Check("gpus", OK if enough else FAIL, f"{counted}: {', '.join(names)}" if names else counted, mend)
    yield from _idle(here)
    yield from _alike(here.gpus)
    for gpu in here.gpus:
        yield from _held_back(gpu)


def _idle(here: machine.Machine) -> Iterator[Check]:
    busy = [
        g for g in here.gpus or [] if (g.memory_used_mib or 0) > _BUSY_SHARE * (g.memory_mib or float("inf"))
    ]
    others = here.other_gpu_processes
    if busy or others:
        which = (
            ", ".join(f"GPU {g.index} holds {g.memory_used_mib:.0f} MiB" for g in busy) or "memory is free"
        )
        yield Check(
            "gpus idle",
            FAIL,
            f"{others} other processes; {which}",
            "nvidia-smi, then end them or pick other GPUs",
        )
    elif here.gpus:
        yield Check("gpus idle", UNKNOWN if others is None else OK, "no other process")


def _alike(gpus: list[machine.Gpu]) -> Iterator[Check]:
    kinds = {(g.name, g.power_limit_w, g.clocks_max_sm_mhz) for g in gpus}
    if len(kinds) > 1:
        found = "; ".join(f"{name}, {power} W, {clock} MHz" for name, power, clock in sorted(kinds, key=str))
        yield Check("gpus alike", WARN, found, "the slowest sets the pace: use GPUs that are alike")


def _held_back(gpu: machine.Gpu) -> Iterator[Check]:
    if gpu.persistence == "Disabled":
        yield Check(f"gpu {gpu.index} persistence", WARN, "off", f"sudo nvidia-smi -i {gpu.index} -pm 1")
    if gpu.power_limit_w and gpu.power_default_w and gpu.power_limit_w < gpu.power_default_w:
        found = f"{gpu.power_limit_w:g} W of {gpu.power_default_w:g} W"
        mend = f"sudo nvidia-smi -i {gpu.index} -pl {gpu.power_default_w:g}"
        yield Check(f"gpu {gpu.index} power cap", WARN, found, mend)


def topology(here: machine.Machine, profile: Profile) -> Iterator[Check]:
    """How the GPUs are linked, where more than one is used."""
    if gpus_needed(profile) < 2 or not here.topology:
        return
    rows = [
        line.split() for line in here.topology.splitlines() if line.startswith("GPU") and "X" in line.split()
    ]
    width = sum(row[0].startswith("GPU") for row in rows)
    links = {word for row in rows for word in row[1 : width + 1] if word != "X"}
    if any(link.startswith("NV") for link in links):
        yield Check("links", OK, " ".join(sorted(links)))
    else:
        tuned = "NCCL_P2P_LEVEL" in profile.env
        mend = "" if tuned else "measure --with nccl-pcie-ll against without it"
        yield Check("links", OK if tuned else WARN, f"no NVLink ({' '.join(sorted(links))})", mend)


def host(profile: Profile, folder: Path) -> Iterator[Check]:
    """Port, limits, shared memory, and room for the log."""
    server = arguments(profile)
    port = int(server["port"])
    if _port_taken(str(server.get("host", "127.0.0.1")), port):
        yield Check(
            "port", FAIL, f"{port} is taken", "--set port=0 (any free one), or end what listens there"
        )
    else:
        yield Check("port", OK, f"{port} is free")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield Check(
        "open files", OK if soft >= 4096 else WARN, str(soft), "" if soft >= 4096 else "ulimit -n 65536"
    )
    yield from _shared_memory(profile)
    yield from _room(folder)


def _port_taken(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host if host[:1].isdigit() else "127.0.0.1", port))
        except OSError:
            return True
    return False


def _shared_memory(profile: Profile) -> Iterator[Check]:
    if gpus_needed(profile) < 2 or not Path("/dev/shm").is_dir():
        return
    mib = shutil.disk_usage("/dev/shm").total >> 20
    small = mib < 1024
    yield Check(
        "/dev/shm",
        WARN if small else OK,
        f"{mib} MiB",
        "docker run --ipc=host (or --shm-size 16g)" if small else "",
    )


def _room(folder: Path) -> Iterator[Check]:
    there = next((p for p in (folder, *folder.resolve().parents) if p.is_dir()), Path("/"))
    if not os.access(there, os.W_OK):
        yield Check("log folder", FAIL, f"{folder} is not writable", "--out DIR")
        return
    mib = shutil.disk_usage(there).free >> 20
    full = mib < _LOG_SPACE_MIB
    yield Check(
        "log folder",
        FAIL if full else OK,
        f"{folder}: {mib} MiB free",
        "free some space, or --out DIR" if full else "",
    )


def store(target: str) -> Iterator[Check]:
    """Whether the store that the logs go into at the end can be written, where it is a file."""
    if target.startswith("ducklake:"):
        return
    path = Path(target).expanduser()
    folder = path.resolve().parent
    if path.exists():
        writable = path.is_file() and os.access(path, os.W_OK)
    else:
        writable = folder.is_dir() and os.access(folder, os.W_OK)
    if not writable:
        found = f"{target} cannot be {'written' if path.exists() else 'made'}: the logs could not be ingested"
        yield Check("store", FAIL, found, "--store FILE, or --no-ingest")


def models(profile: Profile) -> Iterator[Check]:
    """Whether the models are there: a directory, or in the hub's cache."""
    server = arguments(profile)
    env = environment.compose(os.environ, profile.env, profile.unset_env)
    for key in ("model_path", "speculative_draft_model_path"):
        if path := server.get(key):
            yield _model(key, str(path), env, profile)


def _model(key: str, path: str, env: dict[str, str], profile: Profile) -> Check:
    mend = (
        "--set models.target=/path/to/model" if key == "model_path" else "--set models.draft=/path/to/draft"
    )
    if Path(path).is_dir():
        there = (Path(path) / "config.json").is_file()
        return Check(
            key, OK if there else FAIL, path if there else f"{path} has no config.json", "" if there else mend
        )
    if path.startswith(("/", ".", "~")):
        return Check(key, FAIL, f"{path} is not there", mend)
    if (machine.hub_cache(env) / f"models--{path.replace('/', '--')}").is_dir():
        return Check(key, OK, f"{path} (in the hub's cache)")
    if env.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        return Check(key, FAIL, f"{path} is not in the hub's cache, and HF_HUB_OFFLINE is set", mend)
    return Check(key, WARN, f"{path} is not here yet: the server will download it", mend)


def tuning(profile: Profile, shell: Mapping[str, str]) -> Iterator[Check]:
    """The profile's variables against this shell's: what a server started by hand here would lack."""
    for name, value in profile.env.items():
        if "{env:" in value:
            continue  # it comes from this shell
        here, told = shell.get(name), environment.shown(name, value)
        if here == value:
            yield Check(name, OK, told)
        else:
            found = "unset" if here is None else environment.shown(name, here)
            secret = told != value
            mend = (
                f"export {name} as {profile.name} has it" if secret else f"export {name}={shlex.quote(value)}"
            )
            yield Check(
                name,
                WARN,
                f"{found} in this shell, {told} in {profile.arm}",
                f"{mend}  (speclog launch sets it by itself)",
            )


def strangers(profile: Profile, shell: Mapping[str, str]) -> Iterator[Check]:
    """Variables that would reach the server from the shell, not from the profile."""
    left = environment.compose(shell, {}, profile.unset_env)
    found = environment.foreign(left, profile.env)
    if found:
        words = " ".join(f"{name}={value}" for name, value in found.items())
        mend = "put them into the profile, or launch with --isolate"
        yield Check("environment", WARN, f"from this shell, not from {profile.name}: {words}", mend)


def staleness(profile: Profile, answer: Answer | None, here: machine.Machine) -> Iterator[Check]:
    """Tuning measured elsewhere or before: GPU, driver or NCCL have changed since."""
    names = {gpu.name for gpu in here.gpus or []}
    now = {
        "gpu": next(iter(names), None),
        "driver": here.driver,
        "nccl": answer.nccl if answer else None,
        "torch": answer.torch if answer else None,
        "sglang": answer.sglang if answer else None,
    }
    for source, told in profile.evidence.items():
        moved = [f"{k} {v} then, {now[k]} now" for k, v in told.items() if now.get(k) and now[k] != v]
        if moved:
            mend = f"measure again: speclog launch {profile.name} --sweep with=none,{source} --repeat 3"
            yield Check(f"tuning {source}", WARN, "; ".join(moved), mend)


def secrets(profile: Profile) -> Iterator[Check]:
    """Secrets that SGLang itself would print into the log."""
    told = [name for name in profile.server if environment.is_secret_option(name)]
    if told:
        found = f"{', '.join(told)}: SGLang prints its arguments, secrets and all, into the log"
        yield Check("secrets", WARN, found, "serve without a key on a closed port while you measure")


def gpus_needed(profile: Profile) -> int:
    """GPUs of this machine that a session uses; 0 on a CPU."""
    server = profile.server
    if server.get("device") == "cpu":
        return 0
    sizes: list[Any] = [server.get("tp_size", 1), server.get("pp_size", 1)]
    nodes = int(server.get("nnodes", 1))
    return max(1, int(sizes[0]) * int(sizes[1]) // nodes)


def preflight(
    profile: Profile, answer: Answer, here: machine.Machine, folder: Path, shell: Mapping[str, str]
) -> list[Check]:
    """All checks before a session of this profile."""
    return [
        *engine(answer),
        *gpus(here, gpus_needed(profile)),
        *topology(here, profile),
        *host(profile, folder),
        *models(profile),
        *strangers(profile, shell),
        *staleness(profile, answer, here),
        *secrets(profile),
    ]
