"""Tuning that was measured on another machine than the run that uses it.

A launch profile or overlay that carries tuning says where it was measured (``[evidence]``, docs/launch.md). A
run started from it on another GPU, driver or NCCL may still be tuned well; nobody knows, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speclog.store import Store

FACTS = {"gpu": "gpu.name", "driver": "driver", "nccl": "nccl", "torch": "torch", "sglang": "version"}
"""Keys of an ``[evidence]`` table that can be compared, and the fact of a run each is compared with."""
WORDS = {"gpu": "GPU", "driver": "driver", "nccl": "NCCL", "torch": "torch", "sglang": "SGLang"}

Evidence = Mapping[str, str]
Told = Callable[[str], Evidence | None]
"""The ``[evidence]`` of a profile or overlay by its name, None where there is none."""


@dataclass(frozen=True)
class Stale:
    """One thing that was another when the tuning ``source`` was measured; ``now`` None: not recorded."""

    source: str
    key: str
    then: str
    now: str | None

    @property
    def text(self) -> str:
        """In words."""
        word = WORDS[self.key]
        if self.now is None:
            return f"tuning {self.source} was measured on {word} {self.then}; this run's is not recorded"
        return f"tuning {self.source} was measured on {word} {self.then}, this run has {self.now}"


def stale(source: str, evidence: Evidence, known: Mapping[str, str]) -> list[Stale]:
    """What of a tuning's evidence a run does not share. ``known``: the run's facts by name."""
    found = []
    for key, fact in FACTS.items():
        then, now = evidence.get(key), known.get(fact)
        if then and (now is None or not _same(then, now)):
            found.append(Stale(source, key, then, now))
    return found


def _same(then: str, now: str) -> bool:
    """Whether two versions may be one: ``2.11.0`` does not say which build it was, ``2.11.0+cu130`` does."""
    builds = [text.partition("+") for text in (then, now)]
    return then == now or (builds[0][0] == builds[1][0] and not all(plus for _, plus, _ in builds))


def load(store: Store, run_ids: Sequence[str], told: Told | None = None) -> dict[str, list[Stale]]:
    """What is stale about the tuning of some runs, by run_id; runs with nothing to say are left out.

    A manifest records the evidence of its profile and overlays (facts ``evidence.SOURCE.KEY``). For runs
    whose manifest only names them, ``told`` is asked.
    """
    wanted = list(dict.fromkeys(run_ids))
    sql = """
        SELECT run_id, name, trim(value, '"') FROM fact WHERE list_contains(?, run_id) AND value IS NOT NULL
    """
    facts: dict[str, dict[str, str]] = {run_id: {} for run_id in wanted}
    for run_id, name, value in store.rows(sql, [wanted]):
        facts[run_id][name] = value
    named = "SELECT run_id, profile, overlays, version FROM run WHERE list_contains(?, run_id)"
    found = {}
    for run_id, profile, overlays, version in store.rows(named, [wanted]):
        known = facts[run_id] | ({"version": version} if version else {})
        sources = _recorded(facts[run_id]) or _named([profile, *(overlays or [])], told)
        listed = [one for source, evidence in sources.items() for one in stale(source, evidence, known)]
        if listed:
            found[run_id] = listed
    return found


def _recorded(facts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, value in facts.items():
        if name.startswith("evidence."):
            source, _, key = name.removeprefix("evidence.").rpartition(".")
            found.setdefault(source, {})[key] = value
    return found


def _named(names: Sequence[str | None], told: Told | None) -> dict[str, Evidence]:
    if told is None:
        return {}
    asked = {name: told(name) for name in names if name}
    return {name: evidence for name, evidence in asked.items() if evidence}
