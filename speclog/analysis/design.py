"""The runs of a store as an experiment: which of them differ in what, and in nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speclog.store import Store

Value = str | None
UNFAIR, UNPROVEN = "unfair", "unproven"


@dataclass(frozen=True)
class Difference:
    """What two runs differ in: factors that make a pair unfair, that are not known, that are treatment.

    ``causes`` are the confounders that somebody set; what the run's own lines then show of it (``measure.*``:
    graphs ran or not) is a consequence and no factor of an experiment.
    """

    confounders: frozenset[str]
    unknown: frozenset[str]
    treatment: frozenset[str]

    @property
    def causes(self) -> frozenset[str]:
        """The confounders without consequences."""
        return frozenset(name for name in self.confounders if not name.startswith("measure."))

    @property
    def none(self) -> bool:
        """Whether the two runs are known to be the same experiment with the same treatment."""
        return not (self.confounders or self.unknown or self.treatment)


@dataclass(frozen=True)
class Records:
    """What is known of runs, in the form in which it is compared, and what each difference does.

    ``values``: by run_id and factor; a factor that is not recorded has no value. ``judged``: for a factor and
    two of its values (None: not recorded), whether they differ and what that does to a verdict.
    """

    values: Mapping[str, Mapping[str, str]]
    classes: Mapping[str, str]
    judged: Mapping[tuple[str, Value, Value], tuple[bool | None, str | None]]

    def difference(self, first: str, second: str) -> Difference:
        """What two runs (run_ids) of one arm differ in. Raises KeyError for a run that is not there."""
        mine, theirs = self.values[first], self.values[second]
        confounders, unknown, treatment = set(), set(), set()
        for name in self._telling | {name for name, _ in mine.items() ^ theirs.items()}:
            klass = self.classes[name]
            differs, does = self.judged[name, mine.get(name), theirs.get(name)]
            if klass == "treatment":
                treatment |= {name} if differs else set()
            elif does == UNFAIR:
                confounders.add(name)
            elif does == UNPROVEN:
                unknown.add(name)
        return Difference(frozenset(confounders), frozenset(unknown), frozenset(treatment))

    @cached_property
    def _telling(self) -> frozenset[str]:
        """The factors that can count although both runs have the same record of them: mostly unknown ones."""
        return frozenset(
            name
            for (name, first, second), (differs, does) in self.judged.items()
            if first == second and (differs or does in (UNFAIR, UNPROVEN))
        )

    def same(self, name: str, first: str, second: str) -> bool:
        """Whether two runs are known to have the same value of a factor."""
        differs, _ = self.judged[name, self.values[first].get(name), self.values[second].get(name)]
        return differs is False

    def like(self, run_id: str, others: Iterable[str]) -> list[str]:
        """Of other runs those that are the same experiment with the same treatment: its repeats."""
        return [other for other in others if other != run_id and self.difference(run_id, other).none]


_VALUES = "SELECT run_id, name, norm FROM factor_norm WHERE class <> 'noise' AND list_contains(?, run_id)"
_JUDGED = """
WITH entry AS MATERIALIZED (
    SELECT * FROM factor_entry WHERE class <> 'noise'
),
side AS MATERIALIZED (
    SELECT unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS norm
    UNION ALL
    SELECT name, NULL FROM entry WHERE required AND NOT list_contains(?::VARCHAR[], name)
),
met AS (
    SELECT
        e.* REPLACE (factor_required(e.required, e.once_known, a.norm, b.norm) AS required),
        a.norm AS a_norm, b.norm AS b_norm,
        factor_differs(e.how, e.tolerance, a.norm, b.norm) AS differs,
        coalesce(regexp_full_match(a.norm, e.doubtful), false)
            OR coalesce(regexp_full_match(b.norm, e.doubtful), false) AS bad
    FROM side AS a JOIN side AS b USING (name) JOIN entry AS e USING (name)
)
SELECT
    name, class, a_norm, b_norm, differs, factor_does(class, effect, otherwise, required, differs, bad)
FROM met
"""


def load(store: Store, run_ids: Sequence[str]) -> Records:
    """Read what the store knows of some runs. Differences are judged by the store's own macros."""
    wanted = list(dict.fromkeys(run_ids))
    values: dict[str, dict[str, str]] = {run_id: {} for run_id in wanted}
    for run_id, name, norm in store.rows(_VALUES, [wanted]):
        values[run_id][name] = norm
    judged: dict[tuple[str, Value, Value], tuple[bool | None, str | None]] = {}
    classes: dict[str, str] = {}
    sides = _sides(values)
    names, norms = [name for name, _ in sides], [norm for _, norm in sides]
    for name, klass, first, second, differs, does in store.rows(_JUDGED, [names, norms, names]):
        classes[name] = klass
        judged[name, first, second] = (differs, does)
    return Records(values, classes, judged)


def _sides(values: Mapping[str, Mapping[str, str]]) -> list[tuple[str, Value]]:
    """Every value of every factor; None too where some run has none."""
    found: dict[str, set[Value]] = {}
    for known in values.values():
        for name, norm in known.items():
            found.setdefault(name, set()).add(norm)
    for name, norms in found.items():
        if any(name not in known for known in values.values()):
            norms.add(None)
    return [(name, norm) for name, norms in sorted(found.items()) for norm in norms]
