"""From the store to the data model of a report: which pairs, which numbers, which charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from speclog import __version__
from speclog.analysis import engines
from speclog.errors import UsageError
from speclog.report import across, naming, numbers, rows, terms, words
from speclog.report.details import detailed, draw, judge_brief
from speclog.report.experiments import missing_run, ranking, two_by_two, weigh
from speclog.report.explained import explain
from speclog.report.kin import Kin
from speclog.report.model import Pair, Report, Run, Section
from speclog.report.progress import Step, silent
from speclog.report.sides import Sides
from speclog.report.sources import placed, script_on_store
from speclog.report.verdicts import Verdicts
from speclog.runs import candidates as named_candidates
from speclog.runs import plain, resolve
from speclog.store import snapshot

if TYPE_CHECKING:
    from speclog.analysis.baseline import Choice
    from speclog.store import Store

DETAILED = 8
"""Candidates in full on one page (charts, intervals, factors); further ones get a row and a command."""
BRIEF = 40
"""Of those the ones whose intervals are worked out (some 20 ms each), in stores of up to MANY runs."""
JUDGED = 4
"""Pairs of a section, fairest first, whose intervals are worked out; in stores of more runs than MANY only
those of the pairs that have a table or a chart. Of further ones there are point estimates."""
PAIRS_OF_MANY = 30
"""Pairs of a section of each kind (verdict, with numbers or without), in such stores; else all."""
DETAILED_OF_MANY, MANY = 2, 200
"""Candidates in full of a store with more runs than MANY, where a section takes up to two seconds."""


def gather(
    store: Store,
    *,
    vs: str,
    candidates: Sequence[str] | None,
    command: str,
    cross_engine: bool = False,
    step: Step = silent,
    ahead: Future[Sides] | None = None,
) -> Report:
    """Everything the page says, read from an open store.

    ``vs`` names baselines as `runs.resolve` does, or is the word ``baseline``: every run without speculation.
    ``candidates`` names runs likewise; None means every speculative run.
    ``cross_engine``: with runs of another engine too, and with whatever is named; said so everywhere.
    ``step`` is told what is being done; ``ahead`` is what `ahead.look` finds meanwhile.
    Raises UsageError when a name fits no run, a baseline speculates or a candidate does not, and when
    ``cross_engine`` names no run to compare with.
    """
    if cross_engine and vs == "baseline":
        raise UsageError(engines.NOT_NAMED)
    with snapshot.taken(store):
        return _gather(store, vs, candidates, command, cross_engine, step, ahead)


def _gather(
    store: Store,
    vs: str,
    candidates: Sequence[str] | None,
    command: str,
    cross_engine: bool,
    step: Step,
    ahead: Future[Sides] | None,
) -> Report:
    step("judging pairs", 0.2)
    known = rows.runs(store)
    wanted = _candidates(store, known, candidates, cross_engine)
    baselines = resolve(store, vs) if cross_engine else _baselines(store, known, wanted, vs)
    named = frozenset(baselines)
    # The fair pair may be with a baseline that nobody named: all plain runs are looked at.
    everyone = named | {run.run_id for run in known.values() if run.speculative is False and run.served}
    few = len(known) <= MANY
    sides = Sides(store, ahead)
    with store.holding():
        verdicts = Verdicts(store, known, [run.run_id for run in wanted], everyone)
        explicit = named if vs != "baseline" else None
        choices = verdicts.choices(named)
        naive = _naive(choices if explicit is None else verdicts.choices(everyone))
        n_full = DETAILED if few else DETAILED_OF_MANY
        most = None if few else PAIRS_OF_MANY
        in_full = len(wanted) <= n_full
        pairs = verdicts.of(wanted, most, named) if in_full else verdicts.fairest(3, named)
        apart = across.pairs(store, known, wanted, baselines) if cross_engine else {}

        def section_of(run: Run, pairs: Mapping[str, list[Pair]]) -> Section:
            mine = [*pairs.get(run.run_id, []), *apart.get(run.run_id, [])]
            return _section(run, mine, explicit, choices.get(run.run_id), naive.get(run.run_id))

        ordered = sorted((section_of(run, pairs) for run in wanted), key=_weight)
        full = ordered[:n_full]
        if not in_full:
            complete = verdicts.of([section.run for section in full], most, named)
            full = [section_of(section.run, complete) for section in full]
        counted = verdicts.count()
        for section in full:
            section.n_pairs = max(counted.get(section.run.run_id, 0), len(section.pairs))
    brief = ordered[n_full:]
    sections = [*full, *brief]
    if explicit is not None:
        _name_engines(sections, {known[run_id].engine for run_id in explicit})
    engines_said = across.notes(
        sections, [known[run_id] for run_id in baselines], explicit is not None, cross_engine
    )
    kin = _kin(store, known, full)
    full = _folded(kin, full)
    step("computing intervals", 0.5)
    detailed(store, sides, kin, full, JUDGED if few else 0)
    judge_brief(sides, brief[: BRIEF if few else 0])
    step("explaining differences", 0.6)
    explain(store, sides, known, full)
    _doubt_tuning(store, known, full)
    for number, section in enumerate(full):
        step(f"drawing {section.run.name}", 0.7 + 0.2 * number / len(full))
        weigh(section)
        section.headline, section.change = words.headline(section), words.change(section)
        draw(store, sides, kin, section)
        experiment = two_by_two(store, section, known)
        section.charts += [experiment] if experiment else []
        settled = missing_run(section, sections)
        if settled:
            shown = script_on_store(settled.command, store.target)
            section.missing = [replace(settled, command=shown)]
    _rank_settings(store, known, full)
    for section in full:
        section.charts = [placed(chart, store.target) for chart in section.charts]
        section.advice = [placed(answer, store.target) for answer in section.advice]
        section.answers = [placed(answer, store.target) for answer in section.answers]
    return Report(
        title=_title(full),
        summary=_summary(full, brief, everything=vs == "baseline" and candidates is None),
        command=command,
        store=store.target,
        version=__version__,
        made_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        vs=vs,
        sections=full,
        brief=brief,
        runs=list(known.values()),
        baselines=[known[run_id] for run_id in baselines],
        notes=[*engines_said, *_notes(full)],
        cross_engine=cross_engine,
    )


def _naive(choices: Mapping[str, Choice]) -> dict[str, str]:
    """The fastest baseline (run_id) of each candidate, where it is not the chosen one or a repeat of it."""
    return {candidate: one.naive["baseline"] for candidate, one in choices.items() if one.naive is not None}


def _folded(kin: Kin, sections: Sequence[Section]) -> list[Section]:
    """One section a server: a candidate that is pooled with an earlier one has none of its own."""
    kept: list[Section] = []
    pooled: set[str] = set()
    for section in sections:
        if section.run.run_id in pooled:
            continue
        section.repeats = kin.repeats(section.run)[1:] if section.fair else []
        pooled.update(run.run_id for run in section.repeats)
        kept.append(section)
    return kept


def _doubt_tuning(store: Store, known: Mapping[str, Run], sections: Sequence[Section]) -> None:
    """Say which tuning of the runs shown was measured on another machine than theirs."""
    from speclog.analysis import staleness
    from speclog.report.evidence import told

    shown = {
        section.run.run_id: [section.run.run_id, *(pair.baseline.run_id for pair in section.shown)]
        for section in sections
    }
    found = staleness.load(store, [run_id for ids in shown.values() for run_id in ids], told)
    for section in sections:
        section.stale = [
            rows.harmless(f"{known[run_id].name}: {item.text}")
            for run_id in dict.fromkeys(shown[section.run.run_id])
            for item in found.get(run_id, [])
        ]


def _kin(store: Store, known: Mapping[str, Run], sections: Sequence[Section]) -> Kin:
    """The relatives of every run that a section speaks of."""
    spoken_of = [run for s in sections for pair in s.shown for run in (pair.candidate, pair.baseline)]
    return Kin(store, known, {run.run_id: run for run in spoken_of}.values())


def _rank_settings(store: Store, known: Mapping[str, Run], sections: Sequence[Section]) -> None:
    """One ranking of NCCL settings a baseline, in the section that names it first."""
    done: set[str] = set()
    for section in sections:
        pair = section.fair or section.chosen
        if pair is None or pair.baseline.run_id in done:
            continue
        done.add(pair.baseline.run_id)
        section.charts.append(ranking(store, known, pair.baseline))


def _candidates(
    store: Store, known: Mapping[str, Run], names: Sequence[str] | None, whatever: bool
) -> list[Run]:
    if names is None:
        return [run for run in known.values() if run.speculative]
    find = resolve if whatever else named_candidates
    ids = [run_id for name in names for run_id in find(store, name)]
    return [known[run_id] for run_id in dict.fromkeys(ids)]


def _baselines(store: Store, known: Mapping[str, Run], wanted: Sequence[Run], vs: str) -> list[str]:
    if vs != "baseline":
        try:
            return plain(store, vs)
        except UsageError as error:
            theirs = {known[run_id].engine for run_id in resolve(store, vs)}
            mine = {run.engine for run in wanted}
            if not mine or mine & theirs:
                raise
            raise UsageError(f"{vs}: {engines.refusal(theirs, mine)}") from error
    return [run.run_id for run in known.values() if run.speculative is False and run.served]


def _section(
    run: Run, pairs: list[Pair], named: frozenset[str] | None, choice: Choice | None, naive: str | None
) -> Section:
    """One candidate: ``pairs`` fairest first, ``named`` the baselines asked for (None: any will do).

    ``choice`` is the baseline among those, ``naive`` the run_id of the fastest baseline where that is
    another experiment.
    """
    by_baseline = {pair.baseline.run_id: pair for pair in pairs}
    chosen = by_baseline.get(choice.row["baseline"]) if choice is not None and choice.row else None
    if chosen is None:  # with --cross-engine alone: the least different of those asked for
        chosen = next((pair for pair in pairs if named and pair.baseline.run_id in named), None)
    asked = [pair for pair in pairs if named is None or pair.baseline.run_id in named]
    fair = next((pair for pair in [*asked, *pairs] if pair.verdict == "fair" and pair.main_level), None)
    quoted = by_baseline.get(naive or "")
    unfair = chosen is not None and chosen.verdict == "unfair"  # the fairest there is
    if chosen is not None and (unfair or (named is not None and chosen.verdict != "fair")):
        quoted = chosen
    elif quoted is not None and not _misleads(quoted, fair or chosen):
        quoted = None
    unproven = (pair for pair in [*asked, *pairs] if pair.verdict == "unproven" and pair.main_level)
    maybe = next(unproven, None) if chosen and fair is None else None
    return Section(
        run,
        chosen,
        fair if chosen else None,
        quoted,
        pairs,
        why_not=_why_not(run, asked, named),
        maybe=maybe,
        choice=choice.note if choice is not None and chosen is not None else "",
    )


def _misleads(pair: Pair, truth: Pair | None) -> bool:
    """Whether quoting ``pair`` would say something else than ``truth``, the best pair with a number.

    Another start of the same baseline misleads nobody: its windows are pooled.
    """
    if truth is None or truth is pair or truth.main_level is None:
        return False
    alike = pair.verdict == truth.verdict == "fair" and pair.contract_hash == truth.contract_hash
    return not alike and any(level.naive_speedup for level in pair.levels)


def _why_not(run: Run, asked: Sequence[Pair], named: frozenset[str] | None) -> str:
    if asked or not run.served:
        return ""
    if run.speculative is None:
        return "its log does not say whether it speculates"
    if named is not None:
        return "the baseline named is not a run without speculation of the same engine and model"
    return f"no {run.engine} run without speculation in the store serves this model and decoded a token"


def _name_engines(sections: Iterable[Section], named: set[str]) -> None:
    """Where the baselines asked for are all of another engine, that is why there is no comparison."""
    for section in sections:
        if section.why_not and section.run.engine not in named:
            section.why_not = engines.refusal(named, [section.run.engine])


def _weight(section: Section) -> tuple[bool, int, bool, str]:
    order = {"fair": 0, "unfair": 1, "unproven": 2, "no baseline": 3, "never served": 4}
    no_number = section.chosen is None or section.chosen.main_level is None
    return (not section.run.served, order.get(section.verdict, 5), no_number, section.run.name)


def _title(sections: Sequence[Section]) -> str:
    if not sections:
        return "No speculative run in the store"
    if len(sections) == 1:
        only, pair = sections[0].run.name, sections[0].chosen
        if pair is not None and pair.across:
            return f"{only} against {pair.baseline.name}, across engines"
        return f"{only}: does speculation pay?"
    models = list(dict.fromkeys(section.run.model for section in sections if section.run.model))
    about = f" on {models[0].rstrip('/').rsplit('/', 1)[-1]}" if len(models) == 1 else ""
    return f"Does speculative decoding pay{about}?"


def _summary(full: Sequence[Section], brief: Sequence[Section], everything: bool) -> str:
    sections = [*full, *brief]
    if len(sections) == 1:
        return sections[0].headline
    if not sections:
        return (
            "Nothing was compared: ingest the log of a server with speculative decoding, and of one without."
        )
    repeats = sum(len(section.repeats) for section in full)
    counts = dict.fromkeys(words.VERDICT_WORDS, 0)
    for section in sections:
        counts[section.verdict] = counts.get(section.verdict, 0) + 1
    parts = [
        f"{number} {words.verdict_word(verdict).lower()}" for verdict, number in counts.items() if number
    ]
    pooled = f" ({numbers.count(repeats, 'repeat')} pooled with {'it' if repeats == 1 else 'them'})"
    what = numbers.capital(numbers.count(len(sections), "speculative run"))
    said = f"{what}{pooled if repeats else ''}: {', '.join(parts)}."
    fair = [section.fair for section in sections if section.fair]
    if not fair:
        return f"{said} {_none_fair(sections, everything)}"
    sure = sum(map(_wins, fair))
    unsure = sum(map(_without_interval, fair))
    more = f"; of {unsure} more there is no interval here" if unsure else ""
    unreal = sum(1 for pair in fair if _wins(pair) and terms.of_unreal_text(pair))
    held = numbers.count(unreal, "has", "have")
    note = f" ({held} an accept length that real text need not reach)" if unreal else ""
    return f"{said} On equal terms {numbers.count(sure, 'of them wins', 'of them win')}{note}{more}."


def _none_fair(sections: Sequence[Section], everything: bool) -> str:
    """That nothing is proven, and of what that is said: of the store, or of the runs that were named."""
    if everything:
        return (
            "No pair in this store is proven to be the same experiment and has a batch size in common, so no "
            "speedup here is proven."
        )
    others = [s for s in sections if any(pair.verdict == "fair" for pair in s.pairs)]
    said = "No pair of the runs named is proven to be the same experiment, so no speedup here is proven"
    if not others:
        return f"{said}."
    return f"{said}; the store holds fair pairs for {len(others)} of them: --vs baseline finds them."


def _wins(pair: Pair) -> bool:
    """Whether the whole interval of the speedup lies above 1."""
    level = pair.main_level
    return bool(level and level.speedup_lo is not None and level.speedup_lo > 1)


def _without_interval(pair: Pair) -> bool:
    level = pair.main_level
    return level is not None and level.speedup_lo is None


def _notes(sections: Sequence[Section]) -> list[str]:
    made_up = [section.run.name for section in sections if section.run.synthetic]
    return (
        [f"Synthetic logs, made by a script and not by a server: {naming.join(made_up)}."] if made_up else []
    )
