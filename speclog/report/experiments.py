"""Runs seen as an experiment: the two by two table, the run nobody made, settings ranked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from speclog.report import numbers, rows, words
from speclog.report.charts import interaction, sweep
from speclog.report.model import Absent, Chart, Level, Missing, Pair, Row, Run, Section
from speclog.report.points import Points

if TYPE_CHECKING:
    from speclog.store import Store


def missing_run(section: Section, sections: Sequence[Section]) -> Missing | None:
    """The run that would settle the naive pair: this treatment under its baseline's settings.

    None when the pair is not unfair or somebody made that run. The command repeats the mends of the differing
    factors; the target is the baseline's own speed.
    """
    naive = section.naive
    if naive is None or naive.verdict != "unfair" or counterpart(section, sections) is not None:
        return None
    found = naive.confounders()
    mends = [factor.mend for factor in found if factor.mend and factor.mend.startswith(("export ", "unset "))]
    gain = _gain(section, naive.main_level) if naive.main_level else None
    if not found or len(mends) < len(found) or (gain is not None and gain <= 1):
        return None  # not a matter of the environment, or settings that nobody would want
    again = (
        f"speclog launch {section.run.profile}"
        if section.run.profile
        else "# start the candidate's server again"
    )
    return Missing(
        title=f"The run nobody has made: {section.run.treatment} with the settings of {naive.baseline.name}.",
        why=f"{numbers.capital(words.name_factors(found))} would then be equal.",
        command="\n".join([*mends, again]),
        target=_target(section, naive),
    )


def counterpart(section: Section, sections: Sequence[Section]) -> Run | None:
    """A run of the same treatment that is fair against the naive baseline, if somebody made it."""
    if section.naive is None:
        return None
    wanted = section.naive.baseline.run_id
    for other in sections:
        same = other.run.treatment == section.run.treatment and other.run.model == section.run.model
        if same and any(pair.verdict == "fair" and pair.baseline.run_id == wanted for pair in other.pairs):
            return other.run
    return None


def _target(section: Section, naive: Pair) -> str | None:
    """What the missing run must do to beat the naive baseline, and an estimate of what it would do."""
    level = naive.main_level
    if level is None or level.tau is None or level.t_base_ms is None or level.t_spec_ms is None:
        return None
    allowed_ms, tau = level.tau * level.t_base_ms, numbers.fixed(level.tau)
    said = (
        f"beat {naive.baseline.name} at batch {level.batch_size}: rounds under {numbers.ms(allowed_ms)} ms "
        f"at accept length {tau} (it took {numbers.ms(level.t_spec_ms)} ms without those settings)."
    )
    gain = _gain(section, level)
    if gain is None:
        return said
    round_ms = level.t_spec_ms / gain
    return (
        f"{said} Estimate, not a result: if the settings helped it as much as the baseline (×{gain:.2f}), "
        f"its round would take {numbers.ms(round_ms)} ms, {numbers.percent(allowed_ms / round_ms)}."
    )


def _gain(section: Section, naive: Level) -> float | None:
    """How much faster the baseline is with the settings: step time without over with."""
    fair = section.fair.main_level if section.fair else None
    if (
        fair is None
        or fair.t_base_ms is None
        or naive.t_base_ms is None
        or fair.batch_size != naive.batch_size
    ):
        return None
    return fair.t_base_ms / naive.t_base_ms


def weigh(section: Section) -> None:
    """Say what the naive pair's confounders are worth: its baseline against the fair one, without them."""
    naive, fair = section.naive, section.fair
    gain = _gain(section, naive.main_level) if naive and naive.main_level else None
    if naive is None or fair is None or gain is None or naive.verdict != "unfair" or fair.verdict != "fair":
        return
    together = "together " if len(naive.confounders()) > 1 else ""
    worth = (
        f"{together}×{gain:.2f} on the baseline at batch {fair.main_level.batch_size}"
        if fair.main_level
        else None
    )
    weighed = tuple(
        replace(factor, worth=worth) if factor.state == "confounder" else factor for factor in naive.factors
    )
    for name in ("chosen", "naive"):
        pair = getattr(section, name)
        if pair is not None and pair.key == naive.key:
            setattr(section, name, replace(pair, factors=weighed))
    section.pairs = [replace(p, factors=weighed) if p.key == naive.key else p for p in section.pairs]


def two_by_two(points: Points, section: Section, sections: Sequence[Section]) -> Chart | Absent | None:
    """Treatment x confounder with the missing cell; None without a fair and an unfair pair."""
    fair, naive = section.fair, section.naive
    if fair is None or naive is None or naive.verdict != "unfair" or fair.main_level is None:
        return None
    size = fair.main_level.batch_size
    other = counterpart(section, sections)
    what = words.name_factors(naive.confounders())
    arms = ("no speculation", section.run.short_treatment)
    cells = [
        {
            "setting": f"as in {pair.baseline.name}",
            "arm": arm,
            "run": run.name if run else "nobody made this run",
        }
        | (points.level(run.run_id, size) or {} if run else {})
        for pair, arm, run in (
            (fair, arms[0], fair.baseline),
            (fair, arms[1], section.run),
            (naive, arms[0], naive.baseline),
            (naive, arms[1], other),
        )
    ]
    return interaction.chart(fair.key, what, cells, size)


def ranking(store: Store, known: Mapping[str, Run], baseline: Run) -> Chart | Absent:
    """Runs like ``baseline`` in all but NCCL variables, by round time at their smallest common batch size."""
    sql = """
        WITH alike AS (
            SELECT
                run_id,
                string_agg(name || '=' || coalesce(norm, '?'), chr(10) ORDER BY name)
                    FILTER (NOT starts_with(name, 'env.NCCL_') AND how = 'exact') AS rest,
                string_agg(substr(name, 5) || '=' || norm, ' ' ORDER BY name)
                    FILTER (starts_with(name, 'env.NCCL_') AND norm NOT IN ('(unset)', 'recorded')) AS setting
            FROM factor_norm WHERE class IN ('environment', 'server', 'software', 'workload', 'treatment')
            GROUP BY run_id
        )
        SELECT
            a.run_id, coalesce(a.setting, 'none set') AS setting, l.batch_size, l.round_ms, l.round_mad_ms,
            l.n_clean
        FROM alike AS a JOIN level AS l USING (run_id)
        WHERE a.rest = (SELECT rest FROM alike WHERE run_id = ?) AND l.n_clean > 1
    """
    found = rows.query(store, sql, [baseline.run_id])
    by_size: dict[int, list[Row]] = defaultdict(list)
    for row in found:
        by_size[row["batch_size"]].append({**row, "run": known[row["run_id"]].name})
    key = baseline.run_id[:10]
    sizes = [size for size, listed in sorted(by_size.items()) if len({row["setting"] for row in listed}) > 1]
    if not sizes:
        return Absent(
            f"sweep-{key}", sweep.QUESTION, f"no two runs like {baseline.name} differ only in NCCL variables"
        )
    return sweep.chart(key, f"NCCL variables at batch {sizes[0]}", by_size[sizes[0]])
