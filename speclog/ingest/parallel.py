"""A log's stretches in order, while two threads read and parse ahead."""

from __future__ import annotations

import gc
import io
import os
import stat
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from speclog.ingest.sources import BLOCK, LONGEST_LINE, STRETCH, Pool, blocks, open_bytes
from speclog.ingest.stretch import FileStretches, StreamStretches
from speclog.threads import taking_turns

if TYPE_CHECKING:
    from speclog.ingest.batches import Parsed
    from speclog.ingest.named import Only

_WORKERS = 2
_LARGER = 8
"""How many times larger than `STRETCH` those of a file are whose first one leaves little to be held."""
_LITTLE = 8
"""Little is one byte in so many."""


@contextmanager
def _sharing() -> Iterator[None]:
    """Threads take turns often, and what is there by now is not looked through for garbage again."""
    gc.freeze()
    try:
        with taking_turns():
            yield
    finally:
        gc.unfreeze()


@contextmanager
def parsed_chunks(path: str, only: Only | None = None) -> Iterator[Iterator[Parsed]]:
    """The chunks of a log, read by two workers, in order. Raises OSError when it cannot be opened.

    ``only``: those lines of a file that several servers write to.
    """
    with open_bytes(path) as stream:
        pool = Pool(BLOCK)
        work = _Work(pool)
        done: dict[int, Parsed] = {}
        if only is None and isinstance(stream, io.FileIO) and _is_long(stream):
            work.source = FileStretches(stream, pool, work.size_at)
        else:
            buffers = blocks(stream, pool)
            work.source = StreamStretches(only.of(buffers) if only else buffers, STRETCH)
            done |= filter(None, [work.do()])
            if done and done[0].size < STRETCH:  # short, or its lines are: nearly always the first
                done |= filter(None, [work.do()])
            if not done or (done[0].size < STRETCH and len(done) == 1):
                yield iter(done.values())
                return
        with _sharing(), ThreadPoolExecutor(_WORKERS, thread_name_prefix="ingest") as threads:
            yield work.side_by_side(threads, done)


def _is_long(file: io.FileIO) -> bool:
    """Whether a file is worth threads at once: they read while the main thread imports what it needs."""
    found = os.fstat(file.fileno())
    return stat.S_ISREG(found.st_mode) and found.st_size >= _LONG


_LONG = 4 * STRETCH


class _Work:
    """Stretches of a log, read one after the other and parsed side by side."""

    source: FileStretches | StreamStretches

    def __init__(self, pool: Pool) -> None:
        from speclog.ingest.batches import ChunkParser

        self._parser, self._pool = ChunkParser(), pool
        self._size = STRETCH

    def size_at(self, start: int) -> int:
        """How long a stretch from a byte on is to be: the same whenever the file is read.

        The fourth is taken when the first was parsed, and that one decides. Where a stretch ends must not
        depend on which worker was the faster: the first lines of a rank, say, are known by stretches.
        """
        return STRETCH if start <= _WORKERS * STRETCH + LONGEST_LINE else self._size

    def do(self) -> tuple[int, Parsed] | None:
        """Read and parse the next stretch: the byte it begins at and what was in it; None at the end."""
        stretch = self.source.take()
        if stretch is None:
            return None
        enough = None if stretch.stop is None else STRETCH
        parsed = self._parser.parse(stretch.buffers, self._pool.give, stretch.blanks, enough)
        self.source.give_back(stretch, parsed.size)
        # What is done once a stretch adds up where little of it is kept.
        if not stretch.start and _LITTLE * sum(len(block.data) for block in parsed.kept) < parsed.size:
            self._size = STRETCH * _LARGER
        return stretch.start, parsed

    def side_by_side(self, threads: ThreadPoolExecutor, done: dict[int, Parsed]) -> Iterator[Parsed]:
        """What is ``done`` and all that follows, in order; never more than a few in memory."""
        return self._in_order(threads, done, [threads.submit(self.do) for _ in range(_WORKERS + 1)])

    def _in_order(
        self,
        threads: ThreadPoolExecutor,
        done: dict[int, Parsed],
        waiting: list[Future[tuple[int, Parsed] | None]],
    ) -> Iterator[Parsed]:
        following = 0
        while waiting or done:
            while following in done:
                parsed = done.pop(following)
                yield parsed
                for buffer in parsed.buffers:
                    self._pool.give(buffer)
                following += parsed.size
            if waiting and (found := waiting.pop(0).result()) is not None:
                done[found[0]] = found[1]
                waiting.append(threads.submit(self.do))
            elif not waiting and done and following not in done:
                raise OSError("the file became shorter while it was read")
