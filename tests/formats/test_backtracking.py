"""No regular expression of speclog can be made to backtrack without bound by what a log says.

Python's engine alone is looked at: DuckDB (RE2) and polars (Rust) are linear by construction.
"""

import ast
import importlib
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from backtracking import verdict

import speclog


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a+)+b", "exponential"), (r"(\w+\s?)*x", "exponential"), ("(?:x+x+)+y", "exponential"),
        ("(a|ab|b)*c", "exponential"), (r"(a*)*b", "exponential"), (r"^(\d+|\w+)*$", "exponential"),
        (r"\s*\s*x", "polynomial"), (".*foo.*bar", "polynomial"), (r"\d+\.?\d*x", "polynomial"),
        ("[^,]*,[^,]*,x", "linear"), ("(a|b)*c", "linear"), (r"\d+(?:\.\d+)?", "linear"),
        ("(?:ab)+c", "linear"),        (r"(?:, \w+=\d+)*$", "linear"), ("a{3}b{2,5}", "linear"),
    ],
)  # fmt: skip
def test_the_judge_knows_good_from_bad(pattern: str, expected: str) -> None:
    assert verdict(pattern) == expected


def _text(pattern: str | bytes) -> str:
    return pattern if isinstance(pattern, str) else pattern.decode("latin-1")


def in_modules() -> Iterator[tuple[str, str, int]]:
    """(where, pattern, flags) of every compiled pattern that is a module's own, built ones included."""
    for found in pkgutil.walk_packages(speclog.__path__, "speclog."):
        if found.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, re.Pattern):
                text = value.pattern
                yield (
                    f"{found.name}.{name}",
                    text if isinstance(text, str) else text.decode("latin-1"),
                    value.flags,
                )


def in_calls(root: Path) -> Iterator[tuple[str, str, int]]:
    """Patterns written where they are used: re.sub("...") and the like."""
    for path in sorted((root / "speclog").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                not isinstance(node, ast.Call)
                or not ast.unparse(node.func).startswith("re.")
                or not node.args
            ):
                continue
            first = node.args[0]
            if isinstance(first, ast.Constant) and ast.unparse(node.func) != "re.escape":
                yield f"{path.name}:{node.lineno}", _text(first.value), 0


def in_declarations(root: Path) -> Iterator[tuple[str, str, int]]:
    """Patterns in TOML: kinds of lines, wrappers, causes of death."""

    def texts(value: object, key: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, item in value.items():
                yield from texts(item, name)
        elif isinstance(value, list):
            for item in value:
                yield from texts(item, key)
        elif isinstance(value, str) and (
            key == "pattern" or key.endswith(("regex", "_pattern")) or key == "line"
        ):
            yield value

    for path in sorted((root / "speclog").rglob("*.toml")):
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
        for text in texts({k: v for k, v in declared.items() if k != "sample"}, ""):
            try:
                re.compile(text)
            except re.error:
                continue  # a sample line, not a pattern
            yield path.name, text, 0


def test_no_pattern_backtracks_without_bound(root: Path) -> None:
    every = [*in_modules(), *in_calls(root), *in_declarations(root)]
    assert len(every) > 100
    bad = {
        (where, text): judged
        for where, text, flags in every
        if (judged := verdict(text, flags & (re.IGNORECASE | re.DOTALL | re.VERBOSE))) != "linear"
    }
    assert not bad, bad


def test_no_search_backtracks_exponentially(root: Path) -> None:
    for where, text, flags in [*in_modules(), *in_calls(root), *in_declarations(root)]:
        flags &= re.IGNORECASE | re.DOTALL | re.VERBOSE
        assert verdict(text, flags, searched=True) != "exponential", (where, text)
