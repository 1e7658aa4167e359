"""Durations as people type them: ``90s``, ``12h``, ``7d``."""

from datetime import timedelta

from speclog.errors import UsageError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_duration(text: str) -> timedelta:
    """Return the duration that ``text`` names. Raises UsageError when it is none."""
    unit, number = _UNITS.get(text[-1:]), text[:-1]
    if unit is None or not number.isdecimal():
        raise UsageError(f"{text}: not a duration; write a whole number and s, m, h, d or w, such as 7d")
    try:
        return timedelta(**{unit: int(number)})
    except OverflowError as error:
        raise UsageError(f"{text}: longer than this speclog can count") from error
