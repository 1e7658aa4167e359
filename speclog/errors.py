"""What can go wrong, and the exit code each kind ends the command with.

SpeclogError
├── UsageError        2  the call does not make sense (unknown run, unknown profile key)
├── InputError        3  a file cannot be used (missing, binary, no SGLang line in it)
├── StoreError        4  the store is busy, broken, or newer than this speclog
├── CheckFailed       1  a check said no (`speclog check --fail-on ...`)
└── LaunchError    50-57 a launched session failed; `step` and the exit code say where
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line (design contract; documented in docs/cli.md)."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    INPUT = 3
    STORE = 4
    LAUNCH_PREFLIGHT = 50
    LAUNCH_START = 51
    LAUNCH_READY = 52
    LAUNCH_WARMUP = 53
    LAUNCH_WORKLOAD = 54
    LAUNCH_SAVE = 55
    LAUNCH_STOP = 56
    LAUNCH_LOG = 57
    INTERRUPTED = 130


class SpeclogError(Exception):
    """Base of every error a user sees: its text is one line that says where, what, and what to do."""

    exit_code: int = ExitCode.USAGE


class UsageError(SpeclogError):
    """The call does not make sense: unknown run, unknown query, contradicting options."""

    exit_code = ExitCode.USAGE


class InputError(SpeclogError):
    """An input file cannot be used."""

    exit_code = ExitCode.INPUT


class StoreError(SpeclogError):
    """The store is busy, broken, missing, or written by a newer speclog."""

    exit_code = ExitCode.STORE


class CheckFailed(SpeclogError):
    """A check asked for with ``--fail-on`` said no."""

    exit_code = ExitCode.CHECK_FAILED


class LaunchError(SpeclogError):
    """A launched session failed.

    ``step`` names the step: preflight, start, ready, warmup, workload, save, stop, or log (the log could not
    be written); each has its exit code.
    """

    exit_code = ExitCode.LAUNCH_START

    def __init__(self, message: str, step: str = "start") -> None:
        super().__init__(message)
        self.step = step
        self.exit_code = ExitCode[f"LAUNCH_{step.upper()}"]
