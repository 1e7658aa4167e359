"""Signals as a flag: the session looks at it between small waits, and unwinds in order."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from speclog.errors import SpeclogError

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class Interrupted(SpeclogError):
    """The user, a terminal that closed, or a time limit asked the campaign to stop."""

    def __init__(self, number: int) -> None:
        timed = number == signal.SIGALRM
        super().__init__("time limit reached" if timed else f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number
        self.timed = timed


class Interrupts:
    """Signals received so far. ``check`` raises once; a second signal makes ``impatient`` true."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._raised = False

    @property
    def impatient(self) -> bool:
        """Whether more than one signal came: stop without draining."""
        return len(self.received) > 1

    def check(self) -> None:
        """Raise Interrupted if a signal came and was not raised yet."""
        if self.received and not self._raised:
            self._raised = True
            raise Interrupted(self.received[0])

    def sleep(self, seconds: float) -> None:
        """Sleep; raise Interrupted when a signal came."""
        self.check()
        time.sleep(seconds)
        self.check()


@contextmanager
def caught(time_limit_s: float = 0.0) -> Iterator[Interrupts]:
    """Catch SIGINT, SIGTERM, SIGHUP and the end of a time limit as a flag while the block runs.

    In the main thread only; elsewhere nothing is caught.
    """
    flag = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return

    def note(number: int, _frame: FrameType | None) -> None:
        flag.received.append(number)

    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN  # started by nohup, which means it
    caught_now = [n for n in _CAUGHT if not (n == signal.SIGHUP and ignored)]
    before = {number: signal.signal(number, note) for number in caught_now}
    signal.setitimer(signal.ITIMER_REAL, time_limit_s)
    try:
        yield flag
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
