"""Hostile logs: real lines, taken apart where their structure is and put together wrong, by number.

`mutant(n)` is a function of ``n`` alone, so a failure is repeated by its number.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
LOGS = _ROOT / "examples" / "logs"
KINDS = _ROOT / "speclog" / "formats" / "kinds"
_IDENTITY = re.compile(rb'("session": ?"|random_seed=|seed=|\'seed\': )')
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_VALUES = [
    b"", b"-1", b"0", b"-0.0", b"1e309", b"-1e309", b"nan", b"inf", b"NaN", b"9223372036854775808", b"1" * 400,
    b"18446744073709551616", b"0x10", b"1_000", b"1,000", b"1e-320", b"\xd9\xa3", b"True", b"None", b"[]", b"%s",
]  # fmt: skip
_POISON = [
    b"\x00", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x1b[2J\x1b]0;x\x07", b"\r", b"\x0b\x0c", b"\xe2\x80\xae",
    b"'; DROP VIEW run; --", b"<script>alert(1)</script>", b"${jndi:ldap://x}", b"../" * 40, b"\\", b'"', b"'",
    b"(" * 300, b"[" * 300, b"{" * 300, b"a" * 5000, b"=" * 500, b" " * 3000, b"\xf0\x9f\x92\xa9", b"\xef\xbb\xbf",
]  # fmt: skip
_STAMPS = [
    b"[2026-02-30 25:61:61]",
    b"[0000-00-00 00:00:00]",
    b"[9999-12-31 23:59:59]",
    b"[2026-11-29]",
    b"[]",
    b"[",
]
_LINES = [
    b"SPECLOG_MANIFEST v=1 {}", b"SPECLOG_MANIFEST v=1 []", b'SPECLOG_MANIFEST v=1 {"session": 5, "env": [1]}',
    b'SPECLOG_MANIFEST v=1 {"argv": {"a": 1}, "gpus": "x", "env": {"A": {"b": []}}, "started_at": "never"}',
    b"SPECLOG_MANIFEST v=1 " + b'{"a":' * 3000 + b"1" + b"}" * 3000, b"SPECLOG_MANIFEST v=99 {",
    b"[2026-11-29 15:00:50] server_args=ServerArgs()", b"[2026-11-29 15:00:50] server_args=ServerArgs(",
    b"[2026-11-29 15:00:50] server_args=ServerArgs(a=" + b"(" * 2000 + b")", b"server_args={'a': 1, 'b': [}",
    b"SPECLOG_WORKLOAD begin", b"SPECLOG_WORKLOAD v=1 {\"step\": [], \"kind\": 7}", b"SPECLOG_END v=1 x",
    b"EAGLE3_PROFILE v=1 kind=spec", b"EAGLE3_PROFILE v=1 kind=spec acc_hist=[1,2 bs=x cycle=1/2", b"EAGLE3_PROFILE v=",
    b"EAGLE3_PROFILE v=1 kind=decode acc_hist=[" + b"1," * 4000 + b"]", b"Traceback (most recent call last):",
    b"[2026-11-29 15:00:50 DP99999999999999999999 TP-1] Decode batch, #running-req: 1, #token: 5",
    b"[2026-11-29 15:00:50] Decode batch, #running-req: 99999999999999999999, #token: -5, gen throughput (token/s): 0",
    b"[2026-11-29 15:00:50] Decode batch" + b", #token: 1" * 500, b"torch.OutOfMemoryError: CUDA out of memory.",
    b"INFO 11-29 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: x tokens/s, Running: 9 reqs",
]  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A log and, for some, a file beside it."""

    log: bytes
    suffix: str = ".log"
    sidecar: tuple[str, bytes] | None = None


@cache
def corpus() -> tuple[tuple[bytes, ...], ...]:
    """The example logs as lines; and as a log each, the sample lines of every declared format."""
    logs = [path.read_bytes() for path in sorted(LOGS.rglob("*.log"))]
    logs += [
        _samples(tomllib.loads(path.read_text(encoding="utf-8"))) for path in sorted(KINDS.glob("*.toml"))
    ]
    return tuple(tuple(log.splitlines(keepends=True)) for log in logs if log)


def _samples(declared: dict[str, Any]) -> bytes:
    lines = [sample["line"] for kind in declared.get("kind", []) for sample in kind.get("sample", [])]
    return "".join(f"{line}\n" for line in lines).encode()


@cache
def sidecars() -> tuple[tuple[str, bytes], ...]:
    """(how the name ends, content) of the files beside example logs."""
    found = [path for path in sorted(LOGS.rglob("*")) if path.suffix in (".json", ".jsonl")]
    return tuple(("." + path.name.split(".", 1)[1].rsplit("1.", 1)[-1], path.read_bytes()) for path in found)


