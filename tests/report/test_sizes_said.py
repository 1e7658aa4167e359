"""Headlines and advice say what the numbers beside them say: of every batch size, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from speclog.analysis.attribution import Attribution, Share
from speclog.analysis.decompose import Term
from speclog.analysis.draft import needed
from speclog.analysis.overhead import Overhead
from speclog.analysis.worth import Span
from speclog.report import advice, explained, words
from speclog.report.charts import concurrency
from speclog.report.model import Level, Pair, Section
from tests.report.build import level, run


def pair(*levels: Level) -> Pair:
    return Pair(
        run("c", speculative=True), run("b", speculative=False), "fair", (), None, False, 0, 0, levels, ()
    )


def headline(*levels: Level) -> str:
    made = pair(*levels)
    return words.headline(Section(made.candidate, made, made, None, [made]))


WIN, LOSS, LATER = level(1, 2.1, 7.4, 4.8), level(4, 2.1, 12.6, 5.0), level(8, 2.1, 16.0, 5.4)
TIE = level(2, 2.1, 10.6, 5.0)


def test_a_headline_says_where_it_is_the_other_way_round() -> None:
    assert headline(WIN, TIE, LOSS, LATER).endswith("tokens at batch 1, but loses at batch 4 and 8.")
    assert headline(WIN, TIE).endswith("tokens at batch 1.")
    assert headline(TIE, LOSS).endswith("tokens at batch 2, but loses at batch 4.")
    assert headline(LOSS, level(8, 2.1, 7.4, 4.8)).endswith("tokens at batch 4, but wins at batch 8.")


def test_a_doubtful_number_is_no_headline() -> None:
    doubtful = level(1, 2.1, 7.4, 4.8, caveats=("candidate: only 3 clean windows",))
    said = headline(doubtful, LOSS)
    assert "loses" in said
    assert "batch 1" not in said
    alone = headline(doubtful)
    assert alone.endswith("at batch 1 (before you believe it: candidate: only 3 clean windows).")
    assert "but" not in headline(WIN, level(4, 2.1, 12.6, 5.0, caveats=("candidate: warm-up",)))


def told(one: Level, survivals: list[float] | None = None) -> str:
    asked = needed(one.tau or 0, one.tau_star or 0, 5, survivals, speedup=(one.speedup_lo, one.speedup_hi))
    return advice.better_draft(pair(one), [(one, asked, (None, None))]).text


@pytest.mark.parametrize(
    ("tau", "survivals"),
    [(1.0, None), (1.001, [0.0] * 5), (1.5, [0.5, 0.0, 0.0, 0.0, 0.0]), (1.0, [0.0] * 5)],
)
def test_positions_never_accepted_are_no_proof_against_every_draft(tau: float, survivals: Any) -> None:
    said = told(level(1, tau, 10.0, 4.0), survivals)
    assert "no draft model would do" not in said
    assert "must get positions accepted that never are" in said


def test_what_no_draft_can_reach_and_what_needs_none() -> None:
    assert "no draft model would do with these steps" in told(level(1, 2.1, 28.0, 4.0))
    assert "pays even if no draft is accepted" in told(level(1, 2.1, 3.6, 4.0))


def test_a_position_that_must_be_certain_is_not_the_same_in_every_window() -> None:
    said = told(level(1, 2.1, 13.0, 5.0), [0.8, 0.3, 0.0, 0.0, 0.0])
    assert "→ 100 %)" in said
    assert "the same in every window" not in said


@pytest.mark.parametrize(("fair", "arm"), [("f", "baseline"), (None, "candidate")])
def test_shares_are_of_the_arm_they_were_measured_on(fair: str | None, arm: str) -> None:
    share = Share(("env.NCCL_PROTO",), Span(1.2, 1.1, 1.3, "within-run"))
    none = "not asked"
    found = Attribution("c", fair, "n", ("env.NCCL_PROTO",), 1, {}, none, {}, {}, none, none, none, (share,))
    assert explained._shares(found, "at batch 1").text.startswith(f"On the {arm} at batch 1: ")


def test_what_two_processes_differ_by_is_said_where_two_are_compared() -> None:
    cost = Overhead(0.2, -0.1, 0.5, 400, 0.3, "blocks")
    own = advice.profiling({"by blocks that take turns in this run, at batch 1": cost})
    twin = advice.profiling({"against the run plain, within-run": cost})
    assert own is not None
    assert own.text == "+0.20 % (−0.10 to +0.50 %) by blocks that take turns in this run, at batch 1."
    assert twin is not None
    assert twin.text.endswith("Two processes differ by up to a per cent by themselves.")


def test_a_size_read_between_neighbours_was_not_measured() -> None:
    ends = {"speedup": 1.3, "speedup_lo": 1.2, "speedup_hi": 1.4}
    measured = [{"batch_size": size, "from": concurrency.BOTH} | ends for size in (1, 4)]
    between = {"batch_size": 2, "from": "baseline read between 1 and 4"} | ends
    assert concurrency.answer(measured, []).startswith("It pays at every measured batch size, of 1 to 4")
    said = concurrency.answer([measured[0], between, measured[1]], [])
    assert said.startswith("It pays at every batch size with a number, of 1 to 4")


def test_positions_that_nobody_counted_are_not_the_same_in_every_window() -> None:
    one = level(1, 2.1, 7.4, 4.8)
    asked = needed(2.1, 1.54, 5, None, speedup=(1.35, 1.37))
    said = advice.better_draft(pair(one), [(one, asked, (0.53, 0.53))]).text
    assert "first position 53 % → 35" in said


def test_occupancy_alone_is_counted() -> None:
    flat = explained._times(Term("accept_length", 0.742, 0.742, 0.742))
    assert flat == "×2.10 (2.10 to 2.10)"
    assert explained._times(Term("occupancy", 0.0, 0.0, 0.0)) == "×1.00 (as counted)"


def predicted(count: int, tau: float, speedup: float) -> dict[str, Any]:
    row = {"batch_size": 1, "context": 400.0, "steps": count, "extrapolated": False, "best": False}
    row |= {"step_ms": 0.3, "step_ms_lo": 0.3, "step_ms_hi": 0.31, "step_from": "draft time"}
    for name, value in (
        ("tau", tau),
        ("speedup", speedup),
        ("over_own", speedup / 1.36),
        ("t_round_ms", 7.4),
    ):
        row |= {name: value, f"{name}_lo": value - 0.01, f"{name}_hi": value + 0.01}
    return row


@pytest.mark.parametrize(("tau", "doubtful"), [(2.9, True), (2.1, False), (2.125, False)])
def test_a_profile_of_other_rounds_makes_a_prediction_doubtful(tau: float, doubtful: bool) -> None:
    rows = [predicted(2, 1.9, 1.5), predicted(5, tau, 1.36)]
    said = advice.better_steps(pair(WIN), rows, []).text
    assert ("(doubtful: of its own 5 steps the profile says accept length 2.9" in said) == doubtful


def test_where_to_switch_off_says_which_numbers_are_doubtful() -> None:
    doubtful = level(8, 2.1, 16.0, 5.4, caveats=("baseline: only 2 clean windows",))
    between = [{"from_batch_size": 1, "to_batch_size": 4, "change": "stops paying", "certain": True}]
    said = advice.switch_off(pair(WIN, LOSS, doubtful), [], between).text
    assert (
        said == "Switch it off between batch 1 and 4. Before you believe it: there are doubts about batch 8."
    )
    assert advice.switch_off(pair(WIN, LOSS), [], between).text == "Switch it off between batch 1 and 4."
