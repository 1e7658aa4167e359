"""What to do about a candidate: the questions its reader asks, answered from the numbers of its pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from speclog.analysis.chi_square import deviation_interval
from speclog.report import naming, numbers, terms
from speclog.report.charts import concurrency, steps
from speclog.report.model import Answer, Factor, Level, Pair, Row, Run, Section

if TYPE_CHECKING:
    from speclog.analysis.draft import Needed
    from speclog.analysis.golden import Judgement
    from speclog.analysis.overhead import Overhead

UNSET = "(unset)"
OWN_APART = 0.02
"""Relative difference up to which a profile's accept length and that of the decode windows are one."""


def lost(section: Section) -> Answer:
    """Which variable one side had and the other had not, from the pair that misleads or the one asked for."""
    question = "Which variable was lost?"
    pair = section.naive if section.naive and section.naive.verdict == "unfair" else section.chosen
    if pair is None:
        return Answer("lost", question, why_not="there is no pair to compare")
    place = f"factors-{pair.key}"
    found = [factor for factor in pair.confounders() if factor.name.startswith("env.")]
    if found:
        worth = f" ({found[0].worth})" if found[0].worth else ""
        text = numbers.capital("; ".join(_moved(pair, found)))
        return Answer("lost", question, f"{text}{worth}.", anchor=place)
    unknown = [naming.bare(f.name) for f in pair.unknowns() if f.name.startswith("env.")]
    if unknown:
        more = [f"{len(unknown) - 3} more"] if len(unknown) > 3 else []
        why = f"{naming.join([*unknown[:3], *more])} are not recorded for both runs"
        return Answer("lost", question, why_not=why, anchor=place)
    others = naming.name_factors([*pair.confounders(), *pair.unclassified()])
    text = f"None; what differs from {pair.baseline.name} is {others}." if others else "None differs."
    return Answer("lost", question, text, anchor=place)


def _moved(pair: Pair, found: Sequence[Factor]) -> list[str]:
    """Variables set on one side only, and variables set otherwise."""
    here, there = pair.candidate, pair.baseline
    gone = [factor for factor in found if factor.candidate_value == UNSET]
    came = [factor for factor in found if factor.baseline_value == UNSET]
    parts = [_set(gone, "baseline_value", there, here)] if gone else []
    parts += [_set(came, "candidate_value", here, there)] if came else []
    for factor in found:
        if factor not in gone and factor not in came:
            values = f"{factor.candidate_value} for {here.name}, {factor.baseline_value} for {there.name}"
            parts.append(f"{naming.bare(factor.name)} is {values}")
    return parts


def _set(found: Sequence[Factor], value: str, there: Run, not_there: Run) -> str:
    listed = ", ".join(f"{naming.bare(factor.name)}={getattr(factor, value)}" for factor in found)
    number = numbers.count(len(found), "is", "are")
    return f"{number} set for {there.name} and not for {not_there.name}: {listed}"


def switch_off(pair: Pair, between: Sequence[Row], crossings: Sequence[Row]) -> Answer:
    """From which batch size on speculation stops paying."""
    question = concurrency.QUESTION
    known = concurrency.points(pair.levels, between)
    if not known:
        return Answer("switch_off", question, why_not=pair.why_no_number, anchor="f-switch-off")
    if len(known) == 1:
        only = known[0]
        pays = "level (~)" if only["speedup_lo"] <= 1 <= only["speedup_hi"] else _pays(only["speedup"])
        lead = terms.on_terms(pair).removesuffix(": ")
        lead = f"{lead[:1].lower()}{lead[1:]}, " if lead else ""
        why = f"both runs were measured together only at batch {only['batch_size']} ({lead}{pays} there)"
        return Answer("switch_off", question, why_not=f"{why}; serve more batch sizes", anchor="f-switch-off")
    text = f"{terms.with_terms(pair, concurrency.answer(known, crossings))}.{_doubted(pair)}"
    return Answer("switch_off", question, text, rows=tuple(crossings), anchor="f-switch-off")


def _doubted(pair: Pair) -> str:
    """At which batch sizes something speaks against the number."""
    sizes = [str(one.batch_size) for one in pair.levels if one.speedup is not None and one.caveats]
    return f" Before you believe it: there are doubts about batch {naming.join(sizes)}." if sizes else ""


def _pays(speedup: float) -> str:
    return "it pays" if speedup > 1 else "it does not pay"


