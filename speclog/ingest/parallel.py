"""A log's stretches in order, while two threads read and parse ahead."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from speclog.ingest.sources import BLOCK, STRETCH, Pool, blocks, open_bytes, stretches

if TYPE_CHECKING:
    from speclog.ingest.batches import Buffer, Parsed

_WORKERS = 2


@contextmanager
def parsed_chunks(path: str) -> Iterator[Iterator[Parsed]]:
    """The chunks of a log, read by two workers, in order. Raises OSError when it cannot be opened."""
    with open_bytes(path) as stream:
        pool = Pool(BLOCK)
        work = _Work(stretches(blocks(stream, pool), STRETCH), pool)
        first = work.do()
        if first is None or first[1].size < STRETCH:
            yield iter([] if first is None else [first[1]])
            return
        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="ingest") as threads:
            yield work.side_by_side(threads, first[1])


class _Work:
    """Stretches of a log, read one after the other and parsed side by side."""

    def __init__(self, stretches: Iterator[list[Buffer]], pool: Pool) -> None:
        from speclog.ingest.batches import ChunkParser

        self._parser, self._pool = ChunkParser(), pool
        self._stretches = enumerate(stretches)
        self._reading = Lock()

    def do(self) -> tuple[int, Parsed] | None:
        """Read and parse the next stretch: its number and what was in it; None at the end."""
        with self._reading:
            found = next(self._stretches, None)
        return found and (found[0], self._parser.parse(found[1], self._pool.give))

    def side_by_side(self, threads: ThreadPoolExecutor, first: Parsed) -> Iterator[Parsed]:
        """``first`` and all that follows, in order; never more than a few in memory."""
        waiting = [threads.submit(self.do) for _ in range(_WORKERS + 1)]
        done = {0: first}
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
