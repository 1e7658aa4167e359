"""Decimal numbers in words, all lines at once: eight digits are one word and three multiplications.

The arithmetic is the known one for eight digits in a 64-bit register (Lemire, "Quickly parsing eight digits",
2018). A decimal of at most 15 digits is an exact integer over an exact power of ten, so the quotient is the
nearest double, as with float().
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speclog.formats.block import Block, Mask, Places, Words, rows_of

_U = np.uint64
_ZEROS, _ABOVE_9, _HIGH = _U(0x3030303030303030), _U(0x7676767676767676), _U(0x8080808080808080)
_ONE, _TEN, _8, _16, _32 = _U(1), _U(10), _U(8), _U(16), _U(32)
_BYTE, _PAIRS = _U(0xFF), _U(0x000000FF000000FF)
_HUNDREDS, _UNITS = _U(0x000F424000000064), _U(0x0000271000000001)
_DOT = _U(ord("."))
DIGITS = 8
"""Longest run of digits that is read; a longer one is left to the reader of single lines."""


def whole_numbers(text: Words) -> tuple[Words, Places, Mask]:
    """(value, digits, whether there is one) of the run of at most eight digits each word begins with.

    A longer run counts as eight digits: what must stand behind the number does not, then.
    """
    digits = text ^ _ZEROS
    length = _run(digits)
    bits = (length << 3).view(np.uint64)
    return _eight(digits << (_U(64) - bits)), length, length > 0


def decimals(text: Words, fraction: int) -> tuple[NDArray[np.float64], Places, Mask]:
    """(value, characters, whether there is one) of ``12.34`` with ``fraction`` digits behind the point.

    One that does not fit into its word counts as none (`wide_decimals` reads it).
    """
    digits = text ^ _ZEROS
    length = _run(digits)
    bits = (length << 3).view(np.uint64)
    point = ((digits >> bits) & _BYTE) == _DOT ^ _U(0x30)
    below: Words = np.left_shift(_ONE, bits) - _ONE
    joined: Words = (digits & below) | ((digits >> _8) & ~below)
    joined = np.left_shift(joined, _U(64 - 8 * fraction) - bits)
    fine = point & (length > 0) & (length < DIGITS - fraction) & (_not_digits(joined) == 0)
    return _eight(joined) / 10.0**fraction, length + (1 + fraction), fine


def wide_decimals(block: Block, places: Places, fraction: int) -> tuple[NDArray[np.float64], Places, Mask]:
    """`decimals` of any length up to 15 digits: those before and behind the point are read apart."""
    before, length, some = whole_numbers(rows_of(block.data, places, 1)[:, 0])
    behind = rows_of(block.data, places + length, 2)
    after, more, _ = whole_numbers((behind[:, 0] >> _8) | (behind[:, 1] << _U(56)))
    fine = some & ((behind[:, 0] & _BYTE) == _DOT) & (more == fraction) & (length + fraction <= 15)
    value = (before * _U(10**fraction) + after) / 10.0**fraction
    return value, length + (1 + fraction), fine


def clock(text: Words) -> tuple[Words, Mask]:
    """(seconds of the day, whether it is one) of each word ``hh:mm:ss``."""
    digits = (text ^ _ZEROS) & _U(0xFFFF00FFFF00FFFF)
    fine = ((text & _U(0x0000FF0000FF0000)) == _U(0x00003A00003A0000)) & (_not_digits(digits) == 0)
    two = digits * _TEN + (digits >> _8)  # tens and units of a pair land in the pair's first byte
    hours, minutes, seconds = two & _BYTE, (two >> _U(24)) & _BYTE, (two >> _U(48)) & _BYTE
    fine &= (hours < 24) & (minutes < 60) & (seconds < 60)
    return hours * _U(3600) + minutes * _U(60) + seconds, fine


def _not_digits(text: Words) -> Words:
    """High bits set in the bytes that are above 9."""
    return (((text & ~_HIGH) + _ABOVE_9) | text) & _HIGH


def _run(text: Words) -> Places:
    """How many digits a word begins with."""
    odd = _not_digits(text)
    return (np.bitwise_count((odd & (~odd + _ONE)) - _ONE) >> 3).astype(np.int64)


def _eight(text: Words) -> Words:
    """The number that eight bytes of digit values are, the first the most significant."""
    pairs = text * _TEN + (text >> _8)
    return ((pairs & _PAIRS) * _HUNDREDS + ((pairs >> _16) & _PAIRS) * _UNITS) >> _32
