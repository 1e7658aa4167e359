"""Client benchmark results, from the printed table or the JSONL line, as declared in ``bench.toml``."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from speclog.formats.values import fits, json_value, whole_number

_FILE = Path(__file__).parent / "bench.toml"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|inf|nan")
_ARGUMENT = re.compile(r"(\w+)=('[^']*'|[^,()]+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """A benchmark tool: the text its table begins with, and label and key of each column."""

    name: str
    begin: str
    labels: dict[str, tuple[str, str]]
    keys: dict[str, tuple[str, str]]
    arguments: dict[str, str]


@cache
def load_tools() -> dict[str, Tool]:
    """The declared tools by name."""
    tools = {}
    for name, entry in tomllib.loads(_FILE.read_text(encoding="utf-8")).items():
        columns = entry["columns"].items()
        labels = {label: (column, value["type"]) for column, value in columns for label in value["label"]}
        keys = {key: (column, value["type"]) for column, value in columns for key in value["key"]}
        tools[name] = Tool(name, entry["begin"], labels, keys, entry.get("arguments", {}))
    return tools


def read_jsonl_line(line: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """(row of raw_bench_result without ids, the whole object); None when the line is no benchmark result."""
    try:
        data = json_value(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    tool = _tool_of(data)
    if tool is None:
        return None
    row: dict[str, Any] = {"tool": tool.name}
    for key, (column, kind) in tool.keys.items():
        value = _typed(kind, data.get(key))
        if value is not None:
            row[column] = value
    return row, data


def _tool_of(data: dict[str, Any]) -> Tool | None:
    if "output_throughput" not in data or not {"run_name", "duration", "completed"} & data.keys():
        return None  # bench_offline_throughput, for one, has no clients
    return load_tools()["bench_one_batch_server" if "run_name" in data else "bench_serving"]


def read_tables(lines: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(1-based line of its head, row) of each benchmark table in a text."""
    arguments: dict[str, str] = {}
    for no, line in enumerate(lines, 1):
        if "Namespace(" in line:
            arguments = dict(_ARGUMENT.findall(line[line.index("Namespace(") + 10 :]))
        for tool in load_tools().values():
            if line.lstrip("= ").startswith(tool.begin):
                row = _table(tool, lines[no - 1 :])
                if "output_tok_s" in row:
                    yield no, _with_arguments(tool, row, arguments)


def _table(tool: Tool, lines: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"tool": tool.name}
    for place, line in enumerate(lines):
        label, colon, text = line.strip().rpartition(": ") if ": " in line.strip() else ("", "", "")
        label, colon, text = line.strip().partition(":") if not colon else (label, colon, text)
        if place and (_ends(line) or line.lstrip("= ").startswith(tool.begin)):
            break
        declared = tool.labels.get(label.strip())
        if declared and declared[0] not in row:
            value = _typed(declared[1], text.strip())
            if value is not None:
                row[declared[0]] = value
    return row


def _ends(line: str) -> bool:
    return line.startswith("=" * 20) and not line.strip("= \r\n")


def _with_arguments(tool: Tool, row: dict[str, Any], arguments: dict[str, str]) -> dict[str, Any]:
    for column, name in tool.arguments.items():
        text = arguments.get(name, "None").strip("'")
        if column not in row and text not in {"None", ""}:
            number = whole_number(text)
            row[column] = text if number is None else number
    return row


def _typed(kind: str, value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return None
    if kind == "text":
        return str(value)
    number = _number(value)
    if number is None or math.isnan(number):
        return None
    if kind == "accept":
        return number if number > 0 else None
    if kind == "rate":
        return number
    if math.isinf(number):
        return None
    if kind == "int":
        return int(number) if fits(number) else None
    return number


def _number(value: Any) -> float | None:
    if isinstance(value, (int, float)):
        with suppress(OverflowError):
            return float(value)
        return None
    found = _NUMBER.match(str(value))
    return float(found[0]) if found else None
