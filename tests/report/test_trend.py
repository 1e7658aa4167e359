"""Where a configuration's round time moved: steps, drift, and what is no step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest

from speclog.report.charts import trend
from speclog.report.model import Chart, Row

START = datetime(2026, 11, 1, 12)


def points(
    rounds: Sequence[float], *, mad: float | None = 0.06, n: int = 40, changed: bool = False
) -> list[Row]:
    """Runs of one configuration, a day apart; all but the first say what changed, if ``changed``."""
    return [
        {
            "started_at": START + timedelta(days=day), "run": f"r{day}", "version": "0.5.9",
            "round_ms": value, "round_mad_ms": mad, "tok_s": 1000 / value, "tau": None, "n_clean": n,
            "changed": ["NCCL_PROTO LL → (unset)"] if changed and day else [],
        }
        for day, value in enumerate(rounds)
    ]  # fmt: skip


def steps(rounds: Sequence[float], **other: object) -> list[float | None]:
    return [
        None if step is None else round(step, 3)
        for step in trend.change_points(points(rounds, **other))  # type: ignore[arg-type]
    ]


def title(rounds: Sequence[float], **other: object) -> str:
    drawn = trend.chart(0, ("m", "no speculation", "", 1), points(rounds, **other))  # type: ignore[arg-type]
    assert isinstance(drawn, Chart)
    return drawn.title.removeprefix("m, no speculation, batch 1: ")


def test_up_and_back_are_two_steps() -> None:
    """The story: tuned, lost at a restart, restored."""
    assert steps([11.09, 15.91, 11.26]) == [None, 0.435, -0.292]
    assert title([11.09, 15.91, 11.26], changed=True) == (
        "two steps, the last 29 % (27 to 31 %) faster at r2 (NCCL_PROTO LL → (unset))"
    )


def test_the_end_of_a_step_back_is_no_step_from_before_it() -> None:
    assert steps([11.09, 15.91, 15.95, 11.26, 11.1]) == [None, 0.435, None, -0.294, None]


@pytest.mark.parametrize("rounds", [[11.0, 11.05, 10.95, 11.02, 11.0], [11.0, 11.0, 11.0]])
def test_steady(rounds: list[float]) -> None:
    assert set(steps(rounds)) == {None}
    assert title(rounds).startswith(
        f"no step over {'five' if len(rounds) == 5 else 'three'} runs, which lie within"
    )


def test_a_step_up_is_named() -> None:
    assert steps([11.0, 11.05, 11.02, 12.0, 12.03, 11.98]) == [None, None, None, 0.089, None, None]
    assert title([11.0, 11.02, 12.0, 12.03]).startswith(
        "9 % (6 to 12 %) slower at r2 (no recorded factor changed)"
    )


def test_two_runs() -> None:
    assert steps([11.09, 15.91]) == [None, 0.435]
    assert steps([11.0, 11.1]) == [None, None]
    assert steps([11.0]) == [None]
    assert steps([]) == [None]


def test_a_drift_has_no_step_and_is_said() -> None:
    rounds = [11.0 * 1.012**day for day in range(8)]
    assert set(steps(rounds)) == {None}
    assert title(rounds) == "no single step, but 8.7 % slower from the first of eight runs to the last"


def test_noisy_windows_hide_a_step_and_a_single_window_proves_none() -> None:
    assert steps([11.0, 12.0], mad=1.0, n=10) == [None, None]
    assert steps([11.0, 12.0], mad=1.0, n=4000) == [None, 0.091]
    assert steps([11.0, 16.0], n=1) == [None, None]
    assert steps([11.0, 16.0], mad=None) == [None, None]
    assert "three have one clean window or none and cannot be judged" in title([11.0, 16.0, 11.0], n=1)


def test_what_starts_differ_by_is_learned_from_starts_that_record_the_same() -> None:
    """A server whose starts differ by 3 % has no step of 4 %, but has one of 40 %."""
    scattered = [100.0, 103.0, 99.5, 103.5, 100.0, 104.0, 100.5]
    assert set(steps(scattered)) == {None}
    assert steps([*scattered, 145.0, 101.0])[-2:] == [0.443, -0.303]


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("n", [3, 5, 12])
def test_starts_that_differ_by_a_per_cent_have_no_steps(n: int, changed: bool) -> None:
    """As two processes of one server do; few of them may agree by chance, which says nothing of the next."""
    drawn = np.random.default_rng(n)
    histories = [list(100 * np.exp(drawn.normal(0, 0.01, n))) for _ in range(100)]
    found = [steps(rounds, mad=0.2, n=400, changed=changed) for rounds in histories]
    assert sum(set(one) != {None} for one in found) <= 1


def test_many_starts_that_agree_show_a_smaller_step() -> None:
    close = [100.0, 100.1] * 10
    assert steps([*close, 104.0], mad=0.2)[-1] == 0.039
    assert steps([100.0, 100.1, 104.0], mad=0.2) == [None, None, None]


def test_steps_that_nobody_recorded_do_not_hide_themselves() -> None:
    assert steps([11.09, 15.91, 11.26, 11.2, 11.22]) == [None, 0.435, -0.292, None, None]
