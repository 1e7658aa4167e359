"""Decode windows of runs, as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speclog.store import narrowed

if TYPE_CHECKING:
    import polars as pl

    from speclog.store import Store


COLUMNS = (
    "run_id", "source_index", "line_no", "ts", "dp_rank", "pp_rank", "tp_rank", "running_req", "gen_tok_s",
    "graph", "rounds", "tau", "round_ms", "context", "mixed", "excluded",
)  # fmt: skip
"""Of view ``decode_window``, those that levels, lines and charts are made of: all take twice as long."""

_READ = f"SELECT {', '.join(COLUMNS)} FROM decode_window_of('wanted_reading') ORDER BY source_index, line_no"  # noqa: S608


def load(store: Store, run_ids: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The decode windows of some runs, in log order, with `COLUMNS`; by run_id.

    The runs are named before their windows are looked for: a filter on the view by more than one run does not
    reach what is below it, and every window of the store would be read.
    """
    wanted = sorted(set(run_ids))
    with store.holding():
        store.rows("SET VARIABLE speclog_some = CAST(? AS VARCHAR[])", [wanted])
        store.script(
            "CREATE OR REPLACE TEMP TABLE wanted_reading AS SELECT * FROM run_reading "
            "WHERE list_contains(getvariable('speclog_some'), run_id)"
        )
        with narrowed.lines_of(store, wanted):
            frame = store.frame(_READ)
    found = frame.partition_by("run_id", as_dict=True)
    return {run_id: found.get((run_id,), frame.clear()) for run_id in wanted}
