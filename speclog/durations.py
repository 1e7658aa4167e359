"""Durations as people type them: ``90s``, ``12h``, ``7d``, and options that take seconds."""

import contextlib
import math
from datetime import timedelta
from typing import Any

import click

from speclog.errors import UsageError


class Seconds(click.FloatRange):
    """An option's value in seconds: a finite number of at least ``least``, or a duration such as ``90m``."""

    name = "seconds"

    def __init__(self, least: float = 0.0) -> None:
        super().__init__(min=least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Raises BadParameter for what is no time, infinity, NaN, and less than ``least``."""
        if isinstance(value, str) and value[-1:] in _UNITS and value[:-1].isdecimal():
            with contextlib.suppress(UsageError):
                value = parse_duration(value).total_seconds()
        try:
            value = float(value)
        except ValueError:
            self.fail(
                f"{value!r} is no time: write seconds, or a duration such as 90s, 30m or 2h", param, ctx
            )
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return seconds


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
