"""Going on with a campaign: whether its next sessions would run as its first ones did.

A campaign that is resumed in another shell, or after an upgrade, is two experiments under one name: what the
first shell exported by hand is gone. So ``campaign.json`` keeps what the shell had, and the versions.
"""

from collections.abc import Iterator, Mapping, Sequence

from speclog.launch import environment, machine
from speclog.launch.interpreter import Answer
from speclog.launch.profile import Profile

_VERSIONS = ("sglang", "torch", "nccl", "cuda")


def setting(
    shell: Mapping[str, str], answer: Answer, here: machine.Machine
) -> dict[str, dict[str, str | None]]:
    """What the profiles do not decide: recorded variables of the shell, versions, driver, GPUs by name."""
    versions = {name: getattr(answer, name) for name in _VERSIONS}
    names = ", ".join(sorted({gpu.name for gpu in here.gpus})) if here.gpus is not None else None
    return {
        "env": dict(environment.recorded(shell)),
        "versions": versions | {"driver": here.driver, "gpu": names},
    }


def moved(
    then: Mapping[str, Mapping[str, str | None]],
    now: Mapping[str, Mapping[str, str | None]],
    arms: Sequence[Profile],
) -> Iterator[tuple[str, str]]:
    """What differs from when the campaign began, as (name, sentence); nothing where it was not kept.

    A variable that every arm sets or unsets itself, and one that cannot change speed, does not count; nor
    does a version or GPU that one of both times could not be asked for.
    """
    harmless = tuple(environment.rules()["harmless"])
    before, after = then.get("env"), now["env"]
    if before is not None:
        for name in sorted(before.keys() | after.keys()):
            decided = all(name in arm.env or name in arm.unset_env for arm in arms)
            if before.get(name) != after.get(name) and not decided and not name.startswith(harmless):
                yield (
                    name,
                    f"{_said(before.get(name))} when this campaign began, {_said(after.get(name))} now",
                )
    for name, value in then.get("versions", {}).items():
        current = now["versions"].get(name)
        if value is not None and current is not None and value != current:
            yield name, f"{value} when this campaign began, {current} now"


def _said(value: str | None) -> str:
    return "unset" if value is None else value
