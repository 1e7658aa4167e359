"""Printing a result set on stdout: as a table for people, or as JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from speclog.console import clean

Rows = Sequence[Sequence[Any]]
FORMATS = ("table", "json", "csv", "markdown")


def show(columns: Sequence[str], rows: Rows, fmt: str) -> None:
    """Print rows in one of `FORMATS`. JSON is an array of objects keyed by column name."""
    writer = {"table": _table, "json": _json, "csv": _csv, "markdown": _markdown}[fmt]
    writer(columns, rows)


def plain(value: Any) -> Any:
    """A value as JSON can hold it: decimals as numbers, times as ISO text, NaN and infinity as text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _json(columns: Sequence[str], rows: Rows) -> None:
    objects = [dict(zip(columns, map(plain, row), strict=True)) for row in rows]
    json.dump(objects, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


def _csv(columns: Sequence[str], rows: Rows) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(value) for value in row] for row in rows)


def _markdown(columns: Sequence[str], rows: Rows) -> None:
    """A table for a pull request: nothing in it is read as HTML, a link or another column."""
    print("| " + " | ".join(map(_markdown_cell, columns)) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(_markdown_cell(_cell(value)) for value in row) + " |")


def _markdown_cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{char}" if char in "\\|`*_[]~" else char for char in escaped)


def _csv_cell(value: Any) -> Any:
    flat = plain(value)
    return json.dumps(flat, ensure_ascii=False) if isinstance(flat, dict | list) else flat


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, list | tuple):
        return ", ".join(_cell(item) for item in value)
    return clean(str(value))


def _is_number(values: Iterable[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(
        isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in present
    )


def _table(columns: Sequence[str], rows: Rows) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        right = _is_number(row[index] for row in rows)
        table.add_column(clean(column), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    # Away from a terminal nothing is folded: the table is as wide as its contents.
    console = Console(soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 10_000)
    # Captured, because rich ends the program with 1 where nobody reads stdout any more.
    with console.capture() as drawn:
        console.print(table)
    sys.stdout.write(drawn.get())
