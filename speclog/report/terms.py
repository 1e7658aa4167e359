"""On which terms a number of a pair is a result: what is in doubt, assumed equal, or known to differ."""

from __future__ import annotations

from speclog.report.model import Pair
from speclog.report.naming import bare, join, values, without_kind


def caveats(pair: Pair) -> list[str]:
    """What the records of both runs say against believing a number: the factor, its value, and why.

    Of pairs whose factors were not read, the reasons as the view words them.
    """
    found = [factor for factor in pair.factors if factor.does == "caveat"]
    if not found:
        return [] if pair.factors else list(pair.caveats)
    return [f"{bare(factor.name)} {values(factor)}: {factor.about or 'doubtful'}" for factor in found]


def doubts(pair: Pair) -> str:
    """What is recorded and leaves a pair unproven: ``a doubt about the measurement: queueing (yes)``."""
    found = pair.doubts()
    measured = [f for f in found if f.klass == "measurement"]
    others = [f for f in found if f.klass != "measurement"]
    parts = []
    if measured:
        listed = join(f"{bare(factor.name)} ({values(factor)})" for factor in measured)
        parts.append(f"{'doubts' if len(measured) > 1 else 'a doubt'} about the measurement: {listed}")
    if others:
        listed = join(f"{bare(factor.name)} ({values(factor)})" for factor in others)
        parts.append(f"nobody knows what {listed} weigh{'' if len(others) > 1 else 's'}")
    return "; ".join(parts)


def condition(pair: Pair) -> str:
    """What must hold for a number of a pair to be a result, as a tag beside it; empty for a fair pair."""
    if pair.verdict == "unproven":
        return {"doubt": "in doubt", "unclassified": "if that does not matter"}.get(
            pair.left_open, "if equal"
        )
    return {"fair": "", "unfair": "not a result"}.get(pair.verdict, "if equal")


_OF_TAU = ("measure.accept_length", "fact.workload.dataset")
"""Factors whose caveat is about the accept length itself, and so about every number made of it."""


def tau_caveats(pair: Pair) -> list[str]:
    """That a pair's accept length is not that of real text, shortly: ``accept length simulated``."""
    found = {factor.name: factor for factor in pair.factors if factor.does == "caveat"}
    said = ("accept length {}", "accept length on {} requests")
    return [
        text.format(values(found[name])) for name, text in zip(_OF_TAU, said, strict=True) if name in found
    ]


def of_unreal_text(pair: Pair) -> bool:
    """Whether a pair's accept length is simulated, at its ceiling, or of requests that are no text."""
    bare_names = [without_kind(name) for name in _OF_TAU]
    return any(name in caveat for caveat in pair.caveats for name in bare_names)


LEADS = {
    "unknown": ("If they are equal", "If the two servers are equal: "),
    "unclassified": ("If that does not matter", "If what differs does not matter: "),
    "doubt": ("With that doubt", "With the doubt about the measurement: "),
}
"""Of an unproven pair, by what leaves it open: how a clause about it begins, and a sentence."""


def on_terms(pair: Pair) -> str:
    """What a number of this pair is worth, said before it: ``On unequal terms: ``; empty for a fair pair."""
    if pair.verdict == "unproven":
        return LEADS[pair.left_open][1]
    return {"fair": "", "unfair": "On unequal terms: "}.get(pair.verdict, LEADS["unknown"][1])


def with_terms(pair: Pair, text: str) -> str:
    """A sentence about both sides with the terms on which it holds before it."""
    lead = on_terms(pair)
    return f"{lead}{text[:1].lower()}{text[1:]}" if lead else text
