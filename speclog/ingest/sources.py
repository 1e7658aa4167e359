"""Command-line arguments to log files, and files to chunks of whole lines."""

from __future__ import annotations

import glob as globbing
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from speclog.formats.block import PAD
from speclog.ingest.archives import open_gz, open_zst

BLOCK = 2 << 20
STRETCH = 8 << 20
LONGEST_LINE = 32 << 20
SHORT_LINE = 40
"""Bytes; what is kept of a line takes at least as much."""
_SAMPLE = 1024
_SIDECAR_PARTS = (".server_info.json", ".bench.jsonl", ".bench_", ".bench.")
_KINDS, _PACKED = (".log", ".out", ".err"), ("", ".gz", ".zst")
_ENDINGS = tuple(kind + packed for kind in _KINDS for packed in _PACKED)
GENERATION = r"[.-]\d[\d.-]*"
"""What a rotation puts behind a log's name: ``.1``, ``-20260129``."""
_ROTATED = re.compile(
    f".*(?:{'|'.join(map(re.escape, _KINDS))})({GENERATION})(?:{'|'.join(map(re.escape, _PACKED))})"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A log to read (``path`` '-' is standard input), or why an argument gives none."""

    path: str
    problem: str = ""


def expand(arguments: Sequence[str | Path]) -> list[Source]:
    """Files of the arguments in order: files as they are, globs, the logs of directories (recursively)."""
    found: list[Source] = []
    for argument in map(str, arguments):
        found += _expand_one(argument)
    sources = list(dict.fromkeys(found))
    paths = {source.path for source in sources}
    return [kept for source in sources if (kept := _unless_sidecar(source, paths)) is not None]


def _unless_sidecar(source: Source, paths: set[str]) -> Source | None:
    """A file that belongs to a log beside it is read with that log, not as one of its own."""
    path = Path(source.path)
    part = next((part for part in _SIDECAR_PARTS if part in path.name), None)
    if part is None or source.problem:
        return source
    stem = path.name[: path.name.index(part)]
    owner = next((o for o in (path.with_name(stem + end) for end in _ENDINGS) if o.is_file()), None)
    if owner is None:
        return source
    return (
        None
        if str(owner) in paths
        else Source(source.path, f"belongs to {owner.name} beside it: ingest that")
    )


def _expand_one(argument: str) -> list[Source]:
    if argument == "-":
        return [Source("-")]
    path = Path(argument)
    if path.is_dir():
        files = [p for p in sorted(path.rglob("*")) if p.is_file() and _looks_like_log(p)]
        return [_inside(p, path) for p in files] or [
            Source(argument, f"a directory without logs ({', '.join('*' + end for end in _ENDINGS)})")
        ]
    if path.exists():
        return [Source(argument)]
    matches = sorted(globbing.glob(argument, recursive=True)) if any(c in argument for c in "*?[") else []  # noqa: PTH207
    if matches:
        return [source for match in matches for source in _expand_one(match)]
    return [Source(argument, "no such file")]


def _inside(path: Path, directory: Path) -> Source:
    """A file found in a directory; not one that a link fetches from elsewhere, which nobody has named."""
    if path.resolve().is_relative_to(directory.resolve()):
        return Source(str(path))
    return Source(str(path), f"a link that leads out of {directory}: to read it, name it (a glob will do)")


def _looks_like_log(path: Path) -> bool:
    name = path.name
    if any(part in name for part in _SIDECAR_PARTS) or name.startswith("."):
        return False
    return name.endswith(_ENDINGS) or is_rotated(name)


def is_rotated(path: str) -> bool:
    """Whether a name is that of a log a rotation put aside: ``srv.log.1``, ``srv.log-20260129.gz``."""
    return _ROTATED.fullmatch(Path(path).name) is not None


def unrotated(path: str) -> str:
    """The name of the log that a piece was cut from, without ``.gz``: that of a log itself is its own."""
    found = _ROTATED.fullmatch(Path(path).name)
    whole = Path(path).name[: found.start(1)] if found else Path(path).name
    return str(Path(path).with_name(whole.removesuffix(".gz").removesuffix(".zst") or whole))


def by_age(sources: Sequence[Source]) -> list[Source]:
    """Pieces of rotated logs before the logs they were cut from, the oldest first; others as they are."""

    def age(source: Source) -> tuple[int, int]:
        found = _ROTATED.fullmatch(Path(source.path).name)
        if not found:
            return 2, 0
        number = int("".join(c for c in found[1] if c.isdecimal()))
        return (0, number) if number > _LEAST_DATE else (1, -number)  # dates grow, numbers shrink

    return sorted(sources, key=age)


_LEAST_DATE = 19_700_000


def open_bytes(path: str) -> IO[bytes] | io.RawIOBase:
    """Open a log for reading, decompressing .gz and .zst. Raises OSError."""
    if path == "-":
        return sys.stdin.buffer
    if path.endswith(".gz"):
        return open_gz(path)
    if path.endswith((".zst", ".zstd")):
        return open_zst(path)
    return Path(path).open("rb", buffering=0)


def read_once(path: str) -> bool:
    """Whether what a path gives can be read but once: standard input, a pipe; or not at all."""
    return path == "-" or not Path(path).is_file()


def written_at(path: str) -> datetime:
    """When a log was last written to (now, for a pipe): its lines are not newer."""
    return datetime.now() if read_once(path) else datetime.fromtimestamp(Path(path).stat().st_mtime)


class Pool:
    """Buffers that are used again: fresh memory costs more than what is done with it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free: list[bytearray] = []

    def take(self) -> bytearray:
        """A padded buffer."""
        return self._free.pop() if self._free else bytearray(self.size + PAD)

    def give(self, buffer: bytearray) -> None:
        """Take a buffer back; one that had to grow is let go."""
        if len(buffer) == self.size + PAD:
            self._free.append(buffer)


def blocks(stream: IO[bytes] | io.RawIOBase, pool: Pool) -> Iterator[tuple[bytearray, int]]:
    """Padded buffers of whole lines, with their size; only the last line of the stream may lack its end.

    A line longer than a buffer is given whole, as the memory it takes cannot be saved. Raises OSError for one
    of more than `LONGEST_LINE` bytes. NULs before a line (`is_gap`) may be as many as they like.
    """
    carried = b""
    while True:
        buffer, held = pool.take(), len(carried)
        if held > len(buffer) - PAD:
            buffer = bytearray(2 * held + PAD)
        buffer[:held] = carried
        cut, got = 0, 1
        while got and (not cut or held < pool.size // 2):
            if held == len(buffer) - PAD:
                if is_gap(buffer, held):
                    break
                if held > LONGEST_LINE:
                    raise OSError(f"a line of more than {LONGEST_LINE >> 20} MiB: not a log")
                buffer.extend(bytes(held))
            got = _read_into(stream, buffer, held, len(buffer) - PAD)
            cut = buffer.rfind(b"\n", held, held + got) + 1 or cut
            held += got
        if not held:
            return
        carried = bytes(buffer[cut:held]) if cut else b""
        yield buffer, cut or held


def is_gap(data: bytes | bytearray, size: int) -> bool:
    """Whether bytes are NULs before a line: what a log that was truncated under its writer begins with."""
    return size > 0 and not data[0] and data.count(0, 0, size) == size


def _read_into(stream: IO[bytes] | io.RawIOBase, buffer: bytearray, start: int, stop: int) -> int:
    read_into = getattr(stream, "readinto", None)
    if read_into is None:
        data = stream.read(stop - start) or b""
        buffer[start : start + len(data)] = data
        return len(data)
    with memoryview(buffer) as view:
        return int(read_into(view[start:stop]) or 0)


def stretches(buffers: Iterator[tuple[bytearray, int]], size: int) -> Iterator[list[tuple[bytearray, int]]]:
    """Buffers in groups of about ``size`` bytes; of fewer where lines are short, as each takes memory."""
    group: list[tuple[bytearray, int]] = []
    held = 0
    for buffer in buffers:
        group.append(buffer)
        held += max(buffer[1], SHORT_LINE * _lines_about(*buffer))
        if held >= size:
            yield group
            group, held = [], 0
    if group:
        yield group


def _lines_about(buffer: bytearray, size: int) -> int:
    """How many lines a buffer holds: by samples, counted where they look short."""
    places = (0, size // 2, max(size - _SAMPLE, 0))
    found = sum(buffer.count(b"\n", at, min(at + _SAMPLE, size)) for at in places)
    if found * SHORT_LINE < 3 * _SAMPLE:
        return found * size // (3 * _SAMPLE)
    return buffer.count(b"\n", 0, size)
