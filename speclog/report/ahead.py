"""The runs that a report names, read and compared by another thread while the tables it rests on are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speclog.errors import UsageError
from speclog.runs import resolve
from speclog.store import open_store

if TYPE_CHECKING:
    from speclog.report.sides import Sides
    from speclog.store import Store

FROM = 200
"""Runs of a store beyond which it pays: in smaller ones other questions are soon answered."""
MOST = 8
"""Runs that are read ahead; of more, most are shown without intervals."""


@dataclass(frozen=True)
class Named:
    """The run_ids of what was asked for by name."""

    candidates: tuple[str, ...]
    baselines: tuple[str, ...]


def named(store: Store, vs: str, candidates: Sequence[str] | None) -> Named | None:
    """What to `look` at, by view ``run``; None where it does not pay.

    None of a lake either: another connection may see another state of it.
    """
    if store.is_lake or vs == "baseline" or not candidates:
        return None
    if store.rows("SELECT count(*) FROM run")[0][0] <= FROM:
        return None
    try:
        mine = {run_id: None for text in candidates for run_id in resolve(store, text)}
        found = Named(tuple(mine), tuple(resolve(store, vs)))
    except UsageError:
        return None  # whoever makes the report says so
    return found if len({*found.candidates, *found.baselines}) <= MOST else None


def look(target: str, runs: Named, lock_timeout: float) -> Sides:
    """Read the runs by a connection of its own, and resample each; one pair is compared too.

    Raises StoreError when the store cannot be read.
    """
    from speclog.analysis.scatter import uncertainty
    from speclog.report.sides import Sides

    with open_store(target, lock_timeout=lock_timeout) as store:
        sides = Sides(store)
        sides.read([*runs.candidates, *runs.baselines])
    for run_id in (*runs.candidates, *runs.baselines):
        for part in sides.side((run_id,)).parts:
            uncertainty(part)
    if len(runs.candidates) == len(runs.baselines) == 1:
        compared = sides.compared(runs.candidates, runs.baselines)
        for size, speedup in compared.select("batch_size", "speedup").iter_rows():
            if speedup is not None:
                sides.curve(runs.candidates, runs.baselines, size)
    return sides
