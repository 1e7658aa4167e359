"""The windows of the runs that a report names, read and resampled while the tables it rests on are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speclog.errors import UsageError
from speclog.runs import resolve
from speclog.store import open_store

if TYPE_CHECKING:
    import polars as pl

    from speclog.analysis.levels import RunLevels
    from speclog.analysis.side import Side
    from speclog.store import Store

FROM = 200
"""Runs of a store beyond which it pays: in smaller ones other questions are soon answered."""
MOST = 8
"""Runs that are read ahead; of more, most are shown without intervals."""


@dataclass(frozen=True)
class Ahead:
    """What was read ahead, by run_id: windows, statistics of levels, the run as a side alone."""

    windows: dict[str, pl.DataFrame]
    levels: dict[str, RunLevels]
    sides: dict[str, Side]


def named(store: Store, vs: str, candidates: Sequence[str] | None) -> list[str]:
    """The run_ids to `look` at, by view ``run``: those asked for by name; none where it does not pay.

    None of a lake either: another connection may see another state of it.
    """
    if store.is_lake or vs == "baseline" or not candidates:
        return []
    if store.rows("SELECT count(*) FROM run")[0][0] <= FROM:
        return []
    try:
        found = {run_id for text in (*candidates, vs) for run_id in resolve(store, text)}
    except UsageError:
        return []  # whoever makes the report says so
    return sorted(found) if len(found) <= MOST else []


def look(target: str, run_ids: Sequence[str], lock_timeout: float) -> Ahead:
    """Read the runs by a connection of its own, and resample each.

    Raises StoreError when the store cannot be read.
    """
    from speclog.analysis import windows
    from speclog.analysis.levels import run_levels
    from speclog.analysis.scatter import uncertainty
    from speclog.analysis.side import Side

    with open_store(target, lock_timeout=lock_timeout) as store:
        found = windows.load(store, run_ids)
    levels = {run_id: run_levels(frame) for run_id, frame in found.items()}
    sides = {run_id: Side([one]) for run_id, one in levels.items()}
    for side in sides.values():
        for part in side.parts:
            uncertainty(part)
    return Ahead(found, levels, sides)
