"""Several servers in one file whose lines name their source: read once for each, as if alone in it.

``docker compose logs``, ``kubectl logs --prefix``, stern and journald put a name before each line, Ray that
of an actor's process. For one source all other lines are taken as empty, so that line numbers stay those of
the file.

The name of a source that is a process is that of its container or unit, a tab, and its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from speclog.formats.block import padded
from speclog.formats.prefix import STAMP
from speclog.formats.wraps import marks_in, names_of, shows_server
from speclog.ingest.sidecars import find
from speclog.ingest.sources import read_once
from speclog.ingest.summary import IngestSummary

_FAR = 256  # a server's time begins before
_MOST = 64


class SeveralServers(Exception):
    """Lines of servers with these names stand in one file."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(", ".join(sorted(name.replace("\t", " ").strip() or "no name" for name in names)))
        self.names = names


def servers_in(lines: Sequence[bytes]) -> list[str | None]:
    """The server that each odd line (it does not begin ``[20``) shows, by name; None if it shows none.

    Of a process that prints batches or arguments, what it prints stands behind the name and a tab.
    """
    marks = marks_in(b"\n".join(lines))
    return [
        _server_in(raw) if marks and shows_server(raw, marks) and not raw.startswith(b"[20") else None
        for raw in lines
    ]


def _server_in(raw: bytes) -> str:
    source, process = _names_of(raw)
    if process and b"server_args=" in raw:
        return f"{source}\t{process}\t{_ARGUMENTS}"
    if process and (b"Decode batch" in raw or b"Prefill batch" in raw):
        rank = raw[raw.find(b"[20") + STAMP :].split(b"]", 1)[0].decode("utf-8", "replace")
        return f"{source}\t{process}\t{_FRACTION.sub('', rank)}"
    return source


_ARGUMENTS = "arguments"
_FRACTION = re.compile(r"^[.,]\d+")


def _names_of(raw: bytes) -> tuple[str, str]:
    """`names_of` a line; what stands before a server's time is looked up, for many lines share it."""
    at = raw.find(b"[20", 0, _FAR)
    if at < 0 or raw[at + 5 : at + 6] != b"-":
        return names_of(raw.decode("utf-8", "replace"))
    return _names_of_head(raw[: at + 3])


@lru_cache(maxsize=4096)
def _names_of_head(head: bytes) -> tuple[str, str]:
    return names_of(head.decode("utf-8", "replace"))


def check(seen: set[str]) -> None:
    """Raise `SeveralServers` when there is more than one server with a name, or in a process of its own."""
    sources = {server.split("\t")[0] for server in seen}
    if len(sources - {""}) > 1:
        raise SeveralServers(sources)
    by_rank: dict[str, set[str]] = {}
    for server in seen - sources:
        name, _, printed = server.rpartition("\t")
        by_rank.setdefault(printed, set()).add(name)
    started = by_rank.pop(_ARGUMENTS, set())
    apart = {name for same in by_rank.values() if len(same) > 1 for name in same}
    # Where the arguments are another process's, the second process of a rank is that of a server's next life.
    if apart & started or (apart and not started and not sources & seen):
        raise SeveralServers(apart)


class Only:
    """The lines of one source in buffers of whole lines, all others emptied; ``seen``: whose there are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: set[str] = set()
        self._first = True
        self._source, self._by_process, _ = name.partition("\t")

    def of(self, buffers: Iterator[tuple[bytearray, int]]) -> Iterator[tuple[bytearray, int]]:
        """The buffers with the lines of this source only."""
        for data, size in buffers:
            left = b"\n".join(map(self._left, bytes(data[:size]).split(b"\n")))
            yield bytearray(padded(left)), len(left)

    def _left(self, line: bytes) -> bytes:
        source, process = _names_of(line) if line else ("", "")
        name = source + self._by_process + (process if self._by_process else "")
        if name not in self.seen and shows_server(line) and self._is_one(line, source, process):
            self.seen.add(name)
        marks, self._first = self._first and b"SYNTHETIC" in line, False  # of the whole file
        return line if name == self.name or marks else b""

    def _is_one(self, line: bytes, source: str, process: str) -> bool:
        """Whether a line that only servers print is one of a server that the file is read for by itself."""
        if not self._by_process:
            return True
        return source == self._source and (not process or "\t" in _server_in(line))


def ingest_each(
    path: str, names: Sequence[str], read: Callable[[Only], list[IngestSummary]]
) -> list[IngestSummary]:
    """``read`` a file once for each server in it; names that are met on the way are read, too."""
    if read_once(path):
        servers = SeveralServers({*names})
        detail = f"lines of several servers ({servers}) in a pipe: write them to a file and ingest that"
        return [IngestSummary(path, "unusable", detail=detail)]
    todo, found = list(names), list[IngestSummary]()
    for name in todo:
        only = Only(name)
        summaries = read(only)
        todo += sorted(only.seen - {*todo})[: _MOST - len(todo)]
        found += [
            s for s in summaries if name.strip() or s.run_id
        ]  # lines without a name need not be a server's
    if beside := find(path):
        note = f"{', '.join(map(str, beside))}: whose of {len(todo)} servers is not known: not read"
        found[0].notes.append(note)
    return found


def name_of(stem: str, source: str) -> str:
    """The name of the run of one source of a file."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", source.strip())
    return f"{stem}.{name}" if name else stem
