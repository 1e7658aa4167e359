"""Several servers in one file whose lines name their source: read once for each, as if alone in it.

``docker compose logs``, ``kubectl logs --prefix``, stern and journald put a name before each line. For one
source all other lines are taken as empty, so that line numbers stay those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from speclog.formats.block import padded
from speclog.formats.wraps import marks_in, shows_server, source_of
from speclog.ingest.sidecars import find
from speclog.ingest.sources import read_once
from speclog.ingest.summary import IngestSummary

_FAR = 256  # a server's time begins before
_MOST = 64


class SeveralServers(Exception):
    """Lines of servers with these names stand in one file."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(", ".join(sorted(name or "no name" for name in names)))
        self.names = names


def servers_in(lines: Sequence[bytes]) -> list[str | None]:
    """The name of the server that each odd line (it does not begin ``[20``) shows; None if it shows none."""
    marks = marks_in(b"\n".join(lines))
    return [
        _source_of(raw) if marks and shows_server(raw, marks) and not raw.startswith(b"[20") else None
        for raw in lines
    ]


def _source_of(raw: bytes) -> str:
    """`source_of` a line; what stands before a server's time is looked up, for many lines share it."""
    at = raw.find(b"[20", 0, _FAR)
    if at < 0 or raw[at + 5 : at + 6] != b"-":
        return source_of(raw.decode("utf-8", "replace"))
    return _source_of_head(raw[: at + 3])


@lru_cache(maxsize=4096)
def _source_of_head(head: bytes) -> str:
    return source_of(head.decode("utf-8", "replace"))


def check(names: set[str]) -> None:
    """Raise `SeveralServers` when there is more than one server with a name."""
    if len(names - {""}) > 1:
        raise SeveralServers(names)


class Only:
    """The lines of one source in buffers of whole lines, all others emptied; ``seen``: whose there are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: set[str] = set()
        self._first = True

    def of(self, buffers: Iterator[tuple[bytearray, int]]) -> Iterator[tuple[bytearray, int]]:
        """The buffers with the lines of this source only."""
        for data, size in buffers:
            left = b"\n".join(map(self._left, bytes(data[:size]).split(b"\n")))
            yield bytearray(padded(left)), len(left)

    def _left(self, line: bytes) -> bytes:
        source = _source_of(line) if line else ""
        if source not in self.seen and shows_server(line):
            self.seen.add(source)
        marks, self._first = self._first and b"SYNTHETIC" in line, False  # of the whole file
        return line if source == self.name or marks else b""


def ingest_each(
    path: str, names: Sequence[str], read: Callable[[Only], list[IngestSummary]]
) -> list[IngestSummary]:
    """``read`` a file once for each server in it; names that are met on the way are read, too."""
    if read_once(path):
        detail = (
            f"lines of several servers ({', '.join(names)}) in a pipe: write them to a file and ingest that"
        )
        return [IngestSummary(path, "unusable", detail=detail)]
    todo, found = list(names), list[IngestSummary]()
    for name in todo:
        only = Only(name)
        summaries = read(only)
        todo += sorted(only.seen - {*todo})[: _MOST - len(todo)]
        found += [s for s in summaries if name or s.run_id]  # lines without a name need not be a server's
    if beside := find(path):
        note = f"{', '.join(map(str, beside))}: whose of {len(todo)} servers is not known: not read"
        found[0].notes.append(note)
    return found


def name_of(stem: str, source: str) -> str:
    """The name of the run of one source of a file."""
    return f"{stem}.{re.sub(r'[^A-Za-z0-9_.-]+', '-', source)}" if source else stem
