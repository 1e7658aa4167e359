"""What all charts share: colours by role, axes, and the step from an Altair object to a plain spec."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

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
    """One spec a kind of chart: only the data differ within a kind, and checking a spec is slow."""
    made: dict[str, Any] = draw(*how).properties(width="container").to_dict()
    # Colours and fonts come from the page's theme at drawing time.
    made.pop("config", None)
    return made
