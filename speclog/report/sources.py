"""The command that prints the numbers behind a chart, and the place on the page that explains them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from speclog.report.model import Absent, Answer, Chart, Pair, Run

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
    """As `on_store`, for several lines: those of speclog's name the store, also as comments; others stay."""
    told = (line.partition("# speclog ") for line in lines.split("\n"))
    return "\n".join(
        f"# {on_store(f'speclog {rest}', target)}"
        if mark and not first
        else on_store(first + mark + rest, target)
        for first, mark, rest in told
    )


Shown = TypeVar("Shown", Chart, Absent, Drawn, Answer)


def placed(shown: Shown, target: str) -> Shown:
    """A chart or an answer whose command names the store."""
    return shown if isinstance(shown, Absent) else replace(shown, source=on_store(shown.source, target))


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
    once = " AND NOT same_rounds" if view == "profile_window" else ""
    return _sql(f"{columns} FROM {view} WHERE run_id IN ({ids}){at}{once}")


def at_context(runs: Sequence[Run], batch_size: int, context: float) -> str:
    """Round time and throughput of some runs, read off their lines at one batch size and context."""
    ids = ", ".join(_text(run.run_id) for run in runs)
    line = f"(p.fit_a_ms + p.fit_c_ms_per_token * {context!r})"
    return _sql(
        f"l.run, {line} AS round_ms, p.tau, 1000.0 * batch_size * l.dp_ranks * p.tau / {line} AS tok_s "
        "FROM level_line AS p JOIN level AS l USING (run_id, batch_size) "
        f"WHERE run_id IN ({ids}) AND batch_size = {batch_size} "
        f"AND {context!r} BETWEEN p.context_min AND p.context_max"
    )


def of_throughput(pair: Pair) -> str:
    """The terms of the naive ratio of whole runs: throughput = occupancy * accept length / round time."""
    ids = ", ".join(_text(run_id) for run_id in pair.ids)
    terms = {
        "tok_s": "1000 * sum(batch_size * tau) / sum(round_ms)",
        "accept_length": "sum(batch_size * tau) / sum(batch_size)",
        "round_ms": "avg(round_ms)",
        "occupancy": "avg(batch_size)",
    }
    columns = ", ".join(f"{term} AS {name}" for name, term in terms.items())
    return _sql(
        f"run, {columns} FROM level_window WHERE run_id IN ({ids}) "
        "AND coalesce(excluded, 'batch changed') = 'batch changed' AND isfinite(round_ms) GROUP BY run"
    )


def advised(pair: Pair, key: str) -> str:
    """The command that prints the numbers of an answer to a reader's question (`advice`)."""
    sides = [pair.candidate, *pair.candidate_repeats, pair.baseline, *pair.baseline_repeats]
    profiled = "line_no, kind, bs, n, cycle_ms, verify_ms, fwd_ms, host_ms, host_ms / cycle_ms AS host_share"
    found = {
        "steps": whatif(pair),
        "switch_off": whatif(pair, "--ask", "concurrency"),
        "draft": whatif(pair, "--ask", "draft"),
        "published": of_pair(pair),
        "experts": of_runs(profiled, "profile_window", sides),
        "host": of_runs(profiled, "profile_window", sides),
        "starts": of_runs("*", "level_line", sides),
        "profiling": of_runs("line_no, kind, fields", "event", [pair.candidate]),
    }
    return found.get(key, "")


_FIRST = (
    "SELECT * FROM level WHERE n_clean > 0 "
    "QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY batch_size) = 1"
)


def of_configuration(run: Run, batch_size: int) -> str:
    """Every run of one configuration (model, speculation, profile) whose smallest batch size is this one."""
    wanted = {
        "model": run.model, "speculative": run.speculative, "algorithm": run.algorithm, "steps": run.steps,
        "adaptive": run.adaptive, "draft_tokens": run.draft_tokens,
        "coalesce(profile, '')": run.profile or "",
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
