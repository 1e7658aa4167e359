"""The run that nobody made, as commands that start it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

UNSET = "(unset)"
CONSEQUENCES = (
    "measure.", "fact.graph.", "fact.overlap_scheduler", "fact.custom_all_reduce", "fact.kv_tokens",
    "fact.max_running_requests", "fact.arguments",
)  # fmt: skip
"""Factors that follow from what somebody set; they need no command of their own."""


@dataclass(frozen=True)
class Wanted:
    """A factor and the value (as recorded, None: unknown) that the missing run must have."""

    name: str
    value: str | None


def commands(wanted: Iterable[Wanted], profile: str | None, arm: str = "candidate") -> list[str] | None:
    """Shell lines that start the missing run; None when a factor cannot be set from a shell (driver, GPU).

    Variables are exported or unset; server arguments become ``--set`` of ``speclog launch`` when the run has
    a launch ``profile``. A run without one is to be started again by hand, which the last line says.
    """
    listed = list(wanted)
    causes = [one for one in listed if not one.name.startswith(CONSEQUENCES)]
    if not causes or not all(
        one.name.startswith(("env.", "arg.")) and one.value is not None for one in causes
    ):
        return None
    shell = [_variable(one) for one in causes if one.name.startswith("env.")]
    sets = [_setting(one) for one in causes if one.name.startswith("arg.")]
    if profile is not None:
        return [
            *shell,
            " ".join(["speclog launch", shlex.quote(profile), *(f"--set {text}" for text in sets)]),
        ]
    told = f" with {' '.join(sets)}" if sets else ""
    return [*shell, f"# start the {arm}'s server again{told}"]


def _variable(one: Wanted) -> str:
    name = one.name.removeprefix("env.")
    if one.value == UNSET:
        return f"unset {shlex.quote(name)}"
    return f"export {shlex.quote(name)}={shlex.quote(one.value or '')}"


def _setting(one: Wanted) -> str:
    value = one.value or ""
    try:
        told = json.loads(value)
    except ValueError:
        told = value
    text = "unset" if told is None else told if isinstance(told, str) else json.dumps(told)
    return shlex.quote(f"{one.name.removeprefix('arg.')}={text}")
