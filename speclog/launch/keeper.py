"""Keeps one server: no process of it outlives this one, and this one does not outlive speclog.

Run by path, in its own session, by the interpreter speclog runs in; standard library only, since it starts
in the server's environment. Usage: keeper.py LOG GRACE_S COMMAND...

stdin: ``stop SECONDS`` asks the server to stop; ``bye`` says that speclog has finished. When stdin closes
without ``bye``, speclog is dead: the server is stopped and the log gets its last line here.
stdout: ``started PID`` and ``exit CODE`` (negative: a signal), then ``gone`` when no process is left.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TERM_S = 5.0


def main() -> int:
    """Start the server, wait for it or for a word on stdin, and leave nothing behind."""
    log, grace, *command = sys.argv[1:]
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    fd = os.open(log, os.O_WRONLY | os.O_APPEND)
    child = _start(command, fd)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    _say(f"started {child}")
    said = Words()
    code = _watch(child, said, float(grace))
    _say(f"exit {code}")
    _clear(child)
    _say("gone")
    while not said.bye and not said.closed:
        said.wait(60.0)
    if not said.bye:
        told = {"exit_code": 137, "reason": "speclog was killed; the server was stopped", "at": _now()}
        os.write(fd, f"\nSPECLOG_END v=1 {json.dumps(told)}\n".encode())
    return 0


class Words:
    """What was said on stdin so far."""

    def __init__(self) -> None:
        self.bye = False
        self.closed = False
        self.stop_s: float | None = None
        self._rest = b""

    def wait(self, seconds: float) -> None:
        """Wait up to ``seconds`` for a word and take it in."""
        if self.closed:
            time.sleep(seconds)
            return
        if not select.select([0], [], [], seconds)[0]:
            return
        data = os.read(0, 4096)
        self.closed = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, _, value = line.decode().partition(" ")
            self.bye |= word == "bye"
            if word == "stop":
                self.stop_s = float(value)


def _start(command: list[str], fd: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _watch(child: int, said: Words, grace: float) -> int:
    """Wait until the child has ended, on its own or because it was asked to; return its exit code."""
    asked: float | None = None
    while True:
        code = _reap(child)
        if code is not None:
            return code
        if asked is None and (said.stop_s is not None or said.closed):
            asked = time.monotonic()
            _kill(child, signal.SIGTERM)
        left = said.stop_s if said.stop_s is not None else grace
        if asked is not None and time.monotonic() - asked >= left:
            _kill(child, signal.SIGKILL)
        said.wait(0.1)


def _clear(child: int) -> None:
    """Terminate, then kill, whatever the server left: its process group and every descendant."""
    for number, patience in ((signal.SIGTERM, _TERM_S), (signal.SIGKILL, 60.0)):
        deadline = time.monotonic() + patience
        left = _descendants()
        for process in left:
            _kill(process, number)
        while left and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, number if number == signal.SIGKILL else 0)
            _reap(-1)
            time.sleep(0.05)
            left = _descendants()
            if number == signal.SIGKILL:
                for process in left:
                    _kill(process, number)
        if not left:
            return


def _reap(child: int) -> int | None:
    """Collect ended children; the exit code of ``child`` if it was among them."""
    while True:
        try:
            done, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if done == 0:
            return None
        if done == child:
            return os.waitstatus_to_exitcode(status)


def _descendants() -> list[int]:
    """Living processes below this one (orphans of the server are adopted by it), zombies left out."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = Path(f"/proc/{entry}/stat").read_text(errors="replace")
                state, parent = stat.rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(entry)] = int(parent)
    found: list[int] = []
    layer = {os.getpid()}
    while layer:
        layer = {process for process, parent in parents.items() if parent in layer}
        found += layer
    return found


def _kill(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(1, f"{text}\n".encode())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    sys.exit(main())
