"""The runs that would settle what is unfair or unproven, as commands."""

from __future__ import annotations

import shlex

from speclog.analysis.missing import both
from speclog.analysis.repeats import needed
from speclog.report import naming, numbers, terms, words
from speclog.report.model import Pair, Report
from speclog.report.sources import script_on_store

COLUMNS = ("candidate", "verdict", "run", "why", "command", "target")


def plan(report: Report) -> list[tuple[object, ...]]:
    """The fewest steps that would settle each open candidate, in the order of `COLUMNS`.

    Commands of speclog's name the store, so that what they measure comes into it.

    A run that nobody made (the candidate under the naive baseline's settings) comes as launch commands; a
    pair that is unproven needs two sessions whose logs prove themselves, or somebody who vouches; a fair one
    that is level, and not shown to be equal, needs repeats.
    """
    rows: list[tuple[object, ...]] = []
    for section in report.sections:
        name, verdict = section.run.name, section.verdict
        rows += [(name, verdict, m.title, m.why, m.command, m.target) for m in section.missing]
        if verdict == "unproven" and section.chosen is not None:
            rows.append((name, verdict, *_prove(section.chosen)))
        elif verdict == "unfair" and section.chosen is not None and not section.missing:
            rows += [] if section.fair else [(name, verdict, *_alike(section.chosen))]
        elif verdict == "fair" and section.chosen is not None:
            rows += [(name, verdict, *one) for one in _decide(section.chosen)]
        elif verdict == "no baseline":
            what = "A baseline: the same model without speculation."
            rows.append((name, verdict, what, section.why_not, None, None))
        elif verdict == "never served":
            again = section.run.launched.command() if section.run.launched else None
            why = f"its log ends ({section.run.end_reason}) before the first decode line"
            rows.append((name, verdict, "The same run again.", why, again, None))
    return [_on_store(row, report.store) for row in rows]


def _on_store(row: tuple[object, ...], store: str) -> tuple[object, ...]:
    *first, command, target = row
    return (*first, script_on_store(command, store) if isinstance(command, str) else command, target)


def settled(report: Report) -> str:
    """What it means that nothing is planned: said of the candidates that were looked at."""
    if not report.sections:
        return (
            "nothing to plan: the store holds no speculative run; `speclog ingest LOG` the log of a server "
            "with speculative decoding, and of one without"
        )
    return "nothing is missing: every candidate looked at has a fair pair that is decided"


def unseen(report: Report) -> str:
    """The candidates that no plan was made for, and how to ask; empty when there are none."""
    names = [section.run.name for section in report.brief]
    if not names:
        return ""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"not looked at: {', '.join(names[:3])}{more}; ask for them by --run NAME"


def _alike(pair: Pair) -> tuple[str, str, str | None, None]:
    """Two sessions that do not differ, where no single run would settle an unfair pair."""
    found = pair.confounders()
    mends = dict.fromkeys(factor.mend for factor in found if factor.mend)
    why = f"{naming.name_factors(found)}: {'; '.join(mends)}" if mends else words.reason(pair)
    return ("Both arms again, alike in what differs now.", why, _launch(pair, 1), None)


def _decide(pair: Pair) -> list[tuple[str, str, str | None, str | None]]:
    """Repeats for a fair pair that is level and not shown to be equal; both arms where it has no number."""
    level = pair.main_level
    if level is None:
        what = "Both arms again, at one batch size and the same lengths."
        return [(what, pair.why_no_number, _launch(pair, 1), None)]
    if not level.tie or level.equivalent:
        return []
    if level.speedup is None or level.speedup_lo is None or level.speedup_hi is None:
        return []
    runs = 1 + min(len(pair.candidate_repeats), len(pair.baseline_repeats))
    n = needed(level.speedup, level.speedup_lo, level.speedup_hi, runs)
    said = numbers.percent_with(level.speedup, level.speedup_lo, level.speedup_hi)
    why = f"level so far at batch {level.batch_size}: {said}"
    if n is None:
        more = "no number of repeats that anybody would wait for decides it; longer sessions might"
        return [("Nothing short.", f"{why}; {more}", None, None)]
    return [
        (
            f"At least {n} sessions of both arms.",
            why,
            _launch(pair, n) or f"# start both servers again, {n} times in turn, with the same requests",
            "make the interval of the speedup narrower than its distance from 1",
        )
    ]


def _launch(pair: Pair, repeats: int) -> str | None:
    """Both arms as they were launched; None where one was not."""
    base, spec = pair.baseline.launched, pair.candidate.launched
    if base is None or spec is None:
        return None
    return "\n".join(both(base, spec, *(["--repeat", str(repeats)] if repeats > 1 else [])))


def _prove(pair: Pair) -> tuple[str, str, str | None, None]:
    """A person's word is never a command that runs as it stands: it would make the pair fair by itself."""
    missing = sorted({factor.name for factor in pair.unknowns()})
    odd = sorted({factor.name for factor in pair.unclassified()})
    mends = "; ".join(dict.fromkeys(factor.mend or factor.about or factor.name for factor in pair.doubts()))
    doubted = f"{terms.doubts(pair)}: {mends}"
    why = [f"not recorded: {', '.join(missing)}"] * bool(missing)
    why += [f"nobody classified (speclog check --factors FILE): {', '.join(odd)}"] * bool(odd)
    why += [doubted] * bool(mends)
    if pair.left_open == "unclassified":
        return ("Both arms again, alike in what differs now.", "; ".join(why), _launch(pair, 1), None)
    if pair.left_open == "doubt":
        again = _launch(pair, 1)
        return (
            "Both arms again, without what is in doubt.",
            doubted,
            f"# {mends}; then:\n{again}" if again else None,
            None,
        )
    vouch = ["# your word, where you know it, with labels of your own for machine and requests:"]
    vouch += [
        f"# {shlex.join(['speclog', 'annotate', run.run_id])} env=complete machine=NAME workload=NAME"
        for run in (pair.candidate, pair.baseline)
    ]
    return (
        "Both arms again by `speclog launch`, or your word that nothing differed.",
        "; ".join(why),
        _launch(pair, 2) or "\n".join(vouch),
        None,
    )
