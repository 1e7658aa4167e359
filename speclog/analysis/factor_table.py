"""The catalogue as tables of Markdown, for docs/fairness.md (``python -m speclog.analysis.factor_table``)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- catalogue: begin -->", "<!-- catalogue: end -->"


def tables() -> str:
    """Factors, then entailed differences, as two Markdown tables in the order of the file."""
    path = Path(__file__).with_name("factors.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    factors = [_factor(entry) for entry in found["factor"]]
    entailed = [
        [_names(entry), _cell(entry.get("before", "")), _cell(entry["about"]), _cell(entry.get("cost", ""))]
        for entry in found["entailed"]
    ]
    return "\n\n".join(
        (
            _table(["factors", "class", "compared", "required", "why it matters"], factors),
            _table(["entailed", "before version", "what SGLang does", "what it costs"], entailed),
        )
    )


def _factor(entry: dict[str, Any]) -> list[str]:
    how = entry.get("compare", "exact")
    if "tolerance" in entry:
        how += f" within {_tolerance(entry['tolerance'])}"
    required = "yes" if entry.get("required") else "once known" if entry.get("once_known") else ""
    return [_names(entry), entry["class"], how, required, _cell(entry.get("about", ""))]


def _tolerance(told: float | dict[str, float]) -> str:
    parts = told if isinstance(told, dict) else {"rel": told}
    words = [f"{100 * value:g} %" if name == "rel" else f"{value:g}" for name, value in parts.items()]
    return " or ".join(words)


def _names(entry: dict[str, Any]) -> str:
    keys = entry["keys"]
    shown = ", ".join(f"`{key}`" for key in keys[:8])
    return f"{shown} and {len(keys) - 8} more" if len(keys) > 8 else shown


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(tables())