def better_steps(pair: Pair, predicted: Sequence[Row], measured: Sequence[tuple[Run, Level, bool]]) -> Answer:
    """Whether fewer or more draft steps would be better, at every batch size.

    ``measured``: runs of the same server with other steps, their level, and whether all else is proven equal.
    """
    proof = " ".join(
        f"{_measured(run, level, proven)}{_missed(run, level, predicted)}" for run, level, proven in measured
    )
    known = [row for row in predicted if row.get("speedup") is not None]
    if not known:
        why = next((row["refused"] for row in predicted if row.get("refused")), steps.NOT_PROFILED)
        if proof:
            return Answer("steps", steps.QUESTION, proof, anchor="f-what-if")
        return Answer("steps", steps.QUESTION, why_not=why, anchor="f-what-if")
    sizes = sorted({row["batch_size"] for row in known})
    said = [
        f"{steps.title(pair, steps.at_middle(known, size), size)}{_own_missed(pair, known, size)}"
        for size in sizes
    ]
    said[1:] = [f"{text[:1].lower()}{text[1:]}" for text in said[1:]]
    lead = f"{proof} " if proof else ""
    text = f"{terms.on_terms(pair)}{lead}{'; '.join(said)}. {steps.cost(steps.at_middle(known, sizes[0]))}"
    rows = tuple(row for row in known if row["best"])
    return Answer("steps", steps.QUESTION, text, rows=rows, anchor="f-what-if")


def _own_missed(pair: Pair, predicted: Sequence[Row], size: int) -> str:
    """That what the histogram predicts of the run's own steps is not what its decode windows measured."""
    level = next((one for one in pair.levels if one.batch_size == size), None)
    rows = steps.at_middle(predicted, size)
    row = next((row for row in rows if row["steps"] == pair.candidate.steps), None)
    if level is None or row is None or None in (level.tau_lo, level.tau_hi, row["tau_lo"], row["tau_hi"]):
        return ""
    if abs(row["tau"] - (level.tau or 0)) < OWN_APART * row["tau"] or _overlap(row, level):
        return ""
    taus = [numbers.with_span(row["tau"], row["tau_lo"], row["tau_hi"])]
    taus += [numbers.with_span(level.tau, level.tau_lo, level.tau_hi)]
    return (
        f" (doubtful: of its own {pair.candidate.steps} steps the profile says accept length {taus[0]}, the "
        f"decode windows {taus[1]}: they are not the same rounds)"
    )


def _overlap(row: Row, level: Level) -> bool:
    """Whether the accept lengths predicted and measured share a value."""
    return bool(row["tau_lo"] <= (level.tau_hi or 0) and row["tau_hi"] >= (level.tau_lo or 0))


def _measured(run: Run, level: Level, proven: bool) -> str:
    doubt = "" if proven else ", if all else is equal"
    said = numbers.percent_with(level.speedup, level.speedup_lo, level.speedup_hi)
    return (
        f"Measured with {numbers.count(run.steps or 0, 'step')} ({run.name}{doubt}): {said} "
        f"at batch {level.batch_size}."
    )


def _missed(run: Run, level: Level, predicted: Sequence[Row]) -> str:
    """That a prediction and what was measured exclude each other, by how much, and what is not in it."""
    known = [row for row in predicted if row.get("speedup") is not None]
    if level.batch_size not in {row["batch_size"] for row in known}:
        return ""
    rows = steps.at_middle(known, level.batch_size)
    row = next((row for row in rows if row["steps"] == run.steps), None)
    span = (level.speedup_lo, level.speedup_hi)
    if row is None or level.speedup is None or span[0] is None or span[1] is None:
        return ""
    if row["speedup_lo"] <= span[1] and row["speedup_hi"] >= span[0]:
        return ""
    off = sorted([row["speedup"] / level.speedup, row["speedup_lo"] / span[1], row["speedup_hi"] / span[0]])
    apart = [100 * abs(one - 1) for one in off]
    said = numbers.percent_with(row["speedup"], row["speedup_lo"], row["speedup_hi"])
    taus = [numbers.with_span(row["tau"], row["tau_lo"], row["tau_hi"])]
    taus += [numbers.with_span(level.tau, level.tau_lo, level.tau_hi)]
    rounds = [numbers.with_span(row["t_round_ms"], row["t_round_ms_lo"], row["t_round_ms_hi"])]
    rounds += [numbers.with_span(level.t_spec_ms, level.t_spec_ms_lo, level.t_spec_ms_hi)]
    return (
        f" The prediction missed it: {said} predicted, so prediction and measurement differ by "
        f"{apart[1]:.1f} % ({min(apart):.1f} to {max(apart):.1f} %; accept length {taus[0]} predicted, "
        f"{taus[1]} measured; round {rounds[0]} and {rounds[1]} ms; all within-run). "
        "Not in the prediction: that the drafts of another run are accepted otherwise, and what two starts "
        "differ by."
    )


