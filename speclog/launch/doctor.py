"""All checks at once, for ``speclog doctor``: a check that cannot be made is shown, never raised."""

import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from speclog.errors import LaunchError, SpeclogError
from speclog.launch import checks, interpreter, machine, resolve, server_args
from speclog.launch.checks import FAIL, OK, WARN, Check
from speclog.launch.interpreter import Answer
from speclog.launch.profile import Profile, load


def examine(
    name: str | None, overlays: Sequence[str], sets: Sequence[str], python: str, folder: Path
) -> Iterator[Check]:
    """Yield what is installed here, what machine this is and, with a profile, what it lacks here.

    Raises UsageError when the profile itself is wrong.
    """
    profile = load(name, overlays, sets) if name else None
    env = resolve.variables(profile, os.environ) if profile else dict(os.environ)
    yield from checks.installed()
    answer = yield from _engine(profile, python, env)
    here = machine.look(env)
    yield from _machine(here)
    if profile is None:
        return
    yield from _needs(profile, answer, here, folder)


def _engine(
    profile: Profile | None, python: str, env: dict[str, str]
) -> Generator[Check, None, Answer | None]:
    try:
        executable = interpreter.find(python or (profile.options.python if profile else ""))
        asked = [server_args.to_argv(resolve.arguments(profile))] if profile else []
        answer = interpreter.ask(executable, asked, env)
    except LaunchError as error:
        yield Check("sglang", FAIL if profile else WARN, str(error))
        return None
    yield from checks.engine(answer)
    if profile:
        yield _accepted(profile, answer)
    return answer


def _accepted(profile: Profile, answer: Answer) -> Check:
    try:
        interpreter.check_version(profile.options.sglang, answer.sglang, profile.arm)
        interpreter.check_arguments(answer.refused[0], profile.arm, answer.sglang)
    except SpeclogError as error:
        return Check("server arguments", FAIL, str(error))
    return Check("server arguments", OK, f"SGLang {answer.sglang} takes them")


def _machine(here: machine.Machine) -> Iterator[Check]:
    yield Check("driver", OK if here.driver else WARN, here.driver or "no NVIDIA driver answers")


def _needs(profile: Profile, answer: Answer | None, here: machine.Machine, folder: Path) -> Iterator[Check]:
    yield from checks.gpus(here, checks.gpus_needed(profile))
    yield from checks.topology(here, profile)
    yield from checks.host(profile, folder)
    yield from checks.models(profile)
    yield from checks.tuning(profile, os.environ)
    yield from checks.strangers(profile, os.environ)
    yield from checks.staleness(profile, answer, here)
    yield from checks.secrets(profile)
