"""Several arms at one batch size and one context: the place where all of them can be read off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from speclog.analysis.estimate import Arm, arm_at
from speclog.analysis.scatter import uncertainty
from speclog.analysis.side import Part, Side

MIN_WINDOWS = 2
NO_SCATTER = "too few clean windows to tell how much they scatter"


@dataclass(frozen=True)
class Together:
    """Arms read off at one batch size and context (tokens a request), in the order they were given."""

    batch_size: int
    context: float
    parts: tuple[Part, ...]
    arms: tuple[Arm, ...]

    @property
    def kind(self) -> str:
        """The kind of interval: ``between-run`` only where every arm has repeats, partly so where one has."""
        repeated = [kind == "between-run" for kind in self.kinds]
        return "between-run" if all(repeated) else "partly between-run" if any(repeated) else "within-run"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of interval of each arm by itself."""
        known = [uncertainty(part) for part in self.parts]
        return tuple("between-run" if one is not None and one.between_runs else "within-run" for one in known)


def together(sides: Sequence[Side], batch_size: int) -> Together | str:
    """Read all sides off at the middle of the contexts they share, or say why that cannot be done.

    Of several stretches of context that all share: the one where the smallest part has most windows, then
    the widest; batches of unequal requests meet batches of equal ones only where nothing else is in common.
    Nothing is extrapolated.
    """
    listed = [side.at(batch_size) for side in sides]
    if not all(listed):
        return f"not every run has a clean window at batch size {batch_size}"
    found = _alike(listed) or _over(listed)
    if not found:
        return f"no context is common to all runs at batch size {batch_size}"
    parts, low, high = max(found, key=lambda one: (min(part.n for part in one[0]), one[2] - one[1]))
    if min(part.n for part in parts) < MIN_WINDOWS:
        return f"one clean window at the common context {(low + high) / 2:.0f} of one run: two are needed"
    context = (low + high) / 2
    arms = [arm_at(part, context) for part in parts]
    known = tuple(arm for arm in arms if arm is not None)
    if len(known) < len(parts):
        return NO_SCATTER
    if min(arm.round_ms for arm in known) <= 0:
        return "the fitted round time is not positive"
    return Together(batch_size, context, tuple(parts), known)


def common_sizes(sides: Sequence[Side]) -> list[int]:
    """Batch sizes at which every side has a clean window, ascending."""
    sizes = [set(side.batch_sizes) for side in sides]
    return sorted(set.intersection(*sizes)) if sizes else []


Chosen = tuple[list[Part], float, float]


def _alike(listed: Sequence[Sequence[Part]]) -> list[Chosen]:
    """What parts of one kind of batch share, with the windows that a number needs."""
    kinds = [[[part for part in parts if part.mixed == mixed] for parts in listed] for mixed in (False, True)]
    made = [chosen for kind in kinds if all(kind) for chosen in _over(kind)]
    return [chosen for chosen in made if min(part.n for part in chosen[0]) >= MIN_WINDOWS]


def _over(listed: Sequence[Sequence[Part]]) -> list[Chosen]:
    return [made for low, high in _stretches(listed) if (made := _parts_over(listed, low, high))]


def _stretches(listed: Sequence[Sequence[Part]]) -> list[tuple[float, float]]:
    """Between neighbouring ends of parts, no part begins or ends."""
    ends = sorted({end for parts in listed for part in parts for end in (part.context_min, part.context_max)})
    return list(pairwise(ends)) or [(end, end) for end in ends]


def _parts_over(listed: Sequence[Sequence[Part]], low: float, high: float) -> Chosen | None:
    """The fullest part of each side over a stretch, and all the context these share; None where one lacks."""
    chosen = []
    for parts in listed:
        over = [part for part in parts if part.context_min <= low and high <= part.context_max]
        if not over:
            return None
        chosen.append(max(over, key=lambda part: (part.n, not part.eager, -part.band)))
    return chosen, max(part.context_min for part in chosen), min(part.context_max for part in chosen)
