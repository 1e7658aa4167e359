"""The time that a line begins with, ``[YYYY-mm-dd HH:MM:SS``, all lines at once."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

import numpy as np

from speclog.formats.block import Mask, Places, Words
from speclog.formats.digits import clock

_DATE, _CLOCK = 1, 12  # where they stand


def times(heads: Words) -> tuple[Places, Mask]:
    """(microseconds since 1970, whether it is a time) of ``[YYYY-mm-dd HH:MM:SS`` in rows of words."""
    day, fine = _days(_words(heads, _DATE), _words(heads, _DATE + 3))
    seconds, good = clock(_words(heads, _CLOCK))
    return (day * 86_400 + seconds.view(np.int64)) * 1_000_000, fine & good


def _words(rows: Words, at: int) -> Words:
    """The word at a byte of each row."""
    return np.ndarray((len(rows),), "<u8", rows, offset=at, strides=(rows.strides[0],)).copy()


def _days(first: Words, last: Words) -> tuple[Places, Mask]:
    """(days since 1970, whether it is a date) of ``YYYY-mm-dd ``, as its first and its last eight bytes."""
    dashes = (last & _DASHES) == _BETWEEN
    # One word a date: the dashes and the blank of "Y-mm-dd " give way to the other digits of the year.
    dates = (last & ~_DASHES) | ((first & _U(0xFF)) << _U(8)) | ((first & _U(0xFF00)) << _U(24))
    dates |= (first & _U(0xFF0000)) << _U(40)
    changes = np.flatnonzero(dates[1:] != dates[:-1]) + 1
    begins = np.concatenate([[0], changes])
    known = [_day(word) for word in dates[begins].tolist()]
    lengths = np.diff(begins, append=len(dates))
    days = np.repeat(np.array([day or 0 for day in known], np.int64), lengths)
    return days, np.repeat([day is not None for day in known], lengths) & dashes


_U = np.uint64
_DASHES, _BETWEEN = _U(0xFF0000FF0000FF00), _U(int.from_bytes(b"\0-\0\0-\0\0 ", "little"))


@lru_cache(maxsize=4096)
def _day(date_word: int) -> int | None:
    y3, y0, m1, m2, y1, d1, d2, y2 = list(date_word.to_bytes(8, "little").decode("latin-1"))
    text = f"{y0}{y1}{y2}{y3}-{m1}{m2}-{d1}{d2}"
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days if text.isascii() else None
    except ValueError:
        return None
