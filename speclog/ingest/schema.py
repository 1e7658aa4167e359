"""Column types of the raw tables, read from their SQL so that they are written down once."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from speclog import resources

if TYPE_CHECKING:
    import polars as pl

_COLUMN = re.compile(r"^    (\w+) ([A-Z]+(?:\[\])?)", re.MULTILINE)


@cache
def table_schema(table: str) -> dict[str, pl.DataType]:
    """Column name to polars type of ``raw_<table>``, in the table's order."""
    import polars as pl

    types: dict[str, pl.DataType] = {
        "VARCHAR": pl.String(),
        "BIGINT": pl.Int64(),
        "INTEGER": pl.Int32(),
        "DOUBLE": pl.Float64(),
        "BOOLEAN": pl.Boolean(),
        "TIMESTAMP": pl.Datetime("us"),
        "VARCHAR[]": pl.List(pl.String()),
        "BIGINT[]": pl.List(pl.Int64()),
    }
    text = (resources.directory("sql") / "tables" / f"raw_{table}.sql").read_text(encoding="utf-8")
    return {name: types[kind] for name, kind in _COLUMN.findall(text)}


_ELSEWHERE = {"decode_window": ("decode_detail",)}
_OWN = frozenset({"session", "joined"})  # columns that only tie rows together while a log is read


def conform(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """The frame with the table's types; columns no table has become JSON in ``extra``.

    A number too large for its column becomes NULL: a hostile line must not stop an ingest.
    """
    import polars as pl

    schema = table_schema(table)
    others = {name for other in _ELSEWHERE.get(table, ()) for name in table_schema(other)}
    spare = [name for name in frame.columns if name not in schema and name not in others | _OWN]
    if spare and "extra" in schema:
        frame = frame.with_columns(_extra(frame, spare).alias("extra"))
    return frame.select(
        pl.col(name).cast(kind, strict=False) for name, kind in schema.items() if name in frame.columns
    )


def _extra(frame: pl.DataFrame, spare: list[str]) -> pl.Expr:
    """JSON of the spare columns' non-null values, merged into what ``extra`` already has."""
    import json

    import polars as pl

    old = frame["extra"].to_list() if "extra" in frame.columns else [None] * frame.height
    merged: list[str | None] = []
    for before, row in zip(old, frame.select(spare).iter_rows(named=True), strict=True):
        found = {k: v for k, v in row.items() if v is not None}
        known = json.loads(before) if before else {}
        merged.append(json.dumps(known | found, ensure_ascii=False) if known or found else None)
    return pl.lit(pl.Series(merged, dtype=pl.String))


def rows_frame(rows: list[dict[str, object]], table: str) -> pl.DataFrame:
    """Rows as a frame of the table's types; keys the table lacks are an error of ours."""
    import polars as pl

    schema = table_schema(table)
    names = [name for name in schema if any(name in row for row in rows)]
    return pl.DataFrame(
        {name: pl.Series([row.get(name) for row in rows], dtype=schema[name], strict=False) for name in names}
    )