Ends = tuple[float | None, float | None]


def better_draft(pair: Pair, found: Sequence[tuple[Level, Needed | None, Ends]]) -> Answer:
    """What break-even asks of the draft model at each batch size.

    ``found``: the level, what it asks, and the interval of the first position as it is.
    """
    question = "How good must the draft model be?"
    parts = [(level, need, first) for level, need, first in found if need is not None]
    if not parts:
        why = "topk above 1, or draft steps unknown" if pair.main_level else pair.why_no_number
        why = (
            "it changes its draft steps, so no position is always drafted" if pair.candidate.adaptive else why
        )
        return Answer("draft", question, why_not=why, anchor="f-better-draft")
    rows = tuple(
        {
            "batch_size": level.batch_size,
            "tau": need.tau,
            "tau_needed": need.tau_needed,
            "factor": need.factor,
            "basis": need.basis,
            "survival": list(need.now),
            "survival_needed": list(need.needed) if need.needed else None,
            "factor_lo": need.factor_lo,
            "factor_hi": need.factor_hi,
            "interval_kind": level.interval_kind,
        }
        for level, need, _ in parts
    )
    said = " ".join(_need(level, need, first) for level, need, first in parts)
    alike = [str(level.batch_size) for level, need, _ in parts if need.basis != "measured"]
    where = f" at batch {naming.join(alike)}" if len(alike) < len(parts) else ""
    note = f" Positions taken to be accepted alike{where}: no profile tells them apart." if alike else ""
    return Answer(
        "draft", question, f"{terms.on_terms(pair)}{said}{note}", rows=rows, anchor="f-better-draft"
    )


def _need(level: Level, need: Needed, first: Ends) -> str:
    where = f"At batch {level.batch_size}"
    tau = numbers.with_span(need.tau, level.tau_lo, level.tau_hi)
    star = numbers.with_span(need.tau_needed, level.tau_star_lo, level.tau_star_hi)
    if need.tau_needed > need.steps + 1:
        most = f"all {need.steps} drafts accepted give {need.steps + 1}"
        sure = level.tau_star_lo is None or level.tau_star_lo > need.steps + 1
        would = "no draft model would do" if sure else "it is not shown that any draft model would do"
        return f"{where} {would} with these steps: break-even {star}, {most}."
    if need.tau_needed <= 1:
        pays = "it pays" if level.tau_star_hi is None or level.tau_star_hi <= 1 else "it may pay"
        return f"{where} {pays} even if no draft is accepted: break-even {star}, and a round gives one token."
    if level.tie and need.factor is not None and need.needed is not None:
        return (
            f"{where} whether it is good enough is not shown (~): {tau} against break-even {star}. Break-"
            f"even is at every acceptance {_scaled(level, need, first)}."
        )
    if need.factor is None or need.needed is None:
        return (
            f"{where} its accept length must rise from {tau} to {star}. To accept for sure what is ever "
            "accepted would not do: the draft model must get positions accepted that never are."
        )
    scaled = _scaled(level, need, first)
    if need.factor <= 1:
        return (
            f"{where} it is good enough: {tau} against break-even {star}. It pays until every acceptance "
            f"falls to {scaled}."
        )
    return f"{where} its accept length must rise from {tau} to {star}: every position's acceptance {scaled}."


def _scaled(level: Level, need: Needed, first: Ends) -> str:
    """The factor on every acceptance, and what it makes of the first position."""
    factor = f"×{numbers.with_span(need.factor, need.factor_lo, need.factor_hi)}, {level.interval_kind}"
    measured = need.basis == "measured"
    held = numbers.share_with_span(need.now[0], *first) if measured else _position(need.now[0], *first)
    aim = _position(need.needed[0], *need.first) if need.needed else "unknown"
    return f"{factor} (first position {held} → {aim})"


def _position(value: float, low: float | None, high: float | None) -> str:
    """A worked-out acceptance with its interval: no windows were counted that could all say the same."""
    alike = low is not None and low == high
    return numbers.share(value) if alike else numbers.share_with_span(value, low, high)


def published(judged: Sequence[Judgement], level: Level) -> Answer | None:
    """The accept length of a level beside published ones of the same model; None where none is known."""
    found = [(one.flag, one.text, one.curve.source) for one in judged]
    if not found:
        return None
    flags = {flag for flag, _, _ in found}
    lead = "The draft looks broken: " if flags == {"broken draft"} else ""
    text = f"{lead}{'; '.join(text.split(': ')[0] if lead else text for _, text, _ in found)}."
    span = numbers.between(level.tau_lo, level.tau_hi)
    text += f" Measured: {span}, {level.interval_kind}; published without an interval."
    text += f" Sources: {'; '.join(dict.fromkeys(source for _, _, source in found))}."
    rows = tuple({"flag": flag, "text": text, "source": source} for flag, text, source in found)
    question = "Does the draft reach what others published?"
    return Answer("published", question, text, rows=rows, anchor="f-golden", flag=None not in flags)


