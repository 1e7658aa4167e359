"""Runs seen as an experiment: the two by two table, the run nobody made, settings ranked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from speclog.analysis.attribution import BASELINE, CANDIDATE, WITH, WITHOUT, Attribution
from speclog.analysis.missing import Wanted, commands
from speclog.analysis.worth import Adjusted, Effect
from speclog.report import naming, numbers, rows, sources
from speclog.report.charts import interaction, sweep
from speclog.report.explained import counterpart, percent_of, told
from speclog.report.model import Absent, Chart, Missing, Pair, Row, Run, Section

if TYPE_CHECKING:
    from speclog.store import Store


def missing_run(section: Section, sections: Sequence[Section]) -> Missing | None:
    """The run that would settle the naive pair: this treatment under its baseline's settings.

    Where somebody made that run and this one has no fair pair, it is the baseline under this run's settings.
    None when the pair is not unfair, when somebody made that run, when the settings cannot be set from a
    shell, or when nobody would want them (the baseline is slower with them). The target is the baseline's
    own speed.
    """
    naive, found = section.naive, section.attribution
    if naive is None or naive.verdict != "unfair":
        return None
    if _made(section, sections):
        return _missing_baseline(section, naive) if section.fair is None else None
    confounders = naive.confounders()
    wanted = [Wanted(f.name, f.baseline_value, f.candidate_value) for f in confounders]
    lines = commands(wanted, section.run.launched)
    gain = _gain(found) if found else None
    if lines is None or (isinstance(gain, Effect) and gain.gain.value <= 1):
        return None
    return Missing(
        title=f"The run nobody has made: {section.run.treatment} with the settings of {naive.baseline.name}.",
        why=f"{numbers.capital(naming.name_factors(confounders))} would then be equal.",
        command="\n".join(lines),
        target=_target(naive, found.adjusted if found else None),
    )


def _made(section: Section, sections: Sequence[Section]) -> bool:
    if section.attribution is not None:
        return (CANDIDATE, WITH) not in section.attribution.missing
    return counterpart(section, sections) is not None


def _missing_baseline(section: Section, naive: Pair) -> Missing | None:
    """The naive baseline under the candidate's settings, and what its step must take for it to pay."""
    confounders, level = naive.confounders(), naive.main_level
    wanted = [Wanted(f.name, f.candidate_value, f.baseline_value) for f in confounders]
    lines = commands(wanted, naive.baseline.launched, "baseline")
    if lines is None:
        return None
    target = None
    if level is not None and level.tau is not None and level.t_spec_ms is not None:
        ends = [
            None if ms is None or not tau else ms / tau
            for ms, tau in ((level.t_spec_ms_lo, level.tau_hi), (level.t_spec_ms_hi, level.tau_lo))
        ]
        target = (
            f"{section.run.name} pays at batch {level.batch_size} if its step takes longer than "
            f"{numbers.with_span(level.t_spec_ms / level.tau, *ends)} ms (round over accept length; interval "
            f"{level.interval_kind})."
        )
    return Missing(
        title=f"The run nobody has made: no speculation with the settings of {section.run.name}.",
        why=f"{numbers.capital(naming.name_factors(confounders))} would then be equal.",
        command="\n".join(lines),
        target=target,
    )


def _target(naive: Pair, estimate: Adjusted | str | None) -> str | None:
    """What the missing run must do to beat the naive baseline, and an estimate of what it would do."""
    level = naive.main_level
    if level is None or level.tau is None or level.t_base_ms is None or level.t_spec_ms is None:
        return None
    ends = [
        None if tau is None or ms is None else tau * ms
        for tau, ms in ((level.tau_lo, level.t_base_ms_lo), (level.tau_hi, level.t_base_ms_hi))
    ]
    allowed = numbers.with_span(level.tau * level.t_base_ms, *ends)
    took = numbers.with_span(level.t_spec_ms, level.t_spec_ms_lo, level.t_spec_ms_hi)
    said = (
        f"beat {naive.baseline.name} at batch {level.batch_size}: rounds under {allowed} ms at accept length "
        f"{numbers.with_span(level.tau, level.tau_lo, level.tau_hi)} (it took {took} ms without those "
        f"settings; intervals {level.interval_kind})."
    )
    if estimate is None or isinstance(estimate, str):
        return said
    span = estimate.round_ms
    return (
        f"{said} Estimate, not a result: if the settings helped it as much as the baseline, its round would "
        f"take {numbers.with_span(span.value, span.low, span.high)} ms, {percent_of(estimate.speedup)}; both "
        f"arms need not gain alike, and it must gain at least {told(estimate.needed)}."
    )


def _gain(found: Attribution) -> Effect | str | None:
    """The baseline's gain in the very pair of runs that is shown; None without a fair baseline."""
    return None if found.fair is None else found.pairs.get((found.fair, found.naive))


