"""Runs of two engines: compared only when somebody asks for it, and said to be so wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from speclog.store import Store

OPTION = "--cross-engine"
WHY = "two engines do not define throughput and accept length alike"
ASK = f"{OPTION} compares anyway, and says so"
NOT_NAMED = f"{OPTION}: name the run of the other engine with --vs"

_PAIRS = """
SELECT c.run_id, c.name, c.engine, b.run_id, b.name, b.engine
FROM run AS c JOIN run AS b ON b.run_id <> c.run_id AND list_contains(?, b.run_id)
WHERE c.served AND b.served
    AND CASE WHEN ? IS NULL THEN c.speculative ELSE list_contains(?, c.run_id) END
"""


def refusal(theirs: Iterable[str], mine: Iterable[str]) -> str:
    """Why a baseline of some engines is not compared with a candidate of others, and what does."""
    there, here = (" or ".join(sorted(engines)) for engines in (theirs, mine))
    return f"the baseline is a {there} run, the candidate {here}: {WHY} ({ASK})"


def label(candidate: str, baseline: str) -> str:
    """What is said of a comparison of two engines; ``as asked for`` where they are one."""
    return f"another engine: {candidate} against {baseline}" if candidate != baseline else "as asked for"


def compare_as_asked(
    store: Store, candidates: Sequence[str] | None, baselines: Sequence[str]
) -> list[dict[str, Any]]:
    """The verdict on every candidate (run_ids; None: the speculative runs) with every baseline, both served.

    Whatever they are: of two engines, both with speculation or both without. Columns: those of macro
    ``compare`` and candidate_name, candidate_engine, baseline_name, baseline_engine.
    """
    some = None if candidates is None else list(candidates)
    made = []
    for mine, name, engine, theirs, other, other_engine in store.rows(_PAIRS, [list(baselines), some, some]):
        names, found = store.result("SELECT * FROM compare(?, ?)", [mine, theirs])
        row = dict(zip(names, found[0], strict=True))
        row |= {"candidate_name": name, "candidate_engine": engine}
        made.append(row | {"baseline_name": other, "baseline_engine": other_engine})
    return made
