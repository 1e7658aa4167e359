"""The command that prints the numbers behind a chart, and the place on the page that explains them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from speclog.report.model import Absent, Chart, Pair, Run

Drawn = Chart | Absent


def on_store(command: str, target: str) -> str:
    """A command of speclog's as it runs from the folder where ``--store`` was given; it holds no password.

    (`store.target.parse_target` refuses a target that does.)
    """
    program, space, rest = command.partition(" ")
    if program != "speclog" or not space or rest.startswith("--store "):
        return command
    return f"{program} --store {shlex.quote(target)} {rest}"


def script_on_store(lines: str, target: str) -> str:
    """As `on_store`, for several lines: those of speclog's name the store, the others stay as they are."""
    return "\n".join(on_store(line, target) for line in lines.split("\n"))


def placed(chart: Drawn, target: str) -> Drawn:
    """A chart whose command names the store."""
    return replace(chart, source=on_store(chart.source, target)) if isinstance(chart, Chart) else chart


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


def of_runs(columns: str, view: str, runs: Sequence[Run], batch_size: int | None = None) -> str:
    """Columns of a view for some runs, at one batch size where it is given."""
    ids = ", ".join(_text(run.run_id) for run in runs)
    at = "" if batch_size is None else f" AND batch_size = {batch_size}"
    return _sql(f"{columns} FROM {view} WHERE run_id IN ({ids}){at}")


def at_context(runs: Sequence[Run], batch_size: int, context: float) -> str:
    """Round time and throughput of some runs, read off their lines at one batch size and context."""
    ids = ", ".join(_text(run.run_id) for run in runs)
    line = f"(p.fit_a_ms + p.fit_c_ms_per_token * {context!r})"
    return _sql(
        f"l.run, {line} AS round_ms, 1000.0 * batch_size * l.dp_ranks * p.tau / {line} AS tok_s "
        "FROM level_line AS p JOIN level AS l USING (run_id, batch_size) "
        f"WHERE run_id IN ({ids}) AND batch_size = {batch_size} "
        f"AND {context!r} BETWEEN p.context_min AND p.context_max"
    )


_FIRST = (
    "SELECT * FROM level WHERE n_clean > 0 "
    "QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY batch_size) = 1"
)


def of_configuration(run: Run, batch_size: int) -> str:
    """Every run of one configuration (model, speculation, profile) whose smallest batch size is this one."""
    wanted = {
        "model": run.model, "speculative": run.speculative, "algorithm": run.algorithm, "steps": run.steps,
        "draft_tokens": run.draft_tokens, "coalesce(profile, '')": run.profile or "",
    }  # fmt: skip
    alike = " AND ".join(f"{name} IS NOT DISTINCT FROM {_literal(value)}" for name, value in wanted.items())
    topk = f"= {run.topk}" if run.topk is not None and run.topk > 1 else "<= 1"
    columns = "started_at, run, version, round_ms, round_mad_ms, tok_s, tau, n_clean"
    where = f"batch_size = {batch_size} AND {alike} AND coalesce(topk, 1) {topk}"
    return _sql(
        f"{columns} FROM ({_FIRST}) JOIN run USING (run_id) WHERE {where} ORDER BY started_at, run_id"
    )


def _literal(value: str | int | bool | None) -> str:
    return "NULL" if value is None else _text(value) if isinstance(value, str) else str(value).lower()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _sql(rest: str) -> str:
    # Printed for a reader to copy; nothing here runs it.
    text = " ".join(["SELECT", rest])
    quoted = shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'
    return f"speclog sql {quoted}"
