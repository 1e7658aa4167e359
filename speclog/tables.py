"""Printing a result set on stdout: as a table for people, or as JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from speclog.console import clean, clean_json

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Rows = Sequence[Sequence[Any]]
_PIECE = 8
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
    sys.stdout.write(clean_json(json.dumps(objects, ensure_ascii=False, indent=1)) + "\n")


def _csv(columns: Sequence[str], rows: Rows) -> None:
    """As it is into a file or pipe, which want the exact text; cleaned on a terminal, which obeys it."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    tidy = clean if sys.stdout.isatty() else str
    for row in rows:
        writer.writerow([tidy(c) if isinstance(c, str) else c for c in map(_csv_cell, row)])


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
    from rich.console import Console

    on_terminal = sys.stdout.isatty()
    # Away from a terminal nothing is folded: the table is as wide as its contents.
    console = Console(soft_wrap=not on_terminal, width=None if on_terminal else 10_000)
    fits = not on_terminal or _needs(columns, rows) <= console.width
    # Captured, because rich ends the program with 1 where nobody reads stdout any more.
    with console.capture() as drawn:
        console.print(_drawn(columns, rows) if fits else _records(columns, rows))
    sys.stdout.write(drawn.get())


def _needs(columns: Sequence[str], rows: Rows) -> int:
    """The least width at which no number is broken and no text is cut into short pieces."""
    widths = []
    for index, column in enumerate(columns):
        cells = [_cell(row[index]) for row in rows]
        longest = max(map(len, cells), default=0)
        widths.append(
            max(longest if _is_number(row[index] for row in rows) else min(longest, 12), len(column))
        )
    return sum(widths) + 2 * len(widths)


def _records(columns: Sequence[str], rows: Rows) -> Text:
    """One row after the other, one value a line: for tables that a terminal is too narrow for."""
    from rich.text import Text

    width = max(len(column) for column in columns)
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-- {number} of {len(rows)} --")
        lines += [
            f"{clean(column):<{width}}  {_cell(value)}"
            for column, value in zip(columns, row, strict=True)
            if value is not None
        ]
    return Text("\n".join(lines))


def _drawn(columns: Sequence[str], rows: Rows) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        right = _is_number(row[index] for row in rows)
        table.add_column(clean(column), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table
