"""Everything speclog says on stderr, and the cleaning of text that came out of a log.

stdout belongs to data (tables, JSON, the path of a report); narration, warnings and progress go to stderr.
"""

import sys
import unicodedata

_BIDI = {chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)}


def clean(text: str) -> str:
    """Make text from a log harmless on a terminal: control and bidi characters become visible escapes.

    Newlines and tabs are escaped too, so one value stays on one line.
    """
    return "".join(_escape(c) if _is_unsafe(c) else c for c in text)


def _is_unsafe(char: str) -> bool:
    return char in _BIDI or unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(message: str) -> None:
    """Print one line of narration on stderr."""
    print(message, file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """Print one warning line on stderr."""
    say(f"speclog: warning: {message}")


def fail(message: str) -> None:
    """Print the one line an error ends with."""
    say(f"speclog: error: {message}")
