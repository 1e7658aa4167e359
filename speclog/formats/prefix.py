"""What stands before the message: timestamp, rank tags, level - and the wrappers put around whole lines."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache, lru_cache
from typing import NamedTuple

_SGLANG = re.compile(
    r"\[?(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](?P<frac>\d{1,6}))?"
    r"(?P<tags>(?: [A-Z][A-Z_]*\d+)*)(?P<process> (?:encode_server|encode_dp_worker\[\d+\]))?\] ?"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) [\w.]+\.py:\d+: )?"
)
_VLLM = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<ts>\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(?P<frac>\d+))? "
    r"\[(?P<file>[\w./-]+:\d+)\] "
)
_TAG = re.compile(r"(DP|PP|TP|EP|ATTN_CP|MOE_DP)(\d+)")


class Prefix(NamedTuple):
    """The part of a line before its message. ``ts`` is the log's own clock (no zone); None when lost."""

    ts: datetime | None = None
    rank: str = ""
    level: str = ""
    style: str = ""

    def number(self, tag: str) -> int | None:
        """The rank printed as ``tag`` ('DP', 'PP', 'TP', 'EP'), None when it was not printed."""
        return ranks(self.rank).get(tag)


@lru_cache(maxsize=4096)
def ranks(tags: str) -> dict[str, int]:
    """``'DP1 TP3'`` as numbers by tag; what no machine has as many of is no rank."""
    return {name: int(number) for name, number in _TAG.findall(tags) if len(number) < 10}


def split_prefix(line: str) -> tuple[Prefix, str]:
    """Split a line into its prefix and its message; a line without one keeps all as message."""
    if line.startswith("[2"):
        end = line.find("] ", 20, 120)
        prefix = plain_prefix(line[: end + 2]) if end > 0 else None
        if prefix is not None:
            message = line[end + 2 :]
            if message[:1] not in _INITIALS or not message.startswith(_LEVELS):
                return prefix, message
    if not line.startswith(_FIRST):
        return NOTHING, line
    found = _SGLANG.match(line)
    if found:
        ts = _timestamp(found["ts"], found["frac"])
        return Prefix(ts, found["tags"].strip(), "", "sglang"), line[found.end() :]
    found = _VLLM.match(line)
    if found:
        ts = _timestamp(f"1900-{found['ts']}", found["frac"])
        return Prefix(ts, "", found["level"], "vllm"), line[found.end() :]
    return NOTHING, line


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_INITIALS = "DIWEC"
_FIRST = (*_LEVELS, *"[0123456789")  # what a prefix may begin with
NOTHING = Prefix()
"""The prefix of a line without one."""


@lru_cache(maxsize=4096)
def plain_prefix(text: str) -> Prefix | None:
    """The prefix that ``[2026-01-29 01:16:05 TP0] `` is, None for another text; many lines share one."""
    found = _SGLANG.fullmatch(text)
    if not found:
        return None
    return Prefix(_timestamp(found["ts"], found["frac"]), found["tags"].strip(), "", "sglang")


STAMP = len("[2026-01-29 01:16:05")
"""How far the time reaches into a plain prefix; behind it are its fraction or the ranks."""


@lru_cache(maxsize=1024)
def _timestamp(text: str, frac: str | None) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.replace(microsecond=int(frac.ljust(6, "0"))) if frac else when


@cache
def head_pattern() -> str:
    """The prefix as a pattern with groups ts, frac, tags, for frames."""
    return (
        r"^\[?(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](?P<frac>\d{1,6}))?"
        r"(?P<tags>(?: [A-Z][A-Z_]*\d+)*)(?: encode_server| encode_dp_worker\[\d+\])?\] ?"
    )
