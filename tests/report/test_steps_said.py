"""What a report says of other draft steps: best only where they are shown to be."""

from __future__ import annotations

from typing import Any

from speclog.report.charts import steps
from speclog.report.model import Pair
from tests.report.build import level, run


def pair() -> Pair:
    found = (level(1, 2.1, 7.4, 4.8),)
    return Pair(
        run("c", speculative=True), run("b", speculative=False), "fair", (), None, False, 0, 0, found, ()
    )


def point(count: int, speedup: float, over_own: tuple[float, float, float], **more: Any) -> dict[str, Any]:
    names = ("over_own", "over_own_lo", "over_own_hi")
    ends = {"speedup": speedup, "speedup_lo": speedup - 0.02, "speedup_hi": speedup + 0.02}
    return {"steps": count, "extrapolated": False} | ends | dict(zip(names, over_own, strict=True)) | more


OWN = point(5, 1.36, (1.0, 1.0, 1.0))


def test_steps_that_are_better_for_sure_are_best() -> None:
    said = steps.title(pair(), [OWN, point(2, 1.46, (1.07, 1.04, 1.1))], 1)
    assert said == (
        "Two steps would be best at batch 1: +46 % (+44 to +48 %) predicted, +36 % (+34 to +38 %) "
        "measured with 5"
    )


def test_steps_that_may_be_better_are_not_called_best() -> None:
    said = steps.title(pair(), [OWN, point(4, 1.37, (1.007, 0.995, 1.02))], 1)
    assert said.startswith("No other number of steps is shown to be better at batch 1; four steps may be: ")
    assert said.endswith("(+0.7 % (−0.5 to +2.0 %) between them)")


def test_no_speculation_is_called_so() -> None:
    plain = point(0, 1.0, (1.2, 1.1, 1.3))
    said = steps.title(pair(), [point(5, 0.83, (1.0, 1.0, 1.0)), plain], 1)
    assert said.startswith("No speculation would be best at batch 1: the plain server, ")
    assert "+0" not in said
