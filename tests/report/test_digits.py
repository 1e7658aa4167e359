"""One rounding rule: as many digits as the interval means, the same for a number and its ends."""

from __future__ import annotations

import pytest

from speclog.report import numbers


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (1.877, 1.862, 1.893, "1.88 (1.86 to 1.89)"),
        (1.8768, 1.8712, 1.8824, "1.877 (1.871 to 1.882)"),
        (0.28004, 0.27951, 0.28052, "0.2800 (0.2795 to 0.2805)"),
        (2.0, 2.0, 2.0, "2.00 (2.00 to 2.00)"),
        (-0.56, -0.6, -0.52, "−0.56 (−0.60 to −0.52)"),
        (1.877, None, None, "1.88 (no interval)"),
        (None, None, None, "unknown (no interval)"),
    ],
)
def test_a_number_has_the_digits_of_its_interval(
    value: float | None, low: float | None, high: float | None, said: str
) -> None:
    assert numbers.with_span(value, low, high) == said


def test_a_margin_has_its_sign() -> None:
    assert numbers.signed_with_span(0.2512, 0.2461, 0.2559) == "+0.251 (0.246 to 0.256)"
    assert numbers.signed(0.2512) == "+0.25"


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (0.836, 0.82, 0.851, "84 % (82 to 85 %)"),
        (0.952, 0.9516, 0.9561, "95.2 % (95.2 to 95.6 %)"),
        (0.0892, 0.0891, 0.0893, "8.92 % (8.91 to 8.93 %)"),
        (1.0, 1.0, 1.0, "100 % (the same in every window)"),
        (0.998, None, None, "over 99 % (no interval)"),
    ],
)
def test_a_share_in_per_cent(value: float, low: float | None, high: float | None, said: str) -> None:
    assert numbers.share_with_span(value, low, high) == said


def test_a_throughput() -> None:
    assert numbers.tok_s(71.24) == "71.2"
    assert (numbers.tok_s(71.24, low=71.0, high=71.4), numbers.tok_s_between(71.0, 71.4)) == (
        "71.2",
        "71.0 to 71.4",
    )
    assert numbers.tok_s_between(62.787, 62.871) == "62.79 to 62.87"


def test_a_time_alone_has_three_digits_or_more() -> None:
    assert (numbers.ms(280.913), numbers.ms(15.909)) == ("280.9", "15.91")
    assert numbers.ms(280.913, low=280.9, high=280.925) == "280.91"


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (1.1334, 1.1302, 1.137, "+13.3 % (+13.0 to +13.7 %)"),
        (1.0004, 1.0002, 1.0006, "+0.04 % (+0.02 to +0.06 %)"),
        (0.9996, 0.99958, 0.9997, "−0.04 % (−0.04 to −0.03 %)"),
        (1.02, 0.9998, 1.04, "+2.00 % (−0.02 to +4.00 %)"),
        (1.0, 1.0, 1.0, "+0.0 % (+0.0 to +0.0 %)"),
    ],
)
def test_a_speedup_beside_one_is_not_nothing(value: float, low: float, high: float, said: str) -> None:
    """Where the interval lies on one side of 1, neither it nor the speedup is said to be 0.0 per cent."""
    assert numbers.percent_with(value, low, high) == said