def weigh(section: Section) -> None:
    """Say what the naive pair's confounders are worth: its baseline against the fair one, without them."""
    naive, found = section.naive, section.attribution
    if naive is None or found is None:
        return
    arm, gain = "baseline", _gain(found)
    if gain is None:
        arm, gain = "candidate", found.effects[CANDIDATE]
    if not isinstance(gain, Effect):
        return
    together = "together " if len(naive.confounders()) > 1 else ""
    worth = f"{together}{told(gain.gain)} on the {arm} at batch {gain.batch_size}"
    side = _favoured(gain) and f"{_favoured(gain)} (measured{' together' if together else ''})"
    weighed = tuple(
        replace(factor, worth=worth, favours=factor.favours or side)
        if factor.state == "confounder"
        else factor
        for factor in naive.factors
    )
    for name in ("chosen", "naive"):
        pair = getattr(section, name)
        if pair is not None and pair.ids == naive.ids:
            setattr(section, name, replace(pair, factors=weighed))
    section.pairs = [replace(p, factors=weighed) if p.ids == naive.ids else p for p in section.pairs]


def _favoured(found: Effect) -> str | None:
    """The side that the confounders favour, where their worth is measured: the one faster with its own.

    The gain is that of the naive baseline's settings, in whichever arm; None where its interval holds 1.
    """
    if found.gain.low > 1:
        return "baseline"
    return "candidate" if found.gain.high < 1 else None


def two_by_two(store: Store, section: Section, known: Mapping[str, Run]) -> Chart | Absent | None:
    """Treatment x confounder with the missing cell; None without an attribution."""
    fair, naive, found = section.fair, section.naive, section.attribution
    if naive is None or found is None or found.batch_size is None:
        return None
    arms = {BASELINE: "no speculation", CANDIDATE: section.run.short_treatment}
    settings = {WITHOUT: fair.baseline.name if fair else section.run.name, WITH: naive.baseline.name}
    measured = [run_id for ids in found.cells.values() for run_id in ids]
    medians = _medians(store, measured, found.batch_size) if isinstance(found.readings, str) else {}
    section.cells = [
        {"setting": f"as in {settings[setting]}", "arm": arms[arm], "run": "nobody made this run"}
        | _cell(found, (arm, setting), [known[run_id] for run_id in found.cells[arm, setting]], medians)
        for setting in (WITHOUT, WITH)
        for arm in (BASELINE, CANDIDATE)
    ]
    gains = {arms[arm]: told(one.gain) for arm, one in found.effects.items() if isinstance(one, Effect)}
    chart = interaction.chart(
        (fair or naive).key,
        naming.name_factors(naive.confounders()),
        section.cells,
        found.batch_size,
        gains=gains,
        without=found.readings if isinstance(found.readings, str) else "",
    )
    runs = [known[run_id] for run_id in measured]
    if isinstance(found.readings, str):
        return _from_levels(chart, runs, found.batch_size)
    context = next(iter(found.readings.values())).context
    return sources.sourced(chart, "f-worth", sources.at_context(runs, found.batch_size, context))


def _from_levels(chart: Chart | Absent, runs: Sequence[Run], batch_size: int) -> Chart | Absent:
    """A chart of levels with the command that prints them."""
    source = sources.of_runs("run, round_ms, round_mad_ms, tok_s, n_clean", "level", runs, batch_size)
    return sources.sourced(chart, "f-round", source)


def _medians(store: Store, run_ids: Sequence[str], batch_size: int) -> dict[str, Row]:
    """What is shown of runs that share no context: medians of their clean windows."""
    sql = "SELECT run_id, tok_s, round_ms FROM level WHERE list_contains(?, run_id) AND batch_size = ?"
    found = rows.query(store, f"{sql} AND n_clean > 0", [run_ids, batch_size])
    return {row.pop("run_id"): row for row in found}


def _cell(found: Attribution, cell: tuple[str, str], runs: Sequence[Run], medians: Mapping[str, Row]) -> Row:
    """What a cell shows: its runs, pooled, at the context of all cells; else its first run's medians."""
    if not runs:
        return {}
    more = f" and {numbers.count(len(runs) - 1, 'repeat')}" if len(runs) > 1 else ""
    named = {"run": f"{runs[0].name}{more}", "runs": [run.run_id for run in runs]}
    if isinstance(found.readings, str):
        return named | medians.get(runs[0].run_id, {})
    read = found.readings[cell]
    spans = {"tok_s": read.tok_s, "round_ms": read.round_ms}
    ends = {f"{name}_lo": one.low for name, one in spans.items()}
    ends |= {f"{name}_hi": one.high for name, one in spans.items()}
    values = {name: one.value for name, one in spans.items()}
    return named | values | ends | {"interval_kind": read.tok_s.kind, "context": read.context}


def _nccl_differs(store: Store) -> bool:
    """Whether any two runs of the store have other NCCL variables: where none has, there is no ranking."""
    ((differs,),) = store.rows(
        "SELECT coalesce(bool_or(low <> high OR n < (SELECT count(*) FROM run)), false) FROM ("
        "SELECT min(value) AS low, max(value) AS high, count(*) AS n FROM factor_value "
        "WHERE starts_with(name, 'env.NCCL_') GROUP BY name)"
    )
    return bool(differs)


