"""Point estimates of pairs from the runs' lines: what view ``break_even`` says, without pairing every run.

The view works out every pair of the store and takes as long for one pair as for all; a report asks for few
pairs of many runs. Columns and refusals are the view's (a test holds them against each other).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from speclog.report import rows
from speclog.report.model import Row, Run

if TYPE_CHECKING:
    from speclog.store import Store

_LEVELS = """
SELECT run_id, batch_size, n_clean, tau, tok_s, round_ms, context_min, context_max, first_line, last_line
FROM level
"""
_LINES = """
SELECT run_id, batch_size, eager, mixed, band, n, tau, context_min, context_max, fit_a_ms, fit_c_ms_per_token,
    first_line, last_line
FROM level_line
"""


class Points:
    """Levels and lines of all runs, read once; `pair` compares two of them."""

    def __init__(self, store: Store) -> None:
        self._levels: dict[str, dict[int, Row]] = defaultdict(dict)
        self._lines: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in rows.query(store, _LEVELS):
            if row["n_clean"]:
                self._levels[row["run_id"]][row["batch_size"]] = row
        for row in rows.query(store, _LINES):
            self._lines[row["run_id"], row["batch_size"]].append(row)

    def level(self, run_id: str, batch_size: int) -> Row | None:
        """The level of a run at a batch size (columns of view ``level``); None without a clean window."""
        return self._levels.get(run_id, {}).get(batch_size)

    def pair(self, candidate: Run, baseline: Run) -> list[Row]:
        """One row a batch size of the candidate, in order; columns as in view ``break_even``."""
        return [
            self._at(size, candidate, baseline) for size in sorted(self._levels.get(candidate.run_id, {}))
        ]

    def _at(self, size: int, candidate: Run, baseline: Run) -> Row:
        mine, theirs = self._levels[candidate.run_id][size], self.level(baseline.run_id, size)
        part = _part(self._lines[candidate.run_id, size], self._lines[baseline.run_id, size])
        row: Row = {
            "batch_size": size,
            "n_candidate": part[0]["n"] if part else mine["n_clean"],
            "n_baseline": part[1]["n"] if part else theirs["n_clean"] if theirs else 0,
            "tau": part[0]["tau"] if part else mine["tau"],
            "naive_speedup": mine["tok_s"] / theirs["tok_s"] if theirs and theirs["tok_s"] else None,
            "candidate_lines": _where(candidate, part[0] if part else mine),
            "baseline_lines": _where(baseline, part[1] if part else theirs) if part or theirs else None,
        }
        refused = self._refusal(size, baseline, mine, theirs, part)
        return row | ({"refused": refused} if refused or part is None else _numbers(*part))

    def _refusal(
        self, size: int, baseline: Run, mine: Row, theirs: Row | None, part: tuple[Row, Row] | None
    ) -> str | None:
        sizes = sorted(self._levels.get(baseline.run_id, {}))
        if not sizes:
            return "the baseline has no clean window at all"
        if theirs is None:
            has = ", ".join(map(str, sizes))
            return f"the baseline has no clean window at batch size {size} (it has {has})"
        for name, level in (("candidate", mine), ("baseline", theirs)):
            if level["n_clean"] < 2:
                return f"one clean window of the {name} at batch size {size}: two are needed"
        if part is None:
            spans = [f"{name} {level['context_min']:.0f} to {level['context_max']:.0f}" for name, level in
                     (("candidate", mine), ("baseline", theirs))]  # fmt: skip
            return f"no common context: {', '.join(spans)} tokens"
        if min(part[0]["n"], part[1]["n"]) < 2:
            return f"one clean window at the common context {_middle(*part):.0f} of one side: two are needed"
        if min(_at_middle(part)) <= 0:
            return "the fitted round time is not positive"
        return None


def _part(mine: Iterable[Row], theirs: Iterable[Row]) -> tuple[Row, Row] | None:
    """The two parts with common contexts, most windows in the smaller one, then the widest overlap."""
    theirs = list(theirs)
    found = [(c, b) for c in mine for b in theirs if _from(c, b) <= _to(c, b)]

    def preference(pair: tuple[Row, Row]) -> tuple[Any, ...]:
        c, b = pair
        width = _to(c, b) - _from(c, b)
        unlike = (c["eager"], c["mixed"]) != (b["eager"], b["mixed"]) or min(c["n"], b["n"]) < 2
        return (unlike, -min(c["n"], b["n"]), -width, c["eager"], b["eager"], c["band"], b["band"])

    return min(found, key=preference) if found else None


def _from(c: Row, b: Row) -> float:
    return float(max(c["context_min"], b["context_min"]))


def _to(c: Row, b: Row) -> float:
    return float(min(c["context_max"], b["context_max"]))


def _middle(c: Row, b: Row) -> float:
    return (_from(c, b) + _to(c, b)) / 2


def _at_middle(part: tuple[Row, Row]) -> tuple[float, float]:
    context = _middle(*part)
    first, second = (side["fit_a_ms"] + side["fit_c_ms_per_token"] * context for side in part)
    return first, second


def _numbers(c: Row, b: Row) -> Row:
    t_spec_ms, t_base_ms = _at_middle((c, b))
    step_ms = t_base_ms / b["tau"]
    tau_star = t_spec_ms / step_ms
    return {
        "context_from": _from(c, b),
        "context_to": _to(c, b),
        "context": _middle(c, b),
        "t_spec_ms": t_spec_ms,
        "t_base_ms": t_base_ms,
        "tau_star": tau_star,
        "margin_tokens": c["tau"] - tau_star,
        "margin_ms": c["tau"] * step_ms - t_spec_ms,
        "speedup": c["tau"] / tau_star,
    }


def _where(run: Run, span: Mapping[str, Any] | None) -> str | None:
    return f"{PurePath(run.source).name}:{span['first_line']}-{span['last_line']}" if span else None
