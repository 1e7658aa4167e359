"""What an unfair pair is made of, as rows a page can print: the attribution's numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, isfinite
from typing import TYPE_CHECKING, Any

from speclog.report import naming, numbers, sources
from speclog.report.model import Answer, Pair, Run, Section

if TYPE_CHECKING:
    from speclog.analysis.attribution import Attribution
    from speclog.analysis.decompose import Decomposition, Term
    from speclog.analysis.design import Records
    from speclog.analysis.worth import Adjusted, Span
    from speclog.report.sides import Sides
    from speclog.store import Store

RELATED = 24
"""Runs of one model that are looked through for cells of the experiment; the nearest in time of more."""
CAVEAT = "an estimate, not a result: it holds only if both arms gain alike, and accept length stays as it is"


def explain(store: Store, sides: Sides, known: Mapping[str, Run], sections: Sequence[Section]) -> None:
    """Fill in ``attribution`` and ``answers`` of sections whose naive pair is unfair and can be explained.

    A fair pair explains it, or a run of the candidate under the baseline's settings.
    """
    from speclog.analysis import design
    from speclog.analysis.attribution import explain as attribute

    unfair = [(s, s.naive) for s in sections if s.naive and s.naive.verdict == "unfair"]
    wanted = [run_id for section, naive in unfair for run_id in _related(known, section, naive)]
    if not wanted:
        return
    records = design.load(store, wanted)

    def side(run_ids: Sequence[str]) -> Any:
        return sides.side(tuple(run_ids))

    for section, naive in unfair:
        fair = section.fair.baseline.run_id if section.fair else None
        changed = None if fair else _changed(records, naive)
        if fair is None and changed is None:
            continue
        ids = (section.run.run_id, fair, naive.baseline.run_id)
        found = attribute(records, side, *ids, changed=changed)
        if isinstance(found, str):
            section.answers = [Answer("worth", f"What are {_causes(naive)} worth?", why_not=found)]
            continue
        section.attribution = found
        section.answers = [*_parts(sides, naive), *map(_sourced(found, known), _answers(found, naive, known))]


def _sourced(found: Attribution, known: Mapping[str, Run]) -> Callable[[Answer], Answer]:
    """Give an answer the command that prints the rounds at the context it speaks of, and its formula."""
    from speclog.analysis.worth import Effect

    if isinstance(found.readings, str):
        return lambda answer: answer
    runs = [known[run_id] for ids in found.cells.values() for run_id in ids]
    read = next(iter(found.readings.values()))
    arms = {f"worth_{arm}": one.context for arm, one in found.effects.items() if isinstance(one, Effect)}

    def sourced(answer: Answer) -> Answer:
        if answer.why_not:
            return answer
        source = sources.at_context(runs, read.batch_size, arms.get(answer.key, read.context))
        return replace(answer, source=source, anchor="f-worth")

    return sourced


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


def _changed(records: Records, naive: Pair) -> str | None:
    """The candidate under the settings of a baseline that it is unfair with, if somebody ran it."""
    me, theirs = naive.candidate.run_id, naive.baseline.run_id
    causes = {factor.name for factor in naive.confounders() if not factor.name.startswith("measure.")}

    def fits(run_id: str) -> bool:
        apart = records.difference(me, run_id)
        alike = apart.causes == causes and not apart.unknown and not apart.treatment
        return alike and all(records.same(name, run_id, theirs) for name in causes)

    return next((run_id for run_id in records.values if causes and fits(run_id)), None)


def _related(known: Mapping[str, Run], section: Section, naive: Pair) -> list[str]:
    """The runs of the question, then served runs of the same engine and model, nearest in time."""
    me, fair = section.run, section.fair.baseline if section.fair else None
    alike = [r for r in known.values() if r.served and r.engine == me.engine and r.model == me.model]

    def apart(run: Run) -> float:
        if run.started_at is None or me.started_at is None:
            return float("inf")
        return abs((run.started_at - me.started_at).total_seconds())

    nearest = sorted(alike, key=lambda run: (apart(run), run.run_id))[:RELATED]
    named = [run.run_id for run in (me, naive.baseline, fair) if run is not None]
    return list(dict.fromkeys([*named, *(run.run_id for run in nearest)]))


def _causes(pair: Pair) -> str:
    return naming.name_factors(pair.confounders()) or "the settings"


def _parts(sides: Sides, naive: Pair) -> list[Answer]:
    """The naive ratio of whole runs, taken apart."""
    from speclog.analysis.decompose import decompose

    title = f"Where does the ratio to {naive.baseline.name} come from?"
    found = decompose(*map(sides.windows, naive.ids))
    if isinstance(found, str):
        return [Answer("parts", title, why_not=found)]
    rows, source = tuple(_terms(found)), sources.of_throughput(naive)
    return [Answer("parts", title, text=_product(found), rows=rows, anchor="f-parts", source=source)]


def _terms(found: Decomposition) -> list[dict[str, Any]]:
    return [
        {
            **{"term": term.name, "log": term.log, "factor": term.factor},
            **{
                f"log_{end}": at if isfinite(at) else None
                for end, at in (("lo", term.low), ("hi", term.high))
            },
        }
        for term in (*found.terms, found.total)
    ]


def _product(found: Decomposition) -> str:
    told = " · ".join(f"{term.name.replace('_', ' ')} {_times(term)}" for term in found.terms)
    return (
        f"{_times(found.total)} in decode throughput ({found.tok_s_candidate:.1f} against "
        f"{found.tok_s_baseline:.1f} tok/s over whole runs) = {told}; intervals within-run."
    )


def _times(term: Term) -> str:
    """A term as a factor with its interval, where it has one; occupancy is counted, not estimated."""
    if not isfinite(term.low) or not isfinite(term.high):
        return f"×{term.factor:.2f} (no interval)"
    if term.name == "occupancy":
        return f"×{term.factor:.2f} (as counted)"
    return f"×{numbers.with_span(term.factor, exp(term.low), exp(term.high))}"


def _ms(span: Span) -> str:
    """A round time with its interval: ``15.91 ms (15.84 to 15.98)``."""
    said = numbers.ms(span.value, low=span.low, high=span.high)
    return f"{said} ms ({numbers.between(span.low, span.high)})"


def _answers(found: Attribution, naive: Pair, known: Mapping[str, Run]) -> list[Answer]:
    what, batch = _causes(naive), f"at batch {found.batch_size}"
    return [
        *_gains(found, what, batch, known),
        _interaction(found, batch),
        _acceptance(found, what, batch),
        *_adjusted(found.adjusted, naive, batch),
        _shares(found, batch),
    ]


def _gains(found: Attribution, what: str, batch: str, known: Mapping[str, Run]) -> list[Answer]:
    from speclog.analysis.attribution import BASELINE, CANDIDATE

    rows = [
        {"without": known[a].name, "with": known[b].name, **_span(one.gain)}
        for (a, b), one in found.pairs.items()
        if not isinstance(one, str)
    ]
    said = [f"{known[b].name} {told(one.gain)}" for (_, b), one in found.pairs.items()
            if not isinstance(one, str)]  # fmt: skip
    made = []
    for arm, title in ((BASELINE, "on the baseline"), (CANDIDATE, "on the candidate")):
        gain = found.effects[arm]
        key, question = f"worth_{arm}", f"What are {what} worth {title}?"
        if isinstance(gain, str):
            made.append(Answer(key, question, why_not=gain))
            continue
        context = f"at {numbers.fixed(gain.context, 0)} tokens of context"
        times = f"{_ms(gain.without)} a round without, {_ms(gain.with_it)} with, {context}"
        text = f"{told(gain.gain)} {batch}: {times}."
        if arm == BASELINE and len(rows) > 1:
            text += f" By pair of runs: {', '.join(said)}."
        made.append(
            Answer(key, question, text, rows=tuple(rows) if arm == BASELINE else (), **_span(gain.gain))
        )
    return made


def _interaction(found: Attribution, batch: str) -> Answer:
    question, span = "Do they help both arms alike?", found.interaction
    if isinstance(span, str):
        return Answer("interaction", question, why_not=span)
    more = (
        "no difference between the arms is shown"
        if span.tie
        else ("the candidate gains more" if span.value > 1 else "the baseline gains more")
    )
    text = f"Gain of the candidate over gain of the baseline {told(span)} {batch}: {more}."
    return Answer("interaction", question, text, **_span(span))


def _acceptance(found: Attribution, what: str, batch: str) -> Answer:
    question, test = "Do they change the accept length?", found.acceptance
    if isinstance(test, str):
        return Answer("acceptance", question, why_not=test)
    within = f"within {100 * test.delta:g} %"
    p = "p < 0.001" if test.p < 0.0005 else f"p = {test.p:.3f}"
    verdict = (
        f"equal {within} (two one-sided tests, {p})"
        if test.equivalent
        else f"not shown to be equal {within} ({p})"
    )
    return Answer("acceptance", question, f"τ with over without {told(test.ratio)} {batch}: {verdict}.",
                  **_span(test.ratio))  # fmt: skip


def _adjusted(found: Adjusted | str, naive: Pair, batch: str) -> list[Answer]:
    question = f"What would the candidate do with the settings of {naive.baseline.name}?"
    if isinstance(found, str):
        return []
    text = (
        f"≈ {percent_of(found.speedup)} over {naive.baseline.name} {batch}, "
        f"its round ≈ {_ms(found.round_ms)}: {CAVEAT}. If it gained nothing: {percent_of(found.no_gain)}; "
        f"it must gain at least {told(found.needed)} to draw level."
    )
    spans = {"round_ms": found.round_ms, "if_no_gain": found.no_gain, "needed_gain": found.needed}
    rows = {
        f"{name}{end}": value
        for name, span in spans.items()
        for end, value in (("", span.value), ("_lo", span.low), ("_hi", span.high))
    }
    return [Answer("adjusted", question, text, estimate=True, rows=(rows,), **_span(found.speedup))]


def _shares(found: Attribution, batch: str) -> Answer:
    question = "How much of it is each one's?"
    if isinstance(found.shares, str):
        return Answer("shares", question, why_not=found.shares)
    rows = tuple({"factors": list(share.factors), **_span(share.gain)} for share in found.shares)
    listed = [f"{' with '.join(map(naming.bare, s.factors))} {told(s.gain)}" for s in found.shares]
    arm = "baseline" if found.fair is not None else "candidate"  # whose runs the shares are of
    return Answer("shares", question, f"On the {arm} {batch}: {naming.join(listed)}.", rows=rows)


def told(span: Span) -> str:
    """``×1.41 ± 0.01 (within-run)``; an interval far from symmetric is written out."""
    half, low, high = (span.high - span.low) / 2, span.value - span.low, span.high - span.value
    value = numbers.fixed(span.value, low=span.low, high=span.high)
    if max(low, high) > 1.5 * min(low, high):
        return f"×{value} ({numbers.between(span.low, span.high)}, {span.kind})"
    return f"×{value} ± {numbers.fixed(half, low=span.low, high=span.high)} ({span.kind})"


def percent_of(span: Span) -> str:
    """A speedup with its interval: ``+13 % (+12 to +15 %)``."""
    return numbers.percent_with(span.value, span.low, span.high)


def _span(span: Span) -> dict[str, Any]:
    return {"value": span.value, "low": span.low, "high": span.high, "kind": span.kind}
