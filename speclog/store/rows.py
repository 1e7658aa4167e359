"""Rows on their way into a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a raw table: a frame, and the columns that hold the same value in all of them.

    Two ids as strings in each of millions of rows cost an eighth of storing the rows.
    """

    frame: pl.DataFrame
    same: Mapping[str, object] = field(default_factory=dict)

    def whole(self) -> pl.DataFrame:
        """All columns as one frame."""
        import polars as pl

        return self.frame.with_columns(pl.lit(value).alias(name) for name, value in self.same.items())
