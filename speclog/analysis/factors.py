"""The catalogue of factors: reading it, checking it, and laying a user's own file over the shipped one."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speclog.errors import UsageError

if TYPE_CHECKING:
    from speclog.store import Store

SHIPPED = Path(__file__).with_name("factors.toml")
CLASSES = (
    "treatment", "environment", "server", "software", "workload", "measurement", "noise",
)  # fmt: skip
_CHOICES = {
    "class": CLASSES,
    "compare": ("exact", "number", "version", "set", "path"),
    "effect": ("unfair", "unproven", "caveat"),
    "otherwise": ("unproven", "caveat"),
    "needs": ("gpu", "gpus"),
    "order": ("less",),
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "keys": list, "class": str, "compare": str, "tolerance": (int, float, dict), "pick": list,
    "required": bool, "once_known": bool,
    "needs": str, "effect": str, "better": str, "doubtful": str, "otherwise": str, "mend": str,
    "versions": str, "about": str, "source": str, "spec_value": str, "plain_value": str, "order": str,
    "within": (int, float), "tree": bool, "since": str, "before": str, "cost": str,
}  # fmt: skip
FACTOR_KEYS = (
    "keys", "class", "compare", "tolerance", "pick", "required", "once_known", "needs", "effect", "better",
    "doubtful", "otherwise", "mend", "versions", "about", "source",
)  # fmt: skip
ENTAILED_KEYS = (
    "keys", "spec_value", "plain_value", "order", "within", "tree", "since", "before", "cost", "about",
    "source",
)  # fmt: skip
_REGEXES = ("doubtful", "spec_value", "plain_value")
_NAME = re.compile(r"(arg|env|fact|measure)\.[A-Za-z0-9_.*?\[\]-]+")

Catalogue = dict[str, list[dict[str, Any]]]


def read(path: Path = SHIPPED) -> Catalogue:
    """Read and check a catalogue file: its ``factor`` and ``entailed`` entries.

    Raises UsageError that names the file, the entry and the key when something is wrong with it.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML ({error})") from error
    for table in found:
        if table not in ("factor", "entailed"):
            raise UsageError(f"{path}: {table}: only [[factor]] and [[entailed]] are read")
    catalogue = {table: found.get(table, []) for table in ("factor", "entailed")}
    for table, keys in (("factor", FACTOR_KEYS), ("entailed", ENTAILED_KEYS)):
        if not isinstance(catalogue[table], list):
            raise UsageError(f"{path}: {table}: write [[{table}]], with two brackets")
        for place, entry in enumerate(catalogue[table], 1):
            _check(f"{path}: {table} {place}", entry, keys)
    return catalogue


def _check(where: str, entry: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for key, value in entry.items():
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, n=1)
            raise UsageError(f"{where}: {key}: no such key{f'; did you mean {near[0]}?' if near else ''}")
        _check_value(f"{where}: {key}", key, value)
    if not entry.get("keys"):
        raise UsageError(f"{where}: keys: which factors is this about?")
    if "class" in allowed and "class" not in entry:
        raise UsageError(f"{where}: class: missing; one of {', '.join(CLASSES)}")


def _check_value(where: str, key: str, value: Any) -> None:
    kind = _TYPES[key]
    fits: bool = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not fits:
        wanted = kind.__name__ if isinstance(kind, type) else "number"
        raise UsageError(f"{where}: {value!r} is not a {wanted}")
    if isinstance(value, dict):
        _check_tolerance(where, value)
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise UsageError(f"{where}: a list of texts")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise UsageError(f"{where}: {value!r} is none of {', '.join(_CHOICES[key])}")
    if key == "tolerance" and isinstance(value, (int, float)) and value < 0:
        raise UsageError(f"{where}: {value}: no tolerance is below zero")
    if key == "keys":
        for name in value:
            if not _NAME.fullmatch(name):
                raise UsageError(f"{where}: {name!r} is not arg.NAME, env.NAME, fact.NAME or measure.NAME")
    if key in _REGEXES:
        try:
            re.compile(value)
        except re.error as error:
            raise UsageError(f"{where}: {value!r} is no regular expression ({error})") from error


def _check_tolerance(where: str, told: Mapping[str, Any]) -> None:
    for name, value in told.items():
        if name not in ("abs", "rel"):
            raise UsageError(f"{where}: {name}: only abs (in the factor's unit) and rel (a share) are read")
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{where}: {name}: {value!r} is no number from 0 up")


def merged(path: Path) -> Catalogue:
    """The shipped catalogue with a user's entries before its own. Raises UsageError as `read` does."""
    own, shipped = read(path), read()
    return {table: own[table] + shipped[table] for table in shipped}


def lay_over(store: Store, path: Path) -> None:
    """Judge with a user's catalogue for as long as the store is open; the store itself keeps its own.

    Everything that depends on the catalogue is put over the store as temporary views of this connection.
    Raises UsageError when the file cannot be used.
    """
    from speclog.store import schema
    from speclog.store.catalogue import create_view

    made = {f"catalogue_{table}": create_view(f"catalogue_{table}", entries)
            for table, entries in merged(path).items()}  # fmt: skip
    for item in schema.definitions():
        if item.part != "tables":
            own = made.get(item.name)
            text = item.temporary if own is None else own.replace("REPLACE VIEW", "REPLACE TEMP VIEW", 1)
            store.script(text)
