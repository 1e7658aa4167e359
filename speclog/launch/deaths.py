"""Why a server died: its last error line, and what mends it."""

import re
import signal
import tomllib
from functools import cache
from pathlib import Path

_ERROR = re.compile(
    r"^(\[[^\]]*\] )?[\w.]*(Error|Exception|Interrupt)\b|\b(error|failed|fatal|terminate)\b",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"^\s+|^Traceback|warning|SPECLOG_|kill_process_tree|sigquit|crashed with exit code",
    re.IGNORECASE,
)


@cache
def known() -> list[tuple[re.Pattern[str], str]]:
    """The declared causes (deaths.toml): pattern of the line, and the mend."""
    text = Path(__file__).with_name("deaths.toml").read_text(encoding="utf-8")
    return [(re.compile(d["line"]), d["mend"]) for d in tomllib.loads(text)["death"]]


def explain(lines: list[str], code: int | None) -> str:
    """One line: how the server ended, the line that says why, and what to do.

    ``lines`` are the last lines of the log, ``code`` is the exit code (negative: a signal, None: alive).
    """
    for pattern, mend in known():
        for line in reversed(lines):
            if pattern.search(line):
                return f"{_ending(code)}: {_short(line)}; {mend}"
    if code == -signal.SIGKILL:
        return f"{_ending(code)}; if nobody did that, the kernel ran out of memory (see dmesg)"
    last = last_error(lines)
    return f"{_ending(code)}: {_short(last)}" if last else f"{_ending(code)} without a word why"


def last_error(lines: list[str]) -> str | None:
    """The last line that reads like an error; the last line at all when none does."""
    spoken = [line for line in lines if line.strip() and not _NOISE.search(line)]
    errors = [line for line in spoken if _ERROR.search(line)]
    return next(reversed(errors or spoken), None)


def _ending(code: int | None) -> str:
    if code is None:
        return "the server hangs"
    if code < 0:
        return f"the server was killed by {signal.Signals(-code).name}"
    return f"the server ended with exit code {code}"


def _short(line: str, limit: int = 300) -> str:
    text = " ".join(line.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
