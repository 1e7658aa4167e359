"""The report as JSON: one object, versioned; documented in docs/report.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any

from speclog.console import clean_json
from speclog.report.model import Absent, Chart, Data, Pair, Report, Run, Section

if TYPE_CHECKING:
    from speclog.analysis.worth import Reading

SCHEMA_VERSION = 1
"""Raised when a key changes its meaning or goes away; new keys may come without it."""


def text(report: Report) -> str:
    """The report as indented JSON; numbers unrounded, unknown as null, times as ISO 8601 UTC."""
    found = document(report)
    try:
        written = _written(found)
    except ValueError:  # JSON has no NaN and no infinity: a number that is none is unknown
        written = _written(_finite(found))
    return clean_json(written) + "\n"


def _written(found: object) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def document(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "title": report.title,
        "summary": report.summary,
        "notes": report.notes,
        "made": {
            "command": report.command,
            "store": report.store,
            "speclog": report.version,
            "at": report.made_at,
            "vs": report.vs,
            "cross_engine": report.cross_engine,
        },
        "candidates": [_section(section) for section in [*report.sections, *report.brief]],
        "runs": [_run(run) for run in report.runs],
    }


def _run(run: Run) -> dict[str, Any]:
    return asdict(run)


def _section(section: Section) -> dict[str, Any]:
    return {
        "run_id": section.run.run_id,
        "run": section.run.name,
        "repeats": [run.run_id for run in section.repeats],
        "verdict": section.verdict,
        "headline": section.headline,
        "change": section.change,
        "chosen": section.chosen.key if section.chosen else None,
        "choice": section.choice,
        "fair": section.fair.key if section.fair else None,
        "naive": section.naive.key if section.naive else None,
        "comparisons": [_pair(pair) for pair in section.pairs],
        "n_comparisons": section.n_pairs,
        "missing": [asdict(missing) for missing in section.missing],
        "advice": [asdict(answer) for answer in section.advice],
        "between": section.between,
        "answers": [asdict(answer) for answer in section.answers],
        "cells": _cells(section),
        "stale": section.stale,
        "bill": section.bill,
        "steps": section.steps,
        "charts": [_chart(chart) for chart in section.charts],
    }


def _cells(section: Section) -> list[dict[str, Any]]:
    """The 2x2 of treatment and confounder: runs by arm and setting, none for the missing run."""
    found = section.attribution
    if found is None:
        return []
    read = {} if isinstance(found.readings, str) else found.readings
    return [
        {"arm": arm, "setting": setting, "runs": list(runs)} | _reading(read.get((arm, setting)))
        for (arm, setting), runs in found.cells.items()
    ]


def _reading(read: Reading | None) -> dict[str, Any]:
    """What a cell measured, null where it is missing or shares no context with the others."""
    told = None if read is None else asdict(read)
    spans = {name: told[name] if told else {} for name in ("tok_s", "round_ms")}
    ends = {"": "value", "_lo": "low", "_hi": "high"}
    return {
        "batch_size": told and told["batch_size"],
        "context": told and told["context"],
        **{f"{name}{end}": span.get(key) for name, span in spans.items() for end, key in ends.items()},
        "interval_kind": told and told["tok_s"]["kind"],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "key": pair.key,
        "candidate": pair.candidate.run_id,
        "candidate_name": pair.candidate.name,
        "baseline": pair.baseline.run_id,
        "baseline_name": pair.baseline.name,
        "cross_engine": pair.across,
        "verdict": pair.verdict,
        "reasons": list(pair.reasons),
        "contract_hash": pair.contract_hash,
        "caveats": list(pair.caveats),
        "candidate_repeats": [run.run_id for run in pair.candidate_repeats],
        "baseline_repeats": [run.run_id for run in pair.baseline_repeats],
        "vouched": pair.vouched,
        "n_confounders": pair.n_confounders,
        "n_unknown": pair.n_unknown,
        "levels": [{**asdict(level), "margin_pct": level.margin_pct} for level in pair.levels],
        "factors": [{**asdict(factor), "state": factor.state} for factor in pair.factors],
    }


def _chart(chart: Chart | Absent) -> dict[str, Any]:
    if isinstance(chart, Absent):
        return {"key": chart.key, "question": chart.question, "absent": chart.reason}
    return {
        "key": chart.key,
        "question": chart.question,
        "title": chart.title,
        "alt": chart.alt,
        "source": chart.source,
        "data": {data.name: _records(data) for data in chart.data},
    }


def _records(data: Data) -> list[dict[str, Any]]:
    return [dict(zip(data.columns, row, strict=True)) for row in data.rows]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"not JSON: {type(value).__name__}")
