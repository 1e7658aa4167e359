"""The interpreter that has SGLang: finding it, asking for versions and about our arguments."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speclog.errors import LaunchError, UsageError
from speclog.launch.schema import nearest


@dataclass(frozen=True)
class Answer:
    """What the interpreter said: versions (None: unknown), plugins, GPUs torch sees, refused arguments."""

    executable: str
    python: str
    sglang: str | None
    torch: str | None
    cuda: str | None
    nccl: str | None
    gpus: list[str] | None
    plugins: list[str]
    refused: list[str | None]
    torch_error: str | None = None


def find(name: str) -> str:
    """The path of an interpreter given by name or path; empty means the one speclog runs in.

    Raises LaunchError (preflight) when there is none.
    """
    path = shutil.which(name) if name else sys.executable
    if path is None:
        raise LaunchError(
            f"no Python interpreter '{name}': set --python or [launch] python", step="preflight"
        )
    return path


_BOOT = (
    "import sys; del sys.path[0], sys.argv[0]; import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"
)


def command(python: str, script: str, *words: str) -> list[str]:
    """The command line that runs one of our scripts in another interpreter, our folder not on its path."""
    return [python, "-c", _BOOT, str(Path(__file__).with_name(script)), *words]


_PATIENCE_S = 600.0


def ask(
    python: str,
    arguments: Sequence[Sequence[str]],
    env: dict[str, str],
    check: Callable[[], None] = lambda: None,
) -> Answer:
    """Ask an interpreter for its versions and about argument lists. Takes as long as importing SGLang.

    ``check`` is called all the while and may raise: the interpreter is ended then. Raises LaunchError
    (preflight) when it cannot be run or SGLang is not installed in it.
    """
    code, said, complaint = _converse(python, json.dumps([list(a) for a in arguments]), env, check)
    if code != 0:
        last = (complaint.strip().splitlines() or ["no word why"])[-1]
        raise LaunchError(f"{python} failed when asked about SGLang: {last}", step="preflight")
    told = _parsed(said)
    if told is None:
        raise LaunchError(f"{python} is no Python interpreter: it said {said[:80]!r}", step="preflight")
    if told["sglang"] is None:
        raise LaunchError(
            f"no SGLang in {python}: name the interpreter that has it with --python (or [launch] python),"
            " or install it: pip install sglang",
            step="preflight",
        )
    return Answer(**told)


def _converse(
    python: str, question: str, env: dict[str, str], check: Callable[[], None]
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the probe, in a session of its own: a Ctrl-C is ours, not its."""
    try:
        probe = subprocess.Popen(
            command(python, "probe.py"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise LaunchError(f"{python} cannot be run: {error.strerror}", step="preflight") from error
    asked: str | None = question
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            try:
                said, complaint = probe.communicate(asked, timeout=0.2)
                return probe.returncode, said, complaint
            except subprocess.TimeoutExpired:
                asked = None  # what was written once is not written again
            check()
            if time.monotonic() > deadline:
                raise LaunchError(f"{python} did not answer in {_PATIENCE_S:.0f} s", step="preflight")
    finally:
        if probe.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(probe.pid, signal.SIGKILL)
            probe.communicate()


def _parsed(said: str) -> dict[str, Any] | None:
    """The probe's answer, on its last line; None when that is none."""
    try:
        told = json.loads(said.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None
    return told if isinstance(told, dict) and "sglang" in told else None


def check_arguments(refused: str | None, arm: str, version: str | None) -> None:
    """Raise UsageError when SGLang's parser refused the arguments of an arm, with the nearest option."""
    if refused is None:
        return
    if refused.startswith("import: "):
        raise LaunchError(f"SGLang {version} cannot be imported: {refused[8:]}", step="preflight")
    said = json.loads(refused)
    unknown = said["text"].partition("unrecognized arguments: ")[2].split(" ")[0]
    hint = nearest(unknown, said["options"]) if unknown else ""
    raise UsageError(f"{arm}: SGLang {version} does not take these server arguments: {said['text']}{hint}")


def check_version(wanted: str, version: str | None, arm: str) -> None:
    """Raise UsageError when SGLang's version is not what the profile is for (``>=0.5.10,<0.6``)."""
    for part in filter(None, (p.strip() for p in wanted.split(","))):
        sign = next((s for s in (">=", "<=", "==", "!=", ">", "<") if part.startswith(s)), "==")
        bound = part.removeprefix(sign).strip()
        if version is None or not _HOLDS[sign](_key(version), _key(bound)):
            raise UsageError(f"{arm}: made for SGLang {wanted}, here is {version or 'an unknown version'}")


_HOLDS = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def _key(version: str) -> tuple[tuple[int, int], ...]:
    """Order of versions as SGLang numbers them: 0.5.6rc1 < 0.5.6 < 0.5.6.post2 < 0.5.7."""
    parts: list[tuple[int, int]] = []
    for word in version.split("+")[0].replace("rc", ".rc").split("."):
        kind = -1 if word.startswith("rc") else 1 if word.startswith("post") else 0
        digits = "".join(c for c in word if c.isdigit())
        parts.append((kind, int(digits or 0)))
    return (*parts, (0, 0)) if len(parts) < 4 else tuple(parts)
