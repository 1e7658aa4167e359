"""A sentence about two runs says on which terms it holds: what differs, what is unknown, what is in doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from speclog.analysis.draft import needed
from speclog.report import advice, terms, words
from speclog.report.charts import context
from speclog.report.model import Factor, Level, Pair, Section
from speclog.report.plan import plan
from tests.report.build import factor, level, run, story

QUEUES = factor("measure.queueing", "yes", "no", "measurement", does="unproven", mend="send fewer at once")
FEW = factor(
    "measure.windows", "3 at the fullest level", "3 at the fullest level", "measurement", does="unproven"
)
GRAPH_FILE = factor("env.NCCL_GRAPH_FILE", "/g.xml", "/g.xml", does="unproven")
DRIVER = factor("fact.driver", None, "580", does="unproven")
NCCL = factor("env.NCCL_PROTO", "LL", "(unset)", does="unfair")
SIMULATED = factor("measure.accept_length", "simulated", None, "measurement", does="caveat", matters=False)


def pair(verdict: str, *factors: Factor, levels: tuple[Level, ...] = (level(1, 2.1, 7.4, 4.8),)) -> Pair:
    made = (run("c", speculative=True), run("b", speculative=False), verdict, (), None, False, 0, 0)
    return Pair(*made, levels, factors)


def headline(one: Pair) -> str:
    fair, maybe = (one if one.verdict == verdict else None for verdict in ("fair", "unproven"))
    return words.headline(Section(one.candidate, one, fair, None, [one], maybe=maybe))


@pytest.mark.parametrize("doubt", [QUEUES, FEW, GRAPH_FILE])
def test_a_doubt_is_no_confounder_and_not_equal(doubt: Factor) -> None:
    """It was "Differ and make it unfair" on the page of an unproven pair, or stood among the equal ones."""
    one = pair("unproven", doubt)
    assert doubt.state == "doubt"
    assert not one.confounders()
    assert one.left_open == "doubt"


def test_what_is_known_to_differ_is_not_said_to_be_assumed_equal() -> None:
    said = headline(pair("unproven", QUEUES))
    assert said.startswith(
        "Unproven: a doubt about the measurement: queueing (yes here, no there). With that doubt, c, against"
    )
    assert "equal" not in said
    assert "If they are equal, c, against b, wins" in headline(pair("unproven", DRIVER, QUEUES))
    assert terms.condition(pair("unproven", QUEUES)) == "in doubt"
    assert terms.condition(pair("unproven", DRIVER, QUEUES)) == "if equal"
    brief = replace(pair("unproven"), reasons=("1 measurement doubt: queueing",))  # its factors were not read
    assert terms.condition(brief) == "in doubt"


def test_what_nobody_classified_is_known_to_differ() -> None:
    """It was "None differs", and what it said held "if the two servers are equal"."""
    one = pair("unproven", factor("arg.novel", "1", "2", "unclassified", does="unproven"), QUEUES)
    assert "If that does not matter, c, against b, wins" in headline(one)
    assert terms.on_terms(one) == "If what differs does not matter: "
    assert terms.condition(one) == "if that does not matter"
    brief = replace(pair("unproven"), reasons=("1 unclassified factor differs: novel",))
    assert terms.condition(brief) == "if that does not matter"
    lost = advice.lost(Section(one.candidate, one, None, None, [one])).text
    assert lost == "None; what differs from b is novel."
    ((_, _, what, _, _, _),) = plan(
        replace(story(), sections=[Section(one.candidate, one, None, None, [one], maybe=one)])
    )
    assert what == "Both arms again, alike in what differs now."


def test_a_doubt_beside_a_confounder_is_not_what_makes_it_unfair() -> None:
    assert words.reason(pair("unfair", NCCL, QUEUES)) == "NCCL_PROTO differs"


def test_the_variable_that_was_lost_is_not_a_doubt() -> None:
    one = pair("unproven", QUEUES)
    assert advice.lost(Section(one.candidate, one, None, None, [one])).text == "None differs."


def test_a_plan_names_the_mend_of_a_doubt() -> None:
    """It said "not recorded: " and nothing, and to launch the same again."""
    one = pair("unproven", QUEUES)
    ((_, _, _, why, _, _),) = plan(
        replace(story(), sections=[Section(one.candidate, one, None, None, [one], maybe=one)])
    )
    assert why == "a doubt about the measurement: queueing (yes here, no there): send fewer at once"


def test_a_simulated_accept_length_is_in_the_headline() -> None:
    assert headline(pair("fair", SIMULATED)).endswith("(before you believe it: accept length simulated).")
    tokens = factor("fact.workload.dataset", "random-ids", "random-ids", "workload", does="caveat")
    assert "accept length on random-ids requests" in headline(pair("fair", tokens))


def test_paying_at_the_only_batch_size_holds_on_the_pair_s_terms() -> None:
    """Against a tuned baseline an untuned candidate was said not to pay."""
    loses = (level(1, 2.1, 12.6, 5.0),)
    said = {v: advice.switch_off(pair(v, NCCL, levels=loses), [], []).why_not for v in ("unfair", "fair")}
    assert "(on unequal terms, it does not pay there)" in said["unfair"]
    assert "(it does not pay there)" in said["fair"]


def test_a_tie_is_not_good_enough() -> None:
    one = replace(
        level(1, 2.1, 9.6, 4.8), tie=True, tau_star_lo=1.8, tau_star_hi=2.3, speedup_lo=0.9, speedup_hi=1.2
    )
    asked = needed(2.1, 2.0, 5, None, speedup=(0.9, 1.2))
    said = advice.better_draft(pair("fair", levels=(one,)), [(one, asked, (None, None))]).text
    assert said.startswith("At batch 1 whether it is good enough is not shown (~): 2.1")
    assert "pays" not in said
    free = replace(one, tau_star_lo=0.9, tau_star_hi=1.2)
    asked = needed(2.1, 0.99, 5, None, speedup=(1.8, 2.3))
    said = advice.better_draft(pair("fair", levels=(free,)), [(free, asked, (None, None))]).text
    assert "At batch 1 it may pay even if no draft is accepted" in said


def test_break_even_over_context_tells_what_the_interval_holds() -> None:
    def title(half: float) -> str:
        curve = [
            {
                "batch_size": 1,
                "context": x,
                "tau": 2.0,
                "tau_star": s,
                "tau_star_lo": s - half,
                "tau_star_hi": s + half,
            }
            for x, s in ((100.0, 1.5), (200.0, 1.7), (300.0, 1.9))
        ]
        drawn = context.chart(pair("fair"), curve)
        return getattr(drawn, "title", "")

    assert title(0.05).endswith("tokens of context; the accept length stays above")
    assert title(0.2).endswith(
        "that the accept length stays above is not shown (the interval holds it at 300)"
    )