def ranking(store: Store, known: Mapping[str, Run], baseline: Run) -> Chart | Absent:
    """Runs like ``baseline`` in all but NCCL variables, by round time at their smallest common batch size.

    All rounds are read off their lines at one context; runs that never were there are left out.
    """
    sql = """
        WITH mine AS MATERIALIZED (
            SELECT name, value, norm FROM factor_norm
            WHERE run_id = ? AND class IN ('environment', 'server', 'software', 'workload', 'treatment')
                AND NOT starts_with(name, 'env.NCCL_') AND how = 'exact'
        ),
        rest AS (
            SELECT
                v.run_id,
                m.name IS NOT NULL AND CASE  -- most values are the very same text
                    WHEN v.value = m.value THEN true
                    ELSE coalesce(factor_norm(e.how, e.pick, v.value), '?') = coalesce(m.norm, '?')
                END AS same
            FROM factor_value AS v JOIN factor_entry AS e USING (name) LEFT JOIN mine AS m ON m.name = v.name
            WHERE e.class IN ('environment', 'server', 'software', 'workload', 'treatment')
                AND NOT starts_with(v.name, 'env.NCCL_') AND e.how = 'exact'
        ),
        alike AS MATERIALIZED (
            SELECT run_id FROM rest GROUP BY run_id
            HAVING bool_and(same) AND count(*) = (SELECT count(*) FROM mine)
        ),
        setting AS (
            SELECT run_id, string_agg(substr(name, 5) || '=' || norm, ' ' ORDER BY name) AS setting
            FROM factor_norm JOIN alike USING (run_id)
            WHERE class IN ('environment', 'server', 'software', 'workload', 'treatment')
                AND starts_with(name, 'env.NCCL_') AND norm NOT IN ('(unset)', 'recorded')
                AND name NOT IN (SELECT name FROM factor_entry WHERE effect = 'caveat')
            GROUP BY run_id
        )
        SELECT
            a.run_id, coalesce(s.setting, 'none set') AS setting, p.batch_size, p.eager, p.mixed, p.n,
            p.context_min, p.context_max, p.fit_a_ms, p.fit_c_ms_per_token, l.round_mad_ms, p.n AS n_clean
        FROM alike AS a JOIN level_line AS p USING (run_id) JOIN level AS l USING (run_id, batch_size)
        LEFT JOIN setting AS s USING (run_id)
        WHERE p.n > 1
    """
    found = rows.query(store, sql, [baseline.run_id]) if _nccl_differs(store) else []
    found.sort(key=lambda row: (known[row["run_id"]].name, row["run_id"]))
    by_size: dict[int, list[Row]] = defaultdict(list)
    for row in found:
        by_size[row["batch_size"]].append({**row, "run": known[row["run_id"]].name})
    key = baseline.run_id[:10]
    read = ((size, *at_one_context(parts)) for size, parts in sorted(by_size.items()))
    ranked = next((one for one in read if len({row["setting"] for row in one[2]}) > 1), None)
    if ranked is None:
        why = f"no two runs like {baseline.name}, at a common context, differ only in NCCL variables"
        return Absent(f"sweep-{key}", sweep.QUESTION, why)
    size, context, rows_read = ranked
    left_out = len({row["run_id"] for row in by_size[size]}) - len(rows_read)
    place = f"batch {size} and {numbers.fixed(context, 0)} tokens of context"
    chart = sweep.chart(key, f"NCCL variables at {place}", rows_read, _said(place, left_out))
    runs = [known[row["run_id"]] for row in rows_read]
    return sources.sourced(chart, "f-round", sources.at_context(runs, size, context))


def _said(place: str, left_out: int) -> str:
    said = f" All are read at {place}."
    return said + f" Left out, for they never were there: {numbers.count(left_out, 'run')}." * bool(left_out)


def at_one_context(parts: Sequence[Row]) -> tuple[float, list[Row]]:
    """Rounds of runs at the context that most settings, then most runs, cover; one row a run, in that order.

    ``parts``: rows of view ``level_line`` at one batch size, with the ``setting`` of their run. Of a run's
    parts there the fullest counts. Of batches with and without graphs, equal and mixed ones, only one kind.
    """
    made: list[tuple[tuple[float, ...], float, list[Row]]] = []
    for kind in sorted({(part["eager"], part["mixed"]) for part in parts}):
        alike = [part for part in parts if (part["eager"], part["mixed"]) == kind]
        ends = sorted({part[end] for part in alike for end in ("context_min", "context_max")})
        for low, high in pairwise(ends):
            context = (low + high) / 2
            over = [part for part in alike if part["context_min"] <= context <= part["context_max"]]
            fullest: dict[str, Row] = {}
            for part in over:
                if part["run_id"] not in fullest or part["n"] > fullest[part["run_id"]]["n"]:
                    fullest[part["run_id"]] = part
            counted = len({part["setting"] for part in fullest.values()}), len(fullest)
            made.append(((*counted, high - low), context, list(fullest.values())))
    if not made:
        return 0.0, []
    _, context, chosen = max(made, key=lambda one: one[0])
    rounds = ({"round_ms": row["fit_a_ms"] + row["fit_c_ms_per_token"] * context} for row in chosen)
    return context, [row | ms for row, ms in zip(chosen, rounds, strict=True)]