def mutant(number: int) -> Mutant:
    """The hostile log with this number: 8 to 60 real lines with one to eight things done to them."""
    dice = random.Random(number)
    lines = _excerpt(dice)
    for _ in range(dice.randint(1, 8)):
        lines = dice.choice(_MUTATIONS)(dice, lines)
    log = b"".join(lines)
    if dice.random() < 0.05:
        log = _cut(dice, log)
    name, content = dice.choice(sidecars())
    sidecar = (name, _damage(dice, content[: dice.randint(1, 30_000)])) if dice.random() < 0.1 else None
    return Mutant(log, sidecar=sidecar)


def damaged(number: int) -> bytes:
    """A whole real log of its own session, long enough to be compared, with up to sixty things done to it."""
    dice = random.Random(number)
    lines = _own(dice, dice.choice(corpus()))
    for _ in range(dice.randint(0, 60)):
        lines = dice.choice(_MUTATIONS)(dice, lines)
    return b"".join(lines)


def _excerpt(dice: random.Random) -> list[bytes]:
    """Some lines of a real log below the head that makes them a session, one that no other log has."""
    lines = list(dice.choice(corpus()))
    head = [line for line in _own(dice, lines) if _heads(line)]
    start = dice.randrange(len(lines))
    return head + lines[start : start + dice.randint(8, 50)]


def _own(dice: random.Random, lines: Sequence[bytes]) -> list[bytes]:
    """The lines of a log as those of a session that no other log has."""
    own = b"%s%d" % (rb"\g<1>", dice.randrange(1 << 40))
    return [_IDENTITY.sub(own, line) if _heads(line) else line for line in lines]


def _heads(line: bytes) -> bool:
    return any(mark in line for mark in (b"server_args=", b"SPECLOG_MANIFEST", b"non-default args"))


def _damage(dice: random.Random, data: bytes) -> bytes:
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(data) + 1)
        data = data[:place] + dice.choice(_POISON + _VALUES) + data[place + dice.randint(0, 20) :]
    return data


def _cut(dice: random.Random, log: bytes) -> bytes:
    return log[: dice.randrange(len(log) + 1)]


def _on_a_line(
    change: Callable[[random.Random, bytes], bytes],
) -> Callable[[random.Random, list[bytes]], list[bytes]]:
    def mutate(dice: random.Random, lines: list[bytes]) -> list[bytes]:
        if not lines:
            return lines
        place = dice.randrange(len(lines))
        return [*lines[:place], change(dice, lines[place]), *lines[place + 1 :]]

    return mutate


def _number(dice: random.Random, line: bytes) -> bytes:
    found = list(_NUMBER.finditer(line))
    if not found:
        return line
    hit = dice.choice(found)
    return line[: hit.start()] + dice.choice(_VALUES) + line[hit.end() :]


def _poison(dice: random.Random, line: bytes) -> bytes:
    place = dice.randrange(len(line) + 1)
    return line[:place] + dice.choice(_POISON) + line[place:]


def _field(dice: random.Random, line: bytes) -> bytes:
    """Drop, double or swap what stands between commas."""
    parts = line.split(b", ")
    place = dice.randrange(len(parts))
    match dice.randrange(3):
        case 0:
            del parts[place]
        case 1:
            parts.insert(place, parts[place])
        case 2:
            dice.shuffle(parts)
    return b", ".join(parts)


def _stamp(dice: random.Random, line: bytes) -> bytes:
    return dice.choice(_STAMPS) + line[line.find(b"]") + 1 :]


def _glue(dice: random.Random, line: bytes) -> bytes:
    """Two writers to one pipe: a line torn apart by another."""
    place = dice.randrange(len(line) + 1)
    return line[:place] + dice.choice(dice.choice(corpus())).rstrip(b"\n") + line[place:]


def _shuffle(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    return dice.sample(lines, len(lines))


def _repeat(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    return lines + lines[dice.randrange(len(lines) + 1) :] * dice.randint(1, 3)


def _drop(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if dice.random() > 0.3]


def _add(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    place = dice.randrange(len(lines) + 1)
    return [*lines[:place], dice.choice(_LINES) + b"\n", *lines[place:]]


def _other_session(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    return lines + _excerpt(dice)


def _ends(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    end = dice.choice([b"\r\n", b"\r", b"\n\n", b"", b"\x00\n"])
    return [line.rstrip(b"\n") + end for line in lines]


_MUTATIONS: list[Callable[[random.Random, list[bytes]], list[bytes]]] = [
    *map(_on_a_line, (_number, _number, _number, _poison, _poison, _field, _field, _stamp, _glue, _cut)),
    _shuffle, _repeat, _drop, _add, _add, _add, _other_session, _ends,
]  # fmt: skip
