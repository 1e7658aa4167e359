"""A log's stretches in order, while two threads read and parse ahead."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from speclog.ingest.lines import blank_lines_at_end
from speclog.ingest.sources import BLOCK, STRETCH, Pool, blocks, open_bytes, read_once, stretches

if TYPE_CHECKING:
    from speclog.ingest.batches import Buffer, Parsed
    from speclog.ingest.named import Only

_WORKERS = 2
_LARGER = 4
"""How many times larger than `STRETCH` a stretch is where little of it is held when it is parsed."""

_SWITCH_S = 0.0005
"""How long a thread keeps Python's lock from others that wait (5 ms by default).

A worker wants it between any two operations on arrays; behind a thread that runs Python it would wait longer
for it than the operation takes.
"""


@contextmanager
def _sharing() -> Iterator[None]:
    """Python's lock given up sooner, and what is there by now not looked through for garbage again."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)


@contextmanager
def parsed_chunks(path: str, only: Only | None = None) -> Iterator[Iterator[Parsed]]:
    """The chunks of a log, read by two workers, in order. Raises OSError when it cannot be opened.

    ``only``: those lines of a file that several servers write to.
    """
    with open_bytes(path) as stream:
        pool = Pool(BLOCK)
        buffers = blocks(stream, pool)
        work = _Work(only.of(buffers) if only else buffers, pool)
        done: dict[int, Parsed] = {}
        if not _is_long(path):
            done |= filter(None, [work.do()])
            if done and done[0].size < STRETCH:  # short, or its lines are: nearly always the first
                done |= filter(None, [work.do()])
            if not done or (done[0].size < STRETCH and len(done) == 1):
                yield iter(done.values())
                return
        with _sharing(), ThreadPoolExecutor(_WORKERS, thread_name_prefix="ingest") as threads:
            yield work.side_by_side(threads, done)


def _is_long(path: str) -> bool:
    """Whether a file is worth threads at once: they read while the main thread imports what it needs."""
    return not read_once(path) and Path(path).stat().st_size >= _LONG


_LONG = 4 * STRETCH


class _Work:
    """Stretches of a log, read one after the other and parsed side by side."""

    def __init__(self, buffers: Iterator[Buffer], pool: Pool) -> None:
        from speclog.ingest.batches import ChunkParser

        self._parser, self._pool = ChunkParser(), pool
        self._size = STRETCH
        self._stretches = enumerate(stretches(buffers, lambda: self._size))
        self._reading = Lock()
        self._blanks = 0

    def do(self) -> tuple[int, Parsed] | None:
        """Read and parse the next stretch: its number and what was in it; None at the end."""
        with self._reading:
            found, blanks = next(self._stretches, None), self._blanks
            for buffer in found[1] if found else ():
                self._blanks = blank_lines_at_end(*buffer, self._blanks)
        if found is None:
            return None
        parsed = self._parser.parse(found[1], self._pool.give, blanks)
        # What is done once a stretch adds up where little of it is kept.
        held = sum(len(block.data) for block in parsed.kept)
        self._size = STRETCH * (_LARGER if 2 * _LARGER * held < parsed.size else 1)
        return found[0], parsed

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
                following += 1
            if waiting and (found := waiting.pop(0).result()) is not None:
                done[found[0]] = found[1]
                waiting.append(threads.submit(self.do))
