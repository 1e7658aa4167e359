"""What threads of one process share: Python's lock, and the cores."""

from __future__ import annotations

import importlib
import os
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


_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy_alone() -> None:
    """Load numpy without its threads for linear algebra, unless the user has said how many there are to be.

    They wait for work by spinning: a tenth of a second of a core, at once, that other threads could use.
    """
    if "numpy" in sys.modules or _BLAS_THREADS in os.environ:
        return
    os.environ[_BLAS_THREADS] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_BLAS_THREADS]  # programs that this one starts decide for themselves
