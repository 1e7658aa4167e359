"""The runs that would settle what is unfair or unproven, as commands."""

from __future__ import annotations

import shlex

from speclog.report.model import Pair, Report

COLUMNS = ("candidate", "verdict", "run", "why", "command", "target")


def plan(report: Report) -> list[tuple[object, ...]]:
    """The fewest steps that would settle each open candidate, in the order of `COLUMNS`.

    A run that nobody made (the candidate under the naive baseline's settings) comes as launch commands; a
    pair that is unproven needs two sessions whose logs prove themselves, or somebody who vouches.
    """
    rows: list[tuple[object, ...]] = []
    for section in report.sections:
        name, verdict = section.run.name, section.verdict
        rows += [(name, verdict, m.title, m.why, m.command, m.target) for m in section.missing]
        if verdict == "unproven" and section.chosen is not None:
            rows.append((name, verdict, *_prove(section.chosen)))
        elif verdict == "no baseline":
            rows.append(
                (
                    name,
                    verdict,
                    "A baseline: the same model without speculation.",
                    section.why_not,
                    None,
                    None,
                )
            )
    return rows


def _prove(pair: Pair) -> tuple[str, str, str, None]:
    missing = sorted({factor.name for factor in pair.unknowns()})
    arms = [shlex.quote(run.profile) for run in (pair.baseline, pair.candidate) if run.profile]
    names = " ".join(shlex.quote(run.name) for run in (pair.candidate, pair.baseline))
    command = (
        f"speclog launch {' '.join(arms)} --repeat 2"
        if len(arms) == 2
        else f"speclog annotate {names} env=complete machine=NAME workload=NAME"
    )
    return (
        "Both arms again by `speclog launch`, or your word that nothing differed.",
        f"not recorded: {', '.join(missing)}",
        command,
        None,
    )
