"""The sentences of a report: verdicts, headlines, what changes. One place, so that all formats agree."""

from __future__ import annotations

from collections.abc import Sequence

from speclog.report import naming, numbers, terms
from speclog.report.model import Factor, Level, Pair, Row, Section

VERDICT_WORDS = {
    "fair": ("✓", "Fair", "everything that matters is known and equal"),
    "unfair": ("✕", "Unfair", "something that matters differs"),
    "unproven": ("?", "Unproven", "something that matters is not recorded"),
    "never served": ("–", "Never served", "the server ended before it decoded a token"),
    "no baseline": ("–", "No baseline", "the store holds no run to compare with"),
}


def verdict_word(verdict: str) -> str:
    """The verdict as a word a sentence starts with."""
    return VERDICT_WORDS.get(verdict, ("", verdict.capitalize(), ""))[1]


def between(row: Row) -> str:
    """What is said of a batch size the baseline did not measure (a row of `analysis.concurrency.unequal`)."""
    lead = f"Batch {row['batch_size']}, of which the baseline has no clean window: "
    if row.get("refused"):
        return f"{lead}{row['refused']}"
    low, high = row["between"]
    said = numbers.percent_with(row["speedup"], row["speedup_lo"], row["speedup_hi"])
    return f"{lead}{said}, its step read between batch {low} and {high}"


def reason(pair: Pair) -> str:
    """Why the verdict is what it is, in one clause without a full stop."""
    if pair.verdict == "unfair":
        found = pair.confounders()
        if found and pair.across:
            more = f" and {numbers.count(len(found) - 1, 'more factor')}" if len(found) > 1 else ""
            return f"the engine{more} differ{'' if more else 's'}"
        if found:
            return f"{naming.name_factors(found)} {'differs' if len(found) == 1 else 'differ'}"
    if pair.verdict == "unproven":
        found, odd = pair.unknowns(), pair.unclassified()
        parts = [
            f"{naming.name_factors(found)} {'is' if len(found) == 1 else 'are'} not recorded for both runs"
        ] * bool(found)
        parts += [
            f"{naming.name_factors(odd)} {'differs' if len(odd) == 1 else 'differ'} and nobody classified it"
        ] * bool(odd)
        parts += [terms.doubts(pair)] * bool(pair.doubts())
        if parts:
            return "; ".join(parts)
    if pair.verdict == "fair":
        return "everything that matters is known and equal" + (
            " (some of it vouched for)" if pair.vouched else ""
        )
    return "; ".join(pair.reasons[:3]) or VERDICT_WORDS.get(pair.verdict, ("", "", ""))[2]


def outcome(level: Level | None) -> str:
    """What the numbers of one level say: ``wins 13 % (within-run interval +11 to +15 %)``."""
    if level is None or level.speedup is None:
        return "has no number" + (f": {level.refused}" if level and level.refused else "")
    amount = numbers.percent(level.speedup, low=level.speedup_lo, high=level.speedup_hi).lstrip("+−")
    span = f"{interval_words(level)} {numbers.percent_between(level.speedup_lo, level.speedup_hi)}"
    if level.tie:
        return f"is level with it (~; {span})"
    verb = "wins" if level.speedup >= 1 else "loses"
    return f"{verb} {amount} ({span})"


def interval_words(level: Level) -> str:
    """The interval's kind, always said: ``within-run interval``."""
    return f"{level.interval_kind or 'unnamed'} interval"


def margin(level: Level) -> str:
    """``margin +0.22 (0.18 to 0.26) tokens at batch 1``."""
    ends = level.margin_tokens_lo, level.margin_tokens_hi
    return f"margin {numbers.signed_with_span(level.margin_tokens, *ends)} tokens at batch {level.batch_size}"


def seeming(level: Level | None) -> str:
    """What the naive ratio of throughputs would make one say: ``seems to lose 21 %``."""
    if level is None or level.naive_speedup is None:
        return "has no naive number"
    change = 100 * (level.naive_speedup - 1)
    if abs(change) < 0.5:
        return "seems to be level"
    return f"seems to {'win' if change > 0 else 'lose'} {abs(change):.0f} %"


