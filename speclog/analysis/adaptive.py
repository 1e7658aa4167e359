"""A table of best steps as the configuration that servers read."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def sglang_adaptive(table: pl.DataFrame) -> dict[str, dict[str, list[int]]]:
    """The file for SGLang's ``--speculative-adaptive-config`` (0.5.12 or newer) from `whatif.best_steps`.

    One slot a measured batch size (SGLang routes a batch to the nearest one): the steps that are best at some
    measured context. 0 switches speculation off. Steps that were not measured are never proposed.
    """
    import polars as pl

    chosen = table.filter(pl.col("best")).group_by("batch_size").agg(pl.col("steps").unique().sort())
    return {str(size): {"candidate_steps": steps} for size, steps in chosen.sort("batch_size").iter_rows()}


def unsure(table: pl.DataFrame) -> list[tuple[int, int, float, float]]:
    """Best steps that are not shown to be better than those of the run: the interval of ``over_own`` holds 1.

    (batch size, steps, ends of that interval) from `whatif.best_steps`, where over the contexts it is widest.
    The run's own steps, whose interval has no width, are not among them.
    """
    import polars as pl

    tied = (
        table.filter(pl.col("best"), pl.col("over_own_lo") <= 1)
        .with_columns(width=pl.col("over_own_hi") - pl.col("over_own_lo"))
        .filter(pl.col("width") > _NO_WIDTH)
    )
    widest = tied.sort("batch_size", "steps", "width").unique(["batch_size", "steps"], keep="last")
    return (
        widest.sort("batch_size", "steps").select("batch_size", "steps", "over_own_lo", "over_own_hi").rows()
    )


_NO_WIDTH = 1e-9


def vllm_schedule(table: pl.DataFrame, max_batch_size: int | None = None) -> list[list[int]]:
    """The ``num_speculative_tokens_per_batch_size`` of vLLM: rows of [first size, last size, draft tokens].

    Every batch size takes the steps of the nearest measured one (of two as near, the larger: it has fewer);
    of the contexts the middle one speaks. The table ends at the largest measured size unless
    ``max_batch_size`` says more, which then is an extrapolation. vLLM counts draft tokens without the
    bonus: steps, not steps + 1.
    """
    import polars as pl

    best = table.filter(pl.col("best")).sort("batch_size", "context")
    middle = best.group_by("batch_size", maintain_order=True).agg(
        pl.col("steps").gather(pl.len() // 2).first()
    )
    chosen = list(middle.iter_rows())
    if not chosen:
        return []
    last = max(max_batch_size or 0, chosen[-1][0])
    starts = [1, *((low + high + 1) // 2 for (low, _), (high, _) in pairwise(chosen))]
    ends = [*(start - 1 for start in starts[1:]), last]
    schedule: list[list[int]] = []
    for start, end, (_, steps) in zip(starts, ends, chosen, strict=True):
        if schedule and schedule[-1][2] == steps:
            schedule[-1][1] = end
        else:
            schedule.append([start, end, steps])
    return schedule
