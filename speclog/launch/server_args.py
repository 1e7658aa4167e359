"""Server arguments: which names SGLang has had, of what kind, and how they become a command line."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from speclog.errors import UsageError
from speclog.launch.schema import nearest, parse_kind


@dataclass(frozen=True)
class Known:
    """A server argument some version of SGLang has: kind of value, first and last version looked at."""

    name: str
    kind: str
    first: str
    last: str


@cache
def known() -> dict[str, Known]:
    """All server arguments of the versions looked at (server_args.tsv), by name."""
    text = Path(__file__).with_name("server_args.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {row[0]: Known(*row) for row in rows[1:]}


def check(table: Mapping[str, Any], where: Mapping[str, str], names: bool = True) -> None:
    """Check names and kinds of values of a profile's ``[server]`` table.

    Raises UsageError with file, line and the nearest name. Without ``names`` an unknown name passes: SGLang's
    own parser has the last word before the launch.
    """
    for name, value in table.items():
        place = where.get(name, "command line")
        argument = known().get(name)
        if argument is None and names:
            raise UsageError(f"{place}: no server argument '{name}'{nearest(name, known())}")
        if argument is not None and not _fits(value, argument.kind):
            raise UsageError(f"{place}: {name} must be {_KINDS[argument.kind]}, not {value!r}")


_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "list": "a list",
    "json": "a table or JSON text",
}


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "bool"
    wanted = {
        "int": int,
        "float": (int, float),
        "str": (str, int),
        "list": list,
        "json": (str, dict),
        "bool": bool,
    }
    return isinstance(value, wanted[kind])  # type: ignore[arg-type]


def parse(name: str, text: str) -> Any:
    """A value of ``--set name=text``, by the kind the argument is known to have."""
    argument = known().get(name)
    return parse_kind(text, argument.kind if argument else "str")


def to_argv(table: Mapping[str, Any]) -> list[str]:
    """The command line of a ``[server]`` table: ``tp_size = 8`` becomes ``--tp-size 8``, true a bare flag.

    ``false`` leaves the flag out; a list becomes several words; a table becomes JSON text.
    """
    argv: list[str] = []
    for name in sorted(table, key=lambda n: (n != "model_path", n)):
        value = table[name]
        if value is False:
            continue
        argv.append(f"--{name.replace('_', '-')}")
        argv += _words(value)
    return argv


def _words(value: Any) -> list[str]:
    if value is True:
        return []
    if isinstance(value, list):
        return [str(item) for item in value]
    return [json.dumps(value)] if isinstance(value, dict) else [str(value)]


def speculative(table: Mapping[str, Any]) -> bool:
    """Whether a ``[server]`` table turns speculative decoding on."""
    return bool(table.get("speculative_algorithm"))
