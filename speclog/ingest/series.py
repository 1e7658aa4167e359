"""Columns put into frames at once: a plan for polars to optimise costs more than what is done to a chunk."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def put(frame: pl.DataFrame, *columns: pl.Series) -> pl.DataFrame:
    """The frame with some columns replaced or, under a new name, added behind."""
    found = frame.clone()
    for column in columns:
        if column.name in found.columns:
            found.replace_column(found.get_column_index(column.name), column)
        else:
            found.insert_column(found.width, column)
    return found


def same(name: str, value: int, n: int, dtype: type = np.int64) -> pl.Series:
    """A column of one number."""
    return pl.Series(name, np.full(n, value, dtype))


def numbers(column: pl.Series) -> NDArray[np.int64]:
    """Whole numbers without nulls, or times in their unit."""
    found = column.to_numpy()
    return found.view(np.int64) if found.dtype.kind == "M" else found.astype(np.int64, copy=False)
