"""Numbers as a reader sees them: rounded to what they mean, with their unit, unknown where there is none."""

from __future__ import annotations

UNKNOWN = "unknown"
NARROW = 0.02
"""Width of an interval from which on two digits after the point say it; a tenth of it: three."""
_WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def fixed(
    value: float | None, digits: int | None = None, *, low: float | None = None, high: float | None = None
) -> str:
    """``1.877`` -> ``1.88``; None -> ``unknown``. A true minus sign, so that it reads aloud well.

    With its interval it gets as many digits as `between` gives that.
    """
    if value is None:
        return UNKNOWN
    return f"{value:.{_places(low, high) if digits is None else digits}f}".replace("-", "−")


def signed(
    value: float | None, digits: int | None = None, *, low: float | None = None, high: float | None = None
) -> str:
    """As `fixed`, with a plus sign on positive numbers."""
    if value is None:
        return UNKNOWN
    return f"{value:+.{_places(low, high) if digits is None else digits}f}".replace("-", "−")


def ms(value: float | None, *, low: float | None = None, high: float | None = None) -> str:
    """A time in ms to three significant digits or better; with its interval as `between` has it."""
    digits = 1 if value is not None and abs(value) >= 100 and low is None else None
    return fixed(value, digits, low=low, high=high)


def between(low: float | None, high: float | None, digits: int | None = None) -> str:
    """An interval ``1.86 to 1.90``, a narrow one ``1.874 to 1.881``; None on either side: ``no interval``."""
    if low is None or high is None:
        return "no interval"
    digits = _places(low, high) if digits is None else digits
    return f"{fixed(low, digits)} to {fixed(high, digits)}"


def tok_s(value: float | None, *, low: float | None = None, high: float | None = None) -> str:
    """A throughput: ``71.2``; with its interval as `tok_s_between` has it."""
    return fixed(value, _tok_s_places(low, high))


def tok_s_between(low: float | None, high: float | None) -> str:
    """The interval of a throughput: ``70.9 to 71.4``, a narrow one ``62.79 to 62.87``."""
    return between(low, high, _tok_s_places(low, high))


def _tok_s_places(low: float | None, high: float | None) -> int:
    return 2 if low is not None and high is not None and high - low < 10 * NARROW else 1


def with_span(value: float | None, low: float | None, high: float | None) -> str:
    """A number with its interval: ``1.88 (1.86 to 1.90)``."""
    return f"{fixed(value, low=low, high=high)} ({between(low, high)})"


def signed_with_span(value: float | None, low: float | None, high: float | None) -> str:
    """As `with_span`, with a plus sign on a positive number: ``+0.25 (0.21 to 0.29)``."""
    return f"{signed(value, low=low, high=high)} ({between(low, high)})"


def share_with_span(value: float | None, low: float | None, high: float | None) -> str:
    """A share of 1 in per cent with its interval: ``84 % (82 to 85 %)``, ``96.6 % (96.4 to 96.8 %)``."""
    if value is None:
        return UNKNOWN
    if low is None or high is None:
        return f"{share(value)} (no interval)"
    if low == high:
        return f"{share(value)} (the same in every window)"
    digits = 0 if high - low >= NARROW else 1 if high - low >= NARROW / 10 else 2
    return f"{100 * value:.{digits}f} % ({100 * low:.{digits}f} to {100 * high:.{digits}f} %)"


def _places(low: float | None, high: float | None) -> int:
    """Digits after the point: two, more where an interval is so narrow that its ends would look alike."""
    if low is None or high is None or high - low >= NARROW:
        return 2
    steps = [place for place in (3, 4) if high - low >= NARROW / 10 ** (place - 2)]
    return steps[0] if steps else 2  # the same in every window


def percent(
    speedup: float | None, digits: int | None = None, *, low: float | None = None, high: float | None = None
) -> str:
    """A speedup as a change in per cent: 1.13 -> ``+13 %``.

    With its interval it gets as many digits as `percent_between` gives that: one number is one text, wherever
    it stands beside its interval.
    """
    if speedup is None:
        return UNKNOWN
    change = 100 * (speedup - 1)
    known = _digits_within(low, high) if low is not None and high is not None else _digits(change)
    return f"{signed(change, known if digits is None else digits)} %"


def percent_with(speedup: float | None, low: float | None, high: float | None) -> str:
    """A speedup with its interval: ``+13.3 % (+13.0 to +13.7 %)``."""
    return f"{percent(speedup, low=low, high=high)} ({percent_between(low, high)})"


def times(speedup: float | None) -> str:
    """A speedup as a factor where per cent are hard to grasp (from 2 up): 5.44 -> ``5.4×``, else empty."""
    return f"{speedup:.1f}×" if speedup is not None and speedup >= 2 else ""


def percent_between(low: float | None, high: float | None) -> str:
    """A speedup interval in per cent: (1.11, 1.15) -> ``+11 to +15 %``."""
    if low is None or high is None:
        return "no interval"
    digits = _digits_within(low, high)
    return f"{signed(100 * (low - 1), digits)} to {signed(100 * (high - 1), digits)} %"


def _digits_within(low: float, high: float) -> int:
    low, high = 100 * (low - 1), 100 * (high - 1)
    digits = max(_digits(low), _digits(high), 1 if abs(high - low) < 2 else 0)
    while digits < 3 and any(end and not round(end, digits) for end in (low, high)):
        digits += 1  # what lies beside zero is not zero: "wins 0.0 %" says nothing
    return digits


def _digits(change: float) -> int:
    return 0 if abs(change) >= 10 else 1


def share(value: float | None) -> str:
    """A share of 1 in per cent: 0.973 -> ``97 %``; never ``100 %`` or ``0 %`` for what only rounds to it."""
    if value is None:
        return UNKNOWN
    if 0.995 <= value < 1:
        return "over 99 %"
    return "under 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``six variables``, ``one variable``, ``23 variables``."""
    word = _WORDS[number] if number < len(_WORDS) else f"{number:,}"
    return f"{word} {noun if number == 1 else plural or noun + 's'}"


def capital(text: str) -> str:
    """The text with its first letter in upper case and the rest as it was."""
    return text[:1].upper() + text[1:]
