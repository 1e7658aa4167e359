"""One server process and all below it: started under a keeper, watched until it is ready, stopped."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from speclog.errors import LaunchError
from speclog.launch import deaths
from speclog.launch.endpoint import Endpoint
from speclog.launch.interrupt import Interrupts
from speclog.launch.logfile import Follower, tail

READY = "The server is fired up and ready to roll!"
_HEALTHY_ENOUGH_S = 30.0


class Server:
    """A running server. ``exit_code`` is None while it lives."""

    def __init__(self, argv: list[str], env: dict[str, str], log: Path, grace_s: float) -> None:
        """Start it; raises LaunchError (start) when the keeper cannot be started."""
        self.log = log
        self.exit_code: int | None = None
        self.pid: int | None = None
        self._gone = False
        self._orderly = False
        self._heard = b""
        self._grace_s = grace_s
        keeper = Path(__file__).with_name("keeper.py")
        command = [sys.executable, "-I", str(keeper), str(log), str(grace_s), *argv]
        try:
            self._keeper = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
            )
        except OSError as error:
            raise LaunchError(f"cannot start {argv[0]}: {error.strerror}", step="start") from error

    def poll(self) -> int | None:
        """The exit code of the server, or None while it lives."""
        self._listen(0.0)
        if self.exit_code is None and self._keeper.poll() is not None:
            self.exit_code = -9
            self._gone = True
        return self.exit_code

    def wait_ready(self, endpoint: Endpoint, timeout_s: float, interrupts: Interrupts) -> float:
        """Wait until the log says ready and /health answers; return the seconds that took.

        Raises LaunchError (ready) with the reason when the server dies or the time runs out.
        """
        began = time.monotonic()
        follower = Follower(self.log)
        said_ready = False
        healthy_at: float | None = None
        try:
            while time.monotonic() - began < timeout_s:
                said_ready |= any(READY in line for line in follower.lines())
                if self.poll() is not None:
                    raise LaunchError(self.why(), step="ready")
                if said_ready or time.monotonic() - began > _HEALTHY_ENOUGH_S:
                    healthy = endpoint.healthy()
                    healthy_at = (healthy_at or time.monotonic()) if healthy else None
                if healthy_at and (said_ready or time.monotonic() - healthy_at > _HEALTHY_ENOUGH_S):
                    return time.monotonic() - began
                interrupts.sleep(0.2)
        finally:
            follower.close()
        last = deaths.last_error(tail(self.log)) or "nothing in the log"
        raise LaunchError(
            f"not ready after {timeout_s:g} s ([launch] boot_timeout_s); last: {last[:200]}", step="ready"
        )

    def check_alive(self, step: str) -> None:
        """Raise LaunchError of this step, with the reason, when the server has died."""
        if self.poll() is not None:
            raise LaunchError(self.why(), step=step)

    def why(self) -> str:
        """One line: how the server ended and what its last lines say."""
        return deaths.explain(tail(self.log), self.exit_code)

    def stop(self, interrupts: Interrupts | None = None) -> int | None:
        """Let it drain, then kill it and all below it; return its exit code when nothing is left.

        A second signal cuts the draining short.
        """
        self._tell(f"stop {self._grace_s}")
        hurried = False
        while not self._gone and self._keeper.poll() is None:
            self._listen(0.2)
            if interrupts and interrupts.impatient and not hurried:
                hurried = True
                self._tell("stop 0")
        self.poll()
        if not self._orderly and self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return self.exit_code

    def bye(self) -> None:
        """Tell the keeper that the log is finished."""
        self._tell("bye")
        with contextlib.suppress(OSError):
            if self._keeper.stdin:
                self._keeper.stdin.close()
        self._keeper.wait()
        if self._keeper.stdout:
            self._keeper.stdout.close()

    def _tell(self, word: str) -> None:
        with contextlib.suppress(OSError):
            if self._keeper.stdin and not self._keeper.stdin.closed:
                os.write(self._keeper.stdin.fileno(), f"{word}\n".encode())

    def _listen(self, seconds: float) -> None:
        if self._keeper.stdout is None or self._gone:
            return
        fd = self._keeper.stdout.fileno()
        while select.select([fd], [], [], seconds)[0]:
            data = os.read(fd, 4096)
            if not data:
                self._gone = True
                return
            *lines, self._heard = (self._heard + data).split(b"\n")
            for line in lines:
                self._take(line.decode())
            seconds = 0.0

    def _take(self, line: str) -> None:
        word, _, value = line.partition(" ")
        if word == "started":
            self.pid = int(value)
        elif word == "exit":
            self.exit_code = int(value)
        self._orderly |= word == "gone"
        self._gone |= self._orderly
