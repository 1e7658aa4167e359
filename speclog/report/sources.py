"""The command that prints the numbers behind a chart, and the place on the page that explains them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from speclog.report.model import Absent, Chart, Pair, Run

Drawn = Chart | Absent


def sourced(chart: Drawn, formula: str, source: str) -> Drawn:
    """A chart with its source and the anchor of its formula; what was not drawn stays as it is."""
    return replace(chart, formula=formula, source=source) if isinstance(chart, Chart) else chart


def whatif(pair: Pair, *words: str) -> str:
    """``speclog whatif`` on a pair."""
    return shlex.join(["speclog", "whatif", pair.candidate.run_id, "--vs", pair.baseline.run_id, *words])


def of_pair(pair: Pair) -> str:
    """Break-even of a pair."""
    mine, theirs = _text(pair.candidate.run_id), _text(pair.baseline.run_id)
    return _sql(f"* FROM break_even WHERE candidate = {mine} AND baseline = {theirs}")


def of_runs(columns: str, view: str, runs: Sequence[Run]) -> str:
    """Columns of a view for some runs."""
    ids = ", ".join(_text(run.run_id) for run in runs)
    return _sql(f"{columns} FROM {view} WHERE run_id IN ({ids})")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _sql(rest: str) -> str:
    # Printed for a reader to copy; nothing here runs it.
    text = " ".join(["SELECT", rest])
    quoted = shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'
    return f"speclog sql {quoted}"
