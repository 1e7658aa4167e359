"""A stretch of a log as typed batch rows and remaining lines. Pure, so stretches can be read side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from speclog.formats.block import PAD, Block, Places, block_of
from speclog.formats.columns import Batches, BatchReader, kind_in
from speclog.formats.texts import Lines, TextReader, joined
from speclog.ingest.lines import Sieve, Sifted, blank_lines_at_end
from speclog.ingest.odd import Cleaner
from speclog.ingest.sources import SHORT_LINE, is_gap
from speclog.ingest.stretch import Buffer

if TYPE_CHECKING:
    import polars as pl

_PILE = 1 << 20
_TAIL = 8192


@dataclass
class Parsed:
    """A stretch read by itself. Line numbers count from 0 at its first line.

    ``typed``: batch rows by table. ``others``: all other kept lines. ``kept``: every kept
    line. ``places``: numbers of kept lines and the bytes they begin at. ``buffers``: those that kept lines
    still lie in. ``servers``: the names of those that show in it.
    """

    size: int = 0
    count: int = 0
    typed: dict[str, pl.DataFrame] = field(default_factory=dict)
    others: Lines = field(default_factory=lambda: joined([]))
    kept: list[Block] = field(default_factory=list)
    places: list[tuple[Places, Places]] = field(default_factory=list)
    buffers: list[bytearray] = field(default_factory=list)
    tail_time: datetime | None = None
    binary: bool = False
    servers: set[str] = field(default_factory=set)

    def place_of(self, number: int) -> int:
        """The byte that a kept line begins at; that of the next kept line if it was not kept."""
        for numbers, places in self.places:
            if len(numbers) and numbers[-1] >= number:
                return int(places[np.searchsorted(numbers, number)])
        return self.size

    def text_of(self, number: int, table: str) -> str:
        """The text of a batch line of a table; the first of them where a line of the file holds several."""
        for block in self.kept:
            first, behind = np.searchsorted(block.numbers, [number, number + 1]).tolist()
            for place in range(first, behind):
                text = block.text(place)
                kind = kind_in(text)
                if kind is not None and kind.table == table:
                    return text
        return ""


@dataclass
class ChunkParser:
    """Reads stretches; what it learns of a log serves the next (safe to share among threads)."""

    sieve: Sieve = field(default_factory=Sieve)
    cleaner: Cleaner = field(default_factory=Cleaner)
    reader: BatchReader = field(default_factory=BatchReader)

    def __post_init__(self) -> None:
        self._texts = TextReader(self.sieve.is_noise)

    def parse(
        self,
        buffers: Iterable[Buffer],
        release: Callable[[bytearray], object] = id,
        blanks: int = 0,
        enough: int | None = None,
    ) -> Parsed:
        """Read a stretch, given as buffers of whole lines; ``release`` takes those no more needed.

        ``blanks``: how many blank lines stand right before it. ``enough``: bytes in memory after which no
        further buffer is read.
        """
        found, batches = Parsed(), Batches()
        others: list[Lines] = []
        pile: list[Sifted] = []
        tails: list[bytes] = []
        held = 0
        for data, size in buffers:
            if size == len(data) - PAD and is_gap(data, size):  # it belongs to the line that follows
                found.size += size
                found.binary = True
                release(data)
                continue
            sifted = self.sieve.sift(data, size, found.count, blanks)
            blanks = blank_lines_at_end(data, size, blanks)
            if sifted.block is not None or sum(len(part.data) for part in pile) > _PILE:
                others += self._read(_piled(pile), found, batches)
                pile.clear()
            if sifted.block is not None:
                others += self._read(sifted.block, found, batches)
            else:
                pile.append(sifted)
            found.places.append((sifted.numbers, sifted.places + found.size))
            tails.append(bytes(data[max(size - _TAIL, 0) : size]))
            found.binary |= data.find(0, 0, min(size, 65536)) >= 0
            found.size += size
            found.count += sifted.count
            if found.kept and found.kept[-1].data is data:
                found.buffers.append(data)
            else:
                release(data)
            kept = size if sifted.block is not None else len(sifted.data)
            held += max(kept, SHORT_LINE * len(sifted.numbers))
            if enough is not None and held >= enough:
                break
        others += self._read(_piled(pile), found, batches)
        found.others = joined(others)
        found.typed = batches.frames()
        found.tail_time = next(filter(None, map(last_time, reversed(tails))), None)
        return found

    def _read(self, block: Block, found: Parsed, into: Batches) -> Iterator[Lines]:
        """Read lines; those that are neither batch lines nor noise, if there are any."""
        if not block.height:
            return
        block, servers = self.cleaner.clean(block)
        found.servers |= servers
        rest, others = self.reader.read(block, into, self._texts)
        noise = others.which(lambda said: said.text.noise)
        if noise.any():
            left = np.ones(block.height, np.bool_)
            left[rest[noise]] = False
            block = block.only(left)
            others = others.only(~noise)
        found.kept.append(block)
        yield others


def _piled(pile: list[Sifted]) -> Block:
    if not pile:
        return block_of(b"", np.empty(0, np.int64))
    return block_of(b"".join(part.data for part in pile), np.concatenate([part.numbers for part in pile]))


_STAMP = re.compile(r"(?:^|[\n\r ])\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def last_time(data: bytes) -> datetime | None:
    """The time of the last line that has one; None for one that only looks like a time (31 February)."""
    stamps = _STAMP.findall(data.decode("utf-8", "replace"))
    try:
        return datetime.fromisoformat(stamps[-1]) if stamps else None
    except ValueError:
        return None
