"""The clean windows of a run, as arrays: what is kept, what was dropped and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speclog.analysis.line import Floats

if TYPE_CHECKING:
    import polars as pl

FLOOR_WINDOWS = 8
"""Below this many clean windows on one side a number is shown but never made a headline."""
FLOOR_USABLE_PCT = 50.0
"""The same below this share of clean windows."""


@dataclass(frozen=True)
class Windows:
    """Clean windows of one run at one batch size, of one kind (graph, mix of lengths), in order of time."""

    batch_size: int
    eager: bool
    mixed: bool  # requests of unequal length share the batch: context is their mean
    context: Floats  # middle of the window, tokens a request
    half_span: Floats  # tokens a request from the middle to either end
    round_ms: Floats
    tau: Floats
    line_no: NDArray[np.int64]
    rank: NDArray[np.int64]  # data-parallel rank, 0 without

    def __len__(self) -> int:
        return len(self.context)

    def take(self, mask: NDArray[np.bool_]) -> Windows:
        """The windows where ``mask`` is true."""
        return replace(self, **{name: getattr(self, name)[mask] for name in _ARRAYS})

    def sequences(self, values: Floats) -> list[Floats]:
        """``values`` (one a window) split into one sequence a rank."""
        return [values[self.rank == rank] for rank in np.unique(self.rank)]


_ARRAYS = ("context", "half_span", "round_ms", "tau", "line_no", "rank")


def level_windows(frame: pl.DataFrame) -> pl.DataFrame:
    """The decode windows of one run that count once: the same as view ``level_window``.

    ``frame`` has the columns of view ``decode_window`` and the rows of one run. Every rank of a pipeline
    prints the same steps, and some versions print from every tensor rank: of each data-parallel rank the
    lowest is kept.
    """
    import polars as pl

    kept = frame.filter(pl.col("running_req") > 0)
    for column in ("pp_rank", "tp_rank"):
        number = pl.col(column).fill_null(0)
        kept = kept.filter(number == number.min().over("dp_rank"))
    return kept.with_columns(
        batch_size=pl.col("running_req"),
        eager=(~pl.col("graph")).fill_null(value=False),
        half_span=pl.col("rounds") * pl.col("tau") / 2,
    )


def _clean_windows(clean: pl.DataFrame) -> Iterator[Windows]:
    """The clean windows of one run by batch size and kind, those whose context is known."""
    import polars as pl

    known = clean.filter(pl.col("context").is_not_null()).sort("source_index", "line_no")
    kinds = known.group_by("batch_size", "eager", "mixed", maintain_order=True)
    for (batch_size, eager, mixed), rows in sorted(kinds):
        yield Windows(
            int(str(batch_size)),
            bool(eager),
            bool(mixed),
            context=rows["context"].cast(pl.Float64).to_numpy(),
            half_span=rows["half_span"].cast(pl.Float64).to_numpy(),
            round_ms=rows["round_ms"].cast(pl.Float64).to_numpy(),
            tau=rows["tau"].cast(pl.Float64).to_numpy(),
            line_no=rows["line_no"].to_numpy(),
            rank=rows["dp_rank"].cast(pl.Int64).fill_null(0).to_numpy(),
        )


@dataclass(frozen=True)
class RunLevels:
    """What one run's decode windows give to its levels."""

    counts: dict[int, int]  # windows, clean or not, by batch size
    clean: tuple[Windows, ...]
    lacks_context: bool  # there are clean windows, and no log line prints the context they ran at (vLLM)


def run_levels(frame: pl.DataFrame) -> RunLevels:
    """The levels of one run; ``frame`` as for `level_windows`."""
    import polars as pl

    level = level_windows(frame)
    clean = level.filter(pl.col("excluded").is_null())
    found = tuple(_clean_windows(clean))
    counts = dict(level["batch_size"].value_counts().iter_rows())
    return RunLevels(counts, found, not found and not clean.is_empty())


def dropped(frame: pl.DataFrame) -> pl.DataFrame:
    """Count the windows of one run by batch size and reason: columns batch_size, excluded, windows.

    ``excluded`` is 'clean' for those that count. ``frame`` as for `level_windows`.
    """
    import polars as pl

    return (
        level_windows(frame)
        .group_by("batch_size", pl.col("excluded").fill_null("clean"))
        .agg(windows=pl.len())
        .sort("batch_size", "windows", descending=[False, True])
    )
