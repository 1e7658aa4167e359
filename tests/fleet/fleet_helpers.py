"""A PostgreSQL server of our own, and the command as a user runs it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Postgres:
    """A PostgreSQL server of our own."""

    bin: Path
    root: Path
    port: int

    def control(self, *arguments: str) -> None:
        """Run pg_ctl (as the user postgres when we are root: it refuses to run as root)."""
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -c unix_socket_directories={self.root}"
        options += " -c fsync=off -c log_min_messages=fatal"
        command = [
            str(self.bin / "pg_ctl"),
            "-D",
            str(self.root / "data"),
            "-w",
            "-l",
            str(self.root / "log"),
        ]
        subprocess.run(
            [*as_postgres(), *command, "-o", options, *arguments], check=True, stdout=subprocess.DEVNULL
        )

    def start(self) -> None:
        """Start, and wait until it answers."""
        self.control("start")

    def stop(self, mode: str = "fast") -> None:
        """Stop; 'immediate' is a crash."""
        self.control("-m", mode, "stop")

    def dsn(self, database: str) -> str:
        """Connection keywords."""
        return f"dbname={database} host=127.0.0.1 port={self.port} user=speclog"

    def create(self, database: str) -> None:
        """Create an empty database."""
        at = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "speclog"]
        subprocess.run([str(self.bin / "createdb"), *at, database], check=True)

    def sql(self, database: str, sql: str) -> str:
        """Run SQL with psql."""
        at = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "speclog", "-d", database]
        command = [str(self.bin / "psql"), *at, "-v", "ON_ERROR_STOP=1", "-qtAc", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def as_postgres() -> list[str]:
    return ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def postgres_bin() -> Path | None:
    for _ in range(2):
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        on_path = shutil.which("initdb")
        if found or on_path:
            return found[-1].parent if found else Path(str(on_path)).parent
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            return None
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["apt-get", "install", "-y", "-q", "postgresql"], check=False, **quiet)
    return None


def speclog(
    target: str,
    *arguments: str,
    env: dict[str, str] | None = None,
    timeout: float = 300,
    user: str | None = None,
    lock_timeout: str = "120",
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    command = [sys.executable, "-m", "speclog", "--lock-timeout", lock_timeout, "--store", target, *arguments]
    environment = {**os.environ, **(env or {})}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=environment, user=user
    )


def start(target: str, *arguments: str) -> subprocess.Popen[str]:
    """Start the command and go on."""
    command = [sys.executable, "-m", "speclog", "--lock-timeout", "120", "--store", target, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _STARTED.append(process)
    return process


def end_all() -> None:
    """End what a test started and, as it failed, did not wait for: the next test is not to meet it."""
    while _STARTED:
        process = _STARTED.pop()
        process.kill()
        process.communicate()


_STARTED: list[subprocess.Popen[str]] = []


def wait_until(true: Callable[[], bool], timeout: float = 60) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
