"""From a profile to the command line and environment of one session."""

import contextlib
import os
import random
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speclog.errors import LaunchError, UsageError
from speclog.launch import dummy_model, environment, interpreter, server_args
from speclog.launch.manifest import Session
from speclog.launch.profile import Profile

PROFILER = "speclog_eagle3"
_PORTS = range(20000, 32000)
FROM_ENV = re.compile(r"\{env:(\w+)\}")


def session(
    profile: Profile, repeat: int = 1, base: Mapping[str, str] | None = None, python: str = "", rank: int = 0
) -> Session:
    """Resolve placeholders, port, interpreter and environment of a profile.

    ``base`` is the environment that the profile's is laid over (the shell's by default); ``python`` overrides
    the profile's interpreter. Writes dummy models where the profile asks for them. Raises UsageError when a
    placeholder has no model or the profiler plugin is missing, LaunchError when there is no interpreter.
    """
    server = arguments(profile, rank)
    executable = interpreter.find(python or profile.options.python)
    return Session(
        profile=profile,
        repeat=repeat,
        argv=[executable, "-m", *profile.options.module.split(), *server_args.to_argv(server)],
        env=variables(profile, os.environ if base is None else base),
        model_path=str(server["model_path"]),
        plugins=(PROFILER,) if profile.options.profiler else (),
        node_rank=rank,
    )


def arguments(profile: Profile, rank: int = 0, expand: bool = True) -> dict[str, Any]:
    """The server arguments with placeholders filled, the port chosen (0: a free one) and the node's rank.

    Without ``expand``, ``{env:NAME}`` stays as it is: what it stands for may be a secret.
    """
    target, draft = profile.models.target, profile.models.draft
    if profile.models.dummy:
        target, draft = map(str, dummy_model.make(profile.models.dummy))
    filled = {name: _fill(profile, value, target, draft) for name, value in profile.server.items()}
    if expand:
        filled = {name: _expand(profile, value) for name, value in filled.items()}
    filled["port"] = filled.get("port") or (30000 if "port" not in filled else free_port())
    if not 0 < int(filled["port"]) < 65536:
        raise UsageError(f"{profile.arm}: port must be 1 to 65535 (0: any free one), not {filled['port']}")
    return filled | ({"node_rank": rank} if rank else {})


def _fill(profile: Profile, value: Any, target: str, draft: str) -> Any:
    if not isinstance(value, str):
        return value
    for name, path in (("{target}", target), ("{draft}", draft)):
        if name in value and not path:
            raise UsageError(f"{profile.arm}: {name} is used, but [models] {name[1:-1]} is not set")
        value = value.replace(name, path)
    return value


def _expand(profile: Profile, value: Any) -> Any:
    """Replace ``{env:NAME}`` by the value of the variable NAME, so that secrets need not be written down."""
    for name in FROM_ENV.findall(value) if isinstance(value, str) else ():
        if name not in os.environ:
            raise UsageError(f"{profile.arm}: {{env:{name}}} is used, but {name} is not set in this shell")
        value = value.replace(f"{{env:{name}}}", os.environ[name])
    return value


def variables(profile: Profile, base: Mapping[str, str]) -> dict[str, str]:
    """The server's environment: ``base``, the profile's variables, PYTHONPATH with its folders.

    Raises UsageError when ``{env:NAME}`` stands for a variable that this shell has not.
    """
    own = {name: _expand(profile, value) for name, value in profile.env.items()}
    env = environment.compose(base, own, profile.unset_env)
    if paths := folders(profile):
        env["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [env.get("PYTHONPATH")])])
    return env


def folders(profile: Profile) -> list[str]:
    """Folders a profile puts on PYTHONPATH: the profiler's, its own. Raises UsageError if one is missing."""
    for folder in profile.options.pythonpath:
        if not Path(folder).is_dir():
            raise UsageError(f"{profile.name}: [launch] pythonpath: no folder {folder}")
    return [*_profiler_folder(profile), *profile.options.pythonpath]


def _profiler_folder(profile: Profile) -> list[str]:
    if not profile.options.profiler:
        return []
    from speclog import profiler

    path = getattr(profiler, "bootstrap_path", None)
    if path is None:
        raise UsageError(f"{profile.arm}: this installation of speclog lacks the profiler plugin")
    return [str(path())]


def free_port() -> int:
    """A TCP port of 127.0.0.1 that is free now, low enough for those SGLang derives from it (+10000)."""
    for port in random.sample(_PORTS, 200):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise LaunchError("no free port between 20000 and 32000", step="preflight")
