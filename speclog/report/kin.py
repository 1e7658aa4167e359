"""Runs that belong together: repeats of one server, the same server with other steps, profiled or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from speclog.report.model import Run

if TYPE_CHECKING:
    from speclog.analysis.design import Difference, Records
    from speclog.store import Store

STEPS = frozenset({"arg.speculative_num_steps", "arg.speculative_num_draft_tokens"})
PROFILING = frozenset({"fact.profiling"})
AT_MOST = 12
"""Relatives looked at for one run and one treatment: the newest."""
_ALIKE = attrgetter("engine", "model", "speculative", "algorithm", "topk", "version", "synthetic")
"""What relatives have in common."""


class Kin:
    """The relatives of runs, as `analysis.design` judges them.

    Unknown is never equal: repeats are only what is proven to be the same server on the same machine.
    ``other_steps`` and ``twins`` may be unproven, which whoever shows them says.
    """

    def __init__(self, store: Store, known: Mapping[str, Run], runs: Iterable[Run]) -> None:
        """Look for the relatives of ``runs`` among the runs of the store: one read for all of them."""
        from speclog.analysis import design

        self._known = known
        self._near = {run.run_id: _near(run, known.values()) for run in runs}
        wanted = [run_id for one, found in self._near.items() if found for run_id in (one, *found)]
        self._records: Records | None = design.load(store, wanted) if wanted else None

    def repeats(self, run: Run) -> list[Run]:
        """The run itself first, then every other start of the same server."""
        return [run, *(other for other, difference in self._of(run) if difference.none)]

    def other_steps(self, run: Run) -> list[tuple[Run, bool]]:
        """Runs that differ in draft steps only (topk 1), and whether all else is proven equal."""
        return [
            (other, not difference.unknown)
            for other, difference in self._of(run)
            if run.topk == 1 and other.steps != run.steps and not difference.confounders
            if other.steps and difference.treatment and difference.treatment <= STEPS
        ]

    def twins(self, run: Run) -> list[tuple[Run, bool]]:
        """Runs that differ in nothing but whether they were profiled, and whether that is proven."""
        return [
            (other, not difference.unknown)
            for other, difference in self._of(run)
            if difference.confounders == PROFILING and not difference.treatment
        ]

    def _of(self, run: Run) -> list[tuple[Run, Difference]]:
        if self._records is None:
            return []
        return [
            (self._known[other], self._records.difference(run.run_id, other))
            for other in self._near.get(run.run_id, ())
        ]


def _near(run: Run, others: Iterable[Run]) -> list[str]:
    """Runs that may be relatives: the newest of each number of steps."""
    groups: dict[tuple[int | None, int | None], list[str]] = defaultdict(list)
    mine = _ALIKE(run)
    for other in others:
        if other.served and other.run_id != run.run_id and _ALIKE(other) == mine:
            groups[other.steps, other.draft_tokens].append(other.run_id)
    return [run_id for found in groups.values() for run_id in found[-AT_MOST:]]