def headline(section: Section) -> str:
    """The conclusion about one candidate in one or two sentences."""
    run, chosen, fair = section.run, section.chosen, section.fair
    if not run.served:
        return f"Never served: the log of {run.name} ends ({run.end_reason}) before the first decode line."
    if chosen is None:
        return (
            f"No baseline: {section.why_not or 'the store holds no run without speculation to compare with'}."
        )
    what = f"{across(chosen)}{verdict_word(chosen.verdict)}: {reason(chosen)}."
    if chosen.verdict == "fair":
        return f"Fair: {run.name} {_result(chosen)}."
    if fair is not None:
        return f"{what} On equal terms, against {fair.baseline.name}, {run.name} {_result(fair)}."
    if chosen.verdict == "unproven":
        lead = terms.LEADS[chosen.left_open][0]
        return f"{what} {lead}, {run.name}, against {chosen.baseline.name}, {_result(chosen)}."
    if section.maybe is not None:
        likely = section.maybe
        doubt = f"against {likely.baseline.name} (unproven: {reason(likely)})"
        end = {"unknown": ", if those are equal", "unclassified": ", if that does not matter"}.get(
            likely.left_open, ""
        )
        return f"{what} No fair pair is in the store; {doubt} {run.name} {_result(likely)}{end}."
    return f"{what} The store holds no fair pair for {run.name}: no number is given as the result."


def across(pair: Pair) -> str:
    """That a pair is of two engines, said before its verdict; empty where it is not."""
    if not pair.across:
        return ""
    mine, theirs = pair.candidate, pair.baseline
    return f"Across engines, as asked for ({mine.engine} against {theirs.engine}, {theirs.name}). "


def _result(pair: Pair) -> str:
    level = pair.main_level
    if level is None:
        return f"has no number: {pair.why_no_number}"
    against = [*level.caveats, *terms.tau_caveats(pair)]
    doubt = f" (before you believe it: {naming.several(against, 2)})" if against else ""
    return f"{outcome(level)}, {margin(level)}{doubt}{elsewhere(pair, level)}"


def elsewhere(pair: Pair, level: Level) -> str:
    """At which batch sizes a pair says otherwise than at ``level``: ``, but loses at batch 4 and 8``.

    Sizes whose interval holds 1, or against which something speaks, are not told.
    """
    sizes: dict[str, list[str]] = {"wins": [], "loses": []}
    for one in pair.levels:
        if one.speedup is not None and one.speedup_lo is not None and not (one.tie or one.caveats):
            sizes["wins" if one.speedup >= 1 else "loses"].append(str(one.batch_size))
    mine = None if level.tie or level.speedup is None else "wins" if level.speedup >= 1 else "loses"
    told = [
        f"{verb} at batch {naming.join(found)}" for verb, found in sizes.items() if found and verb != mine
    ]
    return f", but {' and '.join(told)}" if told else ""


def change(section: Section) -> str:
    """How the conclusion changes from the naive pair to the fair one; empty when there is nothing to say."""
    naive, fair = section.naive, section.fair
    if naive is None:
        return ""
    level = fair.main_level if fair is not None else None
    quoted = _quoted(naive, level)
    apart = quoted is not None and level is not None and quoted.batch_size != level.batch_size
    where = f" at batch {quoted.batch_size}" if apart and quoted is not None else ""
    said = f"Against {naive.baseline.name} {section.run.name} {seeming(quoted)}{where}"
    cause = f"{verdict_word(naive.verdict).lower()}: {reason(naive)}"
    if level is None:
        return f"{said} ({cause}); what it does on equal terms is not proven by this store."
    if quoted is None or quoted.naive_speedup is None or level.speedup is None:
        return f"{said} ({cause})."
    turned = (quoted.naive_speedup - 1) * (level.speedup - 1) < 0 and not (apart or level.tie)
    if naive.verdict == "fair" and not turned:
        return ""
    if apart:  # two batch sizes say nothing of each other
        return f"{said} ({cause}); on equal terms, at batch {level.batch_size}, it {outcome(level)}."
    open_now = "no difference is proven" if level.tie else "the size changes"
    turn = "the conclusion turns round" if turned else open_now
    return f"{said} ({cause}); on equal terms it {outcome(level)}: {turn}."


def _quoted(naive: Pair, level: Level | None) -> Level | None:
    """The level whose naive ratio is quoted: of the batch size that is spoken of, else the smallest."""
    known = [one for one in naive.levels if one.naive_speedup is not None]
    same = (one for one in known if level is not None and one.batch_size == level.batch_size)
    return next(same, known[0] if known else None)


def together(factors: Sequence[Factor]) -> str:
    """What factors that were only measured all at once are worth: said once for them; else empty."""
    found = {factor.worth for factor in factors}
    worth = found.pop() if len(found) == 1 and len(factors) > 1 else None
    return worth or ""
