"""Design of an experiment: which sessions, in an order in which drift hits all arms alike."""

import hashlib
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from speclog.errors import UsageError
from speclog.launch.profile import Profile, load


@dataclass(frozen=True)
class Request:
    """What was asked for: profiles (``name+overlay``), overlays and changes for all, sweeps, repeats."""

    profiles: tuple[str, ...]
    overlays: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    sweeps: tuple[str, ...] = ()
    matrix: bool = False
    repeat: int = 0
    interleave: bool = True


@dataclass(frozen=True)
class Run:
    """One session to be run: its arm, which repeat, and the stem of its log."""

    profile: Profile
    repeat: int

    @property
    def stem(self) -> str:
        """File name without ``.log``: the arm and the repeat, in characters any file system takes."""
        name = re.sub(r"[^\w.+,=-]", "_", self.profile.arm.replace(" ", ","))
        if len(name) > 120:
            name = f"{name[:100]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return f"{name}.r{self.repeat}"


def arms(request: Request) -> list[Profile]:
    """The arms: every profile with every value of a sweep; with ``matrix`` every combination of all sweeps.

    Without ``matrix`` each sweep varies alone, the other variables staying as the profile has them. Raises
    UsageError when two that differ have one name (two files of one stem).
    """
    sweeps = [_values(sweep) for sweep in request.sweeps]
    combinations = list(itertools.product(*sweeps)) if request.matrix else [(c,) for s in sweeps for c in s]
    found: dict[str, Profile] = {}
    for name in request.profiles:
        for combination in combinations or [()]:
            profile = _arm(name, request, combination)
            known = found.setdefault(profile.arm, profile)
            if fingerprint(known) != fingerprint(profile):
                raise UsageError(
                    f"two arms are called '{profile.arm}' and are not alike, from {known.files[-1]} and "
                    f"{profile.files[-1]}: name one file otherwise, as logs and runs are told apart by it"
                )
    return list(found.values())


def _values(sweep: str) -> list[tuple[str, str]]:
    variable, equals, values = sweep.partition("=")
    chosen = [value.strip() for value in values.split(",") if value.strip()]
    if not equals or len(chosen) < 2:
        raise UsageError(f"--sweep {sweep}: write it as NAME=a,b with two values or more")
    return [(variable, value) for value in chosen]


def _arm(name: str, request: Request, combination: Sequence[tuple[str, str]]) -> Profile:
    overlays = [value for variable, value in combination if variable == "with" and value != "none"]
    sets = [f"{variable}={value}" for variable, value in combination if variable != "with"]
    return load(name, (*request.overlays, *overlays), (*request.sets, *sets))


def schedule(request: Request) -> list[Run]:
    """The sessions in order. Interleaved: A B B A A B ..., so that a drift over time cancels; else A A B B.

    ``repeat`` 0 takes each profile's own number of repeats.
    """
    chosen = arms(request)
    repeats = {p.arm: request.repeat or p.options.repeat for p in chosen}
    if not request.interleave:
        return [Run(p, k) for p in chosen for k in range(1, repeats[p.arm] + 1)]
    rounds = range(1, max(repeats.values()) + 1)
    return [Run(p, k) for k in rounds for p in (chosen if k % 2 else chosen[::-1]) if k <= repeats[p.arm]]


def fingerprint(profile: Profile) -> str:
    """A hash of all that a profile decides; equal fingerprints are the same experiment."""
    told = {k: v for k, v in asdict(profile).items() if k not in ("files", "words", "about", "evidence")}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]
