"""A naive comparison explained: what its confounders are worth, arm by arm and one by one; what is missing.

Given a candidate, the baseline of its fair pair and the baseline of an unfair one: the two baselines differ
in the confounders only, so they say what those are worth to a plain server. A run of the candidate under the
unfair baseline's settings would say it for speculation; together they are the 2x2 of treatment and
confounder. Where the candidate has no fair pair but was run under the baseline's settings too, it is the
plain server's gain that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from speclog.analysis import shapley
from speclog.analysis.common import together
from speclog.analysis.contrast import contrast
from speclog.analysis.design import Records
from speclog.analysis.side import Side
from speclog.analysis.worth import (
    Acceptance,
    Adjusted,
    Effect,
    Reading,
    Span,
    acceptance,
    adjusted,
    effect,
    interaction,
    readings,
    smallest_common_size,
    span,
)

SideOf = Callable[[Sequence[str]], Side]
BASELINE, CANDIDATE = "baseline", "candidate"
WITHOUT, WITH = "without", "with"
REPEATS = 4
"""Runs of a cell that are pooled, the first ones of the records; more would only take longer."""
NOBODY = "nobody ran the candidate with these settings"
NO_BASELINE = "nobody ran the baseline without these settings"


@dataclass(frozen=True)
class Share:
    """What a factor is worth (or several that never change alone), averaged over every order of changes."""

    factors: tuple[str, ...]
    gain: Span


@dataclass(frozen=True)
class Attribution:
    """What explains an unfair pair. A text in place of a number says why there is none.

    ``causes``: the confounders somebody set. ``cells``: run_ids by arm and setting; an empty one is the
    missing run; ``readings``: the others at one context. ``pairs``: gain of the baseline arm, ``fair``
    against each run with the setting. ``shares``: of the baseline arm, of the candidate's where there is no
    ``fair``.
    """

    candidate: str
    fair: str | None
    naive: str
    causes: tuple[str, ...]
    batch_size: int | None
    cells: Mapping[tuple[str, str], tuple[str, ...]]
    readings: Mapping[tuple[str, str], Reading] | str
    effects: Mapping[str, Effect | str]
    pairs: Mapping[tuple[str, str], Effect | str]
    interaction: Span | str
    acceptance: Acceptance | str
    adjusted: Adjusted | str
    shares: tuple[Share, ...] | str

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Cells (arm, setting) that nobody ran."""
        return [cell for cell, runs in self.cells.items() if not runs]


def explain(
    records: Records,
    side_of: SideOf,
    candidate: str,
    fair: str | None,
    naive: str,
    *,
    changed: str | None = None,
    batch_size: int | None = None,
    confidence: float = 0.95,
) -> Attribution | str:
    """Explain the pair (candidate, naive) by its fair baseline; all are run_ids of ``records``.

    Without a fair baseline by ``changed``: the candidate under the settings of ``naive``, fair against it.
    ``side_of`` makes one arm of runs (repeats pooled). Batch size: the smallest all cells share unless given.
    A text says why nothing can be explained: two runs of an arm differ in something that is not known, or in
    the treatment, or not at all. Raises ValueError when neither ``fair`` nor ``changed`` is given.
    """
    if fair is not None:
        apart, arm = records.difference(fair, naive), "baselines"
    elif changed is not None:
        apart, arm = records.difference(candidate, changed), "candidates"
    else:
        raise ValueError("a fair baseline, or the candidate under the other settings, is needed")
    if apart.unknown:
        return f"not recorded for both {arm}: {', '.join(sorted(apart.unknown))}"
    if apart.treatment or not apart.causes:
        return f"the two {arm} do not differ in a confounder alone"
    cells = _cells(records, candidate, fair, naive, apart.causes)
    sides = {cell: side_of(runs) for cell, runs in cells.items() if runs}
    size = batch_size or smallest_common_size(list(sides.values()))
    if size is None:
        return "the runs have no batch size in common"
    found = readings(list(sides.values()), size, confidence=confidence)
    base, spec = (_both(sides, arm) for arm in (BASELINE, CANDIDATE))
    ends = (fair, naive) if fair is not None else (candidate, changed or candidate)
    return Attribution(
        candidate,
        fair,
        naive,
        tuple(sorted(apart.causes)),
        size,
        cells,
        found if isinstance(found, str) else dict(zip(sides, found, strict=True)),
        {
            BASELINE: effect(*base, size, confidence=confidence) if base else NO_BASELINE,
            CANDIDATE: effect(*spec, size, confidence=confidence) if spec else NOBODY,
        },
        _pairs(cells, side_of, size, confidence),
        interaction([*base, *spec], size, confidence=confidence)
        if base and spec
        else NOBODY
        if base
        else NO_BASELINE,
        acceptance(*spec, size, confidence=confidence) if spec else NOBODY,
        "measured: no estimate is needed"
        if spec or not base
        else adjusted(sides[CANDIDATE, WITHOUT], *base, size, confidence=confidence),
        shares(records, side_of, *ends, size, confidence=confidence),
    )