def routing(rows: Sequence[Row], over: str) -> Answer | None:
    """Expert loads beside the measured verify ratio (rows of `analysis.moe.overlay`)."""
    if not rows:
        return None
    said = [
        f"At batch {row['batch_size']} verify takes ×{_verify(row)} of {over}, and its tokens "
        f"touch {row['experts_verify']:.0f} experts where a step touches {row['experts_step']:.0f} "
        f"(×{row['routing_ratio']:.2f}, routed evenly): {row['reading']}."
        for row in rows
    ]
    return Answer("experts", "Is it routing or communication?", " ".join(said), rows=tuple(rows),
                  anchor="f-experts")  # fmt: skip


def _verify(row: Row) -> str:
    span = numbers.with_span(row["verify_ratio"], row.get("verify_ratio_lo"), row.get("verify_ratio_hi"))
    return f"{span.removesuffix(')')}, within-run)"


def pace(rows: Sequence[Row]) -> Answer | None:
    """Whether the processor sets the pace (rows of `analysis.phases.summary`); None without host times."""
    known = [row for row in rows if row["host_share"] is not None]
    if not known:
        return None
    bound = [row for row in known if row["host_bound"]]
    shares = ", ".join(
        f"{numbers.share_with_span(row['host_share'], row['host_share_lo'], row['host_share_hi'])} at batch "
        f"{row['batch_size']} in {'rounds' if row['kind'] == 'spec' else 'plain steps'}"
        for row in known
    )
    text = (
        f"Yes: host time fills the round ({shares}; within-run). Draft steps then look cheaper than they are."
        if bound
        else f"No: host time is a part of the round ({shares}; within-run)."
    )
    left = sum(row["left_out"] for row in known)
    text += f" Profile windows left out as unusual: {left}." if left else ""
    return Answer("host", "Does the processor set the pace?", text, rows=tuple(known), flag=bool(bound),
                  anchor="f-phases")  # fmt: skip


def profiling(found: Mapping[str, Overhead]) -> Answer | None:
    """What profiling costs, by what it was measured against."""
    if not found:
        return None
    signed = numbers.signed
    said = [
        f"{signed(cost.pct)} % ({signed(cost.pct_lo)} to {signed(cost.pct_hi)} %) {against}"
        for against, cost in found.items()
    ]
    rows = tuple(
        {"against": against, "pct": cost.pct, "pct_lo": cost.pct_lo, "pct_hi": cost.pct_hi, "n": cost.n,
         "naive_pct": cost.naive_pct, "how": cost.how}
        for against, cost in found.items()
    )  # fmt: skip
    note = (
        " Two processes differ by up to a per cent by themselves."
        if any(a.startswith("against") for a in found)
        else ""
    )
    return Answer("profiling", "What does profiling itself cost?", f"{'; '.join(said)}.{note}",
                  rows=rows, anchor="f-overhead")  # fmt: skip


def starts(pair: Pair, scatter: tuple[float, float] | None) -> Answer | None:
    """What another start of the same server would differ by (`analysis.processes.process_scatter`)."""
    level = pair.main_level
    if level is None:
        return None
    question = "Would another start of the server say the same?"
    if scatter is None:
        why = (
            "nobody started either server twice (speclog launch PROFILE --repeat 3): intervals are within-run"
        )
        return Answer("starts", question, why_not=why, anchor="f-interval")
    sd, dof = scatter
    low, high = deviation_interval(sd, dof)
    text = (
        f"Starts of one server differ by {100 * sd:.2f} % ({100 * low:.2f} to {100 * high:.2f} %) in round "
        f"time at batch {level.batch_size} (standard deviation, {_freedom(dof)}); {_held(pair)}."
    )
    return Answer(
        "starts", question, text, value=sd, low=low, high=high, kind="between-run", anchor="f-interval"
    )


def _freedom(dof: float) -> str:
    return f"from {numbers.count(int(dof), 'degree')} of freedom"


def _held(pair: Pair) -> str:
    """Which side's starts are in the interval."""
    both = ((pair.candidate, pair.candidate_repeats), (pair.baseline, pair.baseline_repeats))
    sides = [run.name for run, more in both if more]
    if len(sides) == 1:
        return f"the interval holds it for {sides[0]} alone"
    return "the between-run interval holds it" if sides else "a within-run interval does not hold it"
