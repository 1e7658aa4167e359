"""Ctrl-C ends a query at once.

DuckDB looks for a signal only between pieces of its work, and one piece can take minutes. Python's own
handler runs no sooner. So a thread waits for the signal beside them and tells every open connection to stop;
what the command sees is an error of the engine that says "interrupted".
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_OPEN: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
_STARTED = threading.Event()


def watch(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Let Ctrl-C stop what this connection is doing, for as long as it lives; returns it."""
    _OPEN.add(connection)
    if not _STARTED.is_set() and threading.current_thread() is threading.main_thread():
        _STARTED.set()
        _listen()
    return connection


def _listen() -> None:
    """Have Python write each signal's number into a pipe at once, and a thread read it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if before != -1:  # somebody else's, as in a program that uses speclog as a library: theirs stays
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)
        return
    threading.Thread(target=_stop_queries, args=[reading], name="interrupts", daemon=True).start()


def _stop_queries(reading: int) -> None:
    while number := os.read(reading, 1):
        if number[0] == signal.SIGINT:
            for connection in list(_OPEN):
                with contextlib.suppress(Exception):  # closed meanwhile
                    connection.interrupt()