def _both(sides: Mapping[tuple[str, str], Side], arm: str) -> tuple[Side, Side] | None:
    """An arm without and with the setting; None where a cell is missing."""
    first, second = sides.get((arm, WITHOUT)), sides.get((arm, WITH))
    return None if first is None or second is None else (first, second)


def _cells(
    records: Records, candidate: str, fair: str | None, naive: str, causes: frozenset[str]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Run_ids of the four cells, repeats of the named runs included."""

    def cell(*anchors: str) -> tuple[str, ...]:
        repeats = records.like(anchors[0], records.values) if anchors else []
        return tuple(dict.fromkeys([*anchors, *repeats]))[:REPEATS]

    changed = [
        run_id
        for run_id in records.values
        if _is_changed(records, candidate, run_id, causes)
        and all(records.same(name, run_id, naive) for name in causes)
    ]
    return {
        (BASELINE, WITHOUT): () if fair is None else cell(fair),
        (BASELINE, WITH): cell(naive),
        (CANDIDATE, WITHOUT): cell(candidate),
        (CANDIDATE, WITH): cell(*changed),
    }


def _is_changed(records: Records, anchor: str, run_id: str, causes: frozenset[str]) -> bool:
    """Whether a run differs from another in these causes and in nothing else."""
    apart = records.difference(anchor, run_id)
    return apart.causes == causes and not apart.unknown and not apart.treatment


def _pairs(
    cells: Mapping[tuple[str, str], Sequence[str]], side_of: SideOf, size: int, confidence: float
) -> dict[tuple[str, str], Effect | str]:
    return {
        (without, with_it): effect(side_of([without]), side_of([with_it]), size, confidence=confidence)
        for without in cells[BASELINE, WITHOUT][:1]
        for with_it in cells[BASELINE, WITH]
    }


def shares(
    records: Records,
    side_of: SideOf,
    without: str,
    with_it: str,
    batch_size: int,
    *,
    confidence: float = 0.95,
) -> tuple[Share, ...] | str:
    """Shapley shares of the factors in which two runs of one arm differ, from all runs in between.

    Factors that no run has apart share one share. A text says why the shares are not identified: which
    settings nobody measured.
    """
    causes = records.difference(without, with_it).causes
    settings = _settings(records, without, with_it, causes)
    bundles = _bundles(causes, settings)
    if len(bundles) == 1 and len(bundles[0]) > 1:
        return f"{len(causes)} factors change together in every run: their worth is known only together"
    if len(bundles) > shapley.MOST:
        return f"{len(bundles)} factors: shares of more than {shapley.MOST} need too many runs"
    lacking = shapley.missing(bundles, {_coalition(bundles, names) for names in settings})
    if lacking:
        told = "; ".join(_said(setting) for setting in lacking[:3]) + "; ..." * (len(lacking) > 3)
        return f"{len(lacking)} of {2 ** len(bundles)} settings are not measured: {told}"
    players = list(settings)
    read = together([side_of(settings[names][:REPEATS]) for names in players], batch_size)
    if isinstance(read, str):
        return read
    found = []
    for bundle in bundles:
        weights = shapley.weights(bundles, bundle)
        signs = [-weights[_coalition(bundles, names)] for names in players]
        gain = contrast(read.arms, signs, confidence=confidence)
        found.append(Share(bundle, span(gain, read.kind, confidence)))
    return tuple(found)


def _settings(
    records: Records, without: str, with_it: str, causes: frozenset[str]
) -> dict[frozenset[str], list[str]]:
    """Runs by which of the causes they have as in ``with_it``; the others must be as in ``without``."""
    found: dict[frozenset[str], list[str]] = {}
    for run_id in sorted(records.values):
        apart = records.difference(without, run_id)
        if apart.unknown or apart.treatment or not apart.causes <= causes:
            continue
        if all(records.same(name, run_id, with_it) for name in apart.causes):
            found.setdefault(apart.causes, []).append(run_id)
    return found


def _bundles(causes: Iterable[str], settings: Iterable[frozenset[str]]) -> list[tuple[str, ...]]:
    """Factors that are the same in every setting belong together."""
    columns: dict[tuple[bool, ...], list[str]] = {}
    measured = list(settings)
    for name in sorted(causes):
        columns.setdefault(tuple(name in setting for setting in measured), []).append(name)
    return [tuple(names) for names in columns.values()]


def _coalition(bundles: Sequence[tuple[str, ...]], names: frozenset[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(bundle for bundle in bundles if names.issuperset(bundle))


def _said(setting: frozenset[tuple[str, ...]]) -> str:
    names = sorted(name.partition(".")[2] for bundle in setting for name in bundle)
    return f"{' and '.join(names)} alone" if names else "none of them"
