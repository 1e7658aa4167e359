"""What threads of one process share: Python's lock."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_S = 0.0005
"""How long a thread keeps Python's lock from others that wait (5 ms by default).

One that works on arrays or in DuckDB wants it between any two operations; behind a thread that runs Python it
would wait longer for it than the operation takes.
"""


@contextmanager
def taking_turns() -> Iterator[None]:
    """Within the block, a thread that runs Python gives way to one that waits after `SWITCH_S` seconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
