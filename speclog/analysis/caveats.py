"""What keeps a break-even number from being a headline, in words."""

from __future__ import annotations

from collections.abc import Iterator

from speclog.analysis.levels import FLOOR_USABLE_PCT, FLOOR_WINDOWS
from speclog.analysis.matching import Matched
from speclog.analysis.scatter import THIN
from speclog.analysis.side import Part, Side
from speclog.analysis.steady import Steady, settled

FLOOR_N_EFF = 4.0
FLOOR_KEPT = 0.8
FLOOR_OVERLAP = 0.25
"""Below this share of the shorter side's contexts the common ones are called few."""
FLOOR_PART = 0.5


def caveats(pair: Matched, candidate: Side, baseline: Side) -> list[str]:
    """Everything a reader must know before believing a number; empty when nothing speaks against it."""
    sides = (("candidate", candidate, pair.candidate), ("baseline", baseline, pair.baseline))
    found = [text for name, side, part in sides for text in _of_side(name, side, part)]
    found += _overlap(pair)
    if pair.candidate.eager != pair.baseline.eager:
        without = "candidate" if pair.candidate.eager else "baseline"
        found.append(f"the {without} ran without CUDA graphs, the other side with them")
    if pair.candidate.mixed != pair.baseline.mixed:
        unequal = "candidate" if pair.candidate.mixed else "baseline"
        found.append(f"the {unequal}'s batches mix requests of unequal length, the other side's do not")
    return found


def _overlap(pair: Matched) -> Iterator[str]:
    common = pair.context_to - pair.context_from
    mine, theirs = (part.context_max - part.context_min for part in (pair.candidate, pair.baseline))
    if common < FLOOR_OVERLAP * min(mine, theirs):
        yield (
            f"only {common:.0f} tokens of context are common: the candidate covers {mine:.0f}, "
            f"the baseline {theirs:.0f}"
        )


def _elsewhere(name: str, side: Side, part: Part) -> Iterator[str]:
    """Clean windows at the batch size that are not in the number, and of what kind they are."""
    others = [other for other in side.at(part.batch_size) if other is not part]
    total = part.n + sum(other.n for other in others)
    if part.n >= FLOOR_PART * total:
        return
    kinds: dict[str, int] = {}
    for other in others:
        kinds[_kind(other, part)] = kinds.get(_kind(other, part), 0) + other.n
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    yield f"{name}: {total - part.n} of {total} clean windows are not in this number ({listed})"


def _kind(other: Part, part: Part) -> str:
    if other.eager != part.eager:
        return "without CUDA graphs" if other.eager else "with CUDA graphs"
    if other.mixed != part.mixed:
        return "of mixed batches" if other.mixed else "of equal batches"
    return "at other contexts"


def _of_side(name: str, side: Side, part: Part) -> Iterator[str]:
    if part.n < FLOOR_WINDOWS:
        yield f"{name}: only {part.n} clean windows"
    if any(len(member.kept) < THIN for member in part.members):
        yield f"{name}: scatter is borrowed from the run's other batch sizes"
    elif part.n_eff < FLOOR_N_EFF:
        yield f"{name}: windows repeat each other, {part.n} are worth {part.n_eff:.1f}"
    usable = side.usable_pct(part.batch_size)
    if usable < FLOOR_USABLE_PCT:
        yield f"{name}: only {usable:.0f} % of its windows are clean"
    kept = sum(len(member.kept) for member in part.members)
    if kept < FLOOR_KEPT * part.n:
        yield f"{name}: {part.n - kept} of {part.n} windows lie far off the line and were trimmed"
    yield from _elsewhere(name, side, part)
    for member in part.members:
        yield from _moving(name, settled(part.offsets(member)))


def _moving(name: str, state: Steady) -> Iterator[str]:
    if state.state == "warm-up":
        yield f"{name}: its first {state.warmup} windows are {state.off_pct:+.1f} % off (warm-up)"
    if state.state == "no steady state":
        yield f"{name}: no steady state, round time moves by {state.off_pct:+.1f} %"
