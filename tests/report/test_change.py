"""How the conclusion changes from the quoted pair to the fair one: like is held against like."""

from __future__ import annotations

from typing import Any

from speclog.report import words
from speclog.report.model import Level, Pair, Section
from tests.report.build import factor, level, run

SPEC = run("spec", speculative=True)
LOST = (factor("env.NCCL_PROTO", "(unset)", "LL"),)


def _pair(name: str, verdict: str, *levels: Level) -> Pair:
    factors = LOST if verdict == "unfair" else ()
    return Pair(
        SPEC, run(name, speculative=False), verdict, (), "c0", False, len(factors), 0, levels, factors
    )


def _change(naive: Pair, fair: Pair) -> str:
    return words.change(Section(SPEC, fair, fair, naive, [fair, naive]))


def _refused(batch_size: int, naive: float) -> Level:
    numbers: dict[str, Any] = {
        "speedup": None,
        "speedup_lo": None,
        "speedup_hi": None,
        "naive_speedup": naive,
    }
    return level(batch_size, 2.0, 20.0, 10.0, refused="no common context", **numbers)


def test_the_quoted_ratio_is_of_the_batch_size_that_is_spoken_of() -> None:
    """At batch 1 the quoted pair wins 50 %, at 4 it loses 20 %; the fair pair has a number at 4 only."""
    naive = _pair("quick", "unfair", _refused(1, 1.5), level(4, 2.0, 25.0, 10.0, naive_speedup=0.8))
    said = _change(naive, _pair("alike", "fair", _refused(1, 1.4), level(4, 2.0, 18.0, 10.0)))
    assert said.startswith("Against quick spec seems to lose 20 % (unfair: NCCL_PROTO differs)")
    assert said.endswith("the conclusion turns round.")


def test_two_batch_sizes_say_nothing_of_each_other() -> None:
    naive = _pair("quick", "unfair", level(1, 2.0, 25.0, 10.0, naive_speedup=0.8))
    said = _change(naive, _pair("alike", "fair", level(8, 2.0, 18.0, 10.0)))
    assert "seems to lose 20 % at batch 1 (unfair" in said
    assert "; on equal terms, at batch 8, it wins 11.1 %" in said
    assert "turns round" not in said
    assert "size changes" not in said


def test_a_tie_turns_nothing_round() -> None:
    naive = _pair("quick", "unfair", level(1, 2.0, 25.0, 10.0, naive_speedup=0.8))
    tie = level(1, 2.0, 19.8, 10.0, tie=True, speedup_lo=0.99, speedup_hi=1.03)
    said = _change(naive, _pair("alike", "fair", tie))
    assert "on equal terms it is level with it (~" in said
    assert said.endswith("no difference is proven.")
