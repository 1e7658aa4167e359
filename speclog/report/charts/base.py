"""What all charts share: colours by role, axes, and the step from an Altair object to a plain spec."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speclog.report import cached
from speclog.report.model import Data

if TYPE_CHECKING:
    import altair as alt

CANDIDATE = "var(--candidate)"
BASELINE = "var(--baseline)"
WIN = "var(--win)"
LOSS = "var(--loss)"
MUTED = "var(--muted)"
INK = "var(--ink)"
PAPER = "var(--paper)"

PHASES = ("draft", "vprep", "verify", "accept", "extend", "gap", "other", "step")
PHASE_COLOURS = tuple(f"var(--phase-{name})" for name in PHASES)


def data(name: str, rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Data:
    """Rows as `Data` with the given columns (missing keys become None)."""
    return Data(name, tuple(columns), tuple(tuple(row.get(column) for column in columns) for row in rows))


def named(name: str = "rows") -> alt.NamedData:
    """The Altair stand-in for a chart's data: the first of its datasets is ``rows``, the second ``marks``."""
    import altair as alt

    return alt.NamedData(name=name)


def spec(draw: Callable[..., Any], *how: str, height: int | None = None) -> dict[str, Any]:
    """The Vega-Lite spec of a chart, as wide as its place on the page; its data come by name."""
    made = copy.deepcopy(_made_once(draw, *how))
    return made if height is None else made | {"height": height}


@cache
def _made_once(draw: Callable[..., Any], *how: str) -> dict[str, Any]:
    """One spec a kind of chart: only the data differ within a kind.

    To make one takes a tenth of a second, and Altair half of one to load, so specs are kept in the cache
    directory as long as neither the charts' source nor Altair changes.
    """
    key = f"{draw.__module__} {draw.__name__} {' '.join(how)}"
    kept = _kept()
    found: dict[str, Any] | None = kept.get(key)
    if found is None:
        found = draw(*how).properties(width="container").to_dict()
        # Colours and fonts come from the page's theme at drawing time.
        found.pop("config", None)
        kept[key] = found
        cached.keep(_name(), json.dumps(kept))
    return found


@cache
def _kept() -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        kept = json.loads(cached.read(_name()) or "{}")
        if isinstance(kept, dict):
            return kept
    return {}


@cache
def _name() -> str:
    from importlib.metadata import version

    sources = sorted(Path(__file__).parent.glob("*.py"))
    parts = [version("altair").encode(), *(path.read_bytes() for path in sources)]
    return f"charts-{hashlib.sha256(bytes(1).join(parts)).hexdigest()[:16]}.json"
