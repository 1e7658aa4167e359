"""The run that nobody made, as commands that start it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from speclog.console import clean

UNSET = "(unset)"
CONSEQUENCES = (
    "measure.", "fact.graph.", "fact.overlap_scheduler", "fact.custom_all_reduce", "fact.kv_tokens",
    "fact.max_running_requests", "fact.arguments",
)  # fmt: skip
"""Factors that follow from what somebody set; they need no command of their own."""


@dataclass(frozen=True)
class Wanted:
    """A factor and the value (as recorded, None: unknown) that the missing run must have.

    ``now`` is the value of the run that it is to be like in all else.
    """

    name: str
    value: str | None
    now: str | None = None


def commands(wanted: Iterable[Wanted], launched: Launched | None, arm: str = "candidate") -> list[str] | None:
    """Shell lines that start the missing run; None when a factor cannot be set from a shell (driver, GPU).

    ``launched`` says how the run that it is like was started: the command repeats its profile, overlays and
    changes, and adds what is ``wanted``. A variable that this run had unset is exported; one that it had set
    (by its profile, as far as anybody knows), and server arguments, become ``--set`` of ``speclog launch``. A
    run without a profile is to be started again by hand, which the last line says.
    """
    causes = [one for one in wanted if not one.name.startswith(CONSEQUENCES)]
    if not causes or not all(_NAME.fullmatch(one.name) and one.value is not None for one in causes):
        return None
    if launched is None:
        shell = [_variable(one) for one in causes if one.name.startswith("env.")]
        sets = [clean(shlex.quote(_setting(one))) for one in causes if one.name.startswith("arg.")]
        told = f" with {' '.join(sets)}" if sets else ""
        return [*shell, f"# start the server of the {arm} again{told}"]
    exported = [one for one in causes if one.name.startswith("env.") and one.now == UNSET != one.value]
    changed = [_setting(one) for one in causes if one not in exported]
    return [*map(_variable, exported), launched.command(changed)]


_NAME = re.compile(r"env\.[A-Za-z_][A-Za-z0-9_]*|arg\.[A-Za-z0-9][A-Za-z0-9_]*")
"""What a shell or ``--set`` can change: names come from logs, and the commands are there to be copied."""
_PROFILE = re.compile(r"[A-Za-z0-9_./~][\w./~@:-]*")


@dataclass(frozen=True)
class Launched:
    """How ``speclog launch`` started a run: profile, overlays, and changes (``--set``) in their order."""

    profile: str
    overlays: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @classmethod
    def of(cls, profile: str | None, overlays: Iterable[str], arm: str | None) -> Launched | None:
        """From what the manifest holds; None for a run without a profile, or whose arm cannot be told apart.

        ``arm`` is ``profile+overlay+... name=value name=value`` (`launch.profile.Profile.arm`), or a name
        that somebody gave it.
        """
        over = tuple(overlays)
        if not profile or not all(_PROFILE.fullmatch(name) for name in (profile, *over)):
            return None
        head = "+".join((profile, *over))
        if arm is None or arm == head or "=" not in arm:
            return cls(profile, over)
        if not arm.startswith(f"{head} "):
            return None
        changes = tuple(re.split(r" (?=[A-Za-z_][\w.]*=)", arm.removeprefix(f"{head} ")))
        return cls(profile, over, changes) if all("=" in change for change in changes) else None

    @property
    def name(self) -> str:
        """The profile with its overlays, as ``speclog launch`` takes it: ``llama8b-baseline+tp2``."""
        return "+".join((self.profile, *self.overlays))

    def command(self, changes: Iterable[str] = (), *more: str) -> str:
        """The command that starts this run again, with further ``changes`` in place of its own."""
        new = list(changes)
        replaced = {_key(change) for change in new}
        kept = [change for change in self.changes if _key(change) not in replaced]
        words = ["speclog", "launch", self.profile]
        words += [word for overlay in self.overlays for word in ("--with", overlay)]
        words += [word for change in (*kept, *new) for word in ("--set", change)]
        return shlex.join([*words, *more])


def both(first: Launched, second: Launched, *more: str) -> list[str]:
    """The commands that start two arms again: one, in turn, where both have the same changes."""
    if first.changes != second.changes:
        return [first.command((), *more), second.command((), *more)]
    sets = [word for change in first.changes for word in ("--set", change)]
    return [shlex.join(["speclog", "launch", first.name, second.name, *sets, *more])]


def _key(change: str) -> str:
    """What a change changes, whichever way it is written: ``NCCL_ALGO=Ring`` and ``env.NCCL_ALGO=Ring``."""
    name = change.partition("=")[0]
    return name if "." in name else f"{'env' if name.isupper() else 'server'}.{name}"


def _variable(one: Wanted) -> str:
    name = one.name.removeprefix("env.")
    return f"unset {name}" if one.value == UNSET else f"export {name}={shlex.quote(one.value or '')}"


def _setting(one: Wanted) -> str:
    value = one.value or ""
    if one.name.startswith("env."):
        return f"{one.name}={'unset' if value == UNSET else value}"
    try:
        told = json.loads(value)
    except ValueError:
        told = value
    text = "unset" if told in (None, UNSET) else told if isinstance(told, str) else json.dumps(told)
    return f"{one.name.removeprefix('arg.')}={text}"
