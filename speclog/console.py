"""Everything speclog says on stderr, and the cleaning of text that came out of a log.

stdout belongs to data (tables, JSON, the path of a report); narration, warnings and progress go to stderr.
"""

import re
import sys

# Control characters, line and paragraph separators, lone surrogates, and what turns the direction of text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Make text from a log harmless on a terminal: control and bidi characters become visible escapes.

    Newlines and tabs are escaped too, so one value stays on one line.
    """
    return _UNSAFE.sub(lambda found: _escape(ord(found[0])), text)


def clean_json(text: str) -> str:
    """JSON that says the same, harmless on a terminal: `json.dumps` leaves most of these as they are."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def _escape(code: int) -> str:
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
