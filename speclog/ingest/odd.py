"""A block's lines that do not begin as a server's do, cleaned; and the names of servers that show in them.

What was met before is looked up; few new lines are cleaned one by one, many as columns, to the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from speclog.formats.block import Block, Places, block_of, constant, occurrences, rows_of
from speclog.formats.known import LONGEST, Keys, Memory
from speclog.ingest.cleaning import bar_literals, cleaned, cleaned_columns
from speclog.ingest.named import servers_in

_FEW = 4096
_SAMPLE = 256
_HEAD = constant(b"[20")
_STAYS, _GOES, _CHANGES = range(3)


@dataclass(frozen=True, slots=True)
class Odd:
    """What becomes of a line: itself (None) or none, one or several lines; the server it shows, if any."""

    parts: list[str] | None
    server: str | None

    @property
    def fate(self) -> int:
        """Whether the line stays, goes or changes."""
        return _STAYS if self.parts is None else _CHANGES if self.parts else _GOES


class Cleaner:
    """Cleans blocks and remembers lines (safe to share among threads)."""

    def __init__(self) -> None:
        self._memory: Memory[Odd] = Memory()

    def clean(self, block: Block) -> tuple[Block, set[str]]:
        """The block with its odd lines cleaned, itself if it has none; the servers that show in it.

        Lines must follow each other. A server is known by its name, '' for lines without one.
        """
        rows, some_begin_well = _odd_rows(block)
        servers = {""} if some_begin_well or not len(rows) else set[str]()
        if not len(rows):
            return block, servers
        codes, found = self._look_up(block, rows)
        if codes is None:
            lines = block.slices(rows)
            servers.update(name for name in servers_in(lines) if name is not None)
            return _cleaned_block(block, rows, lines), servers
        servers.update(odd.server for odd in found if odd.server is not None)
        fates = np.array([odd.fate for odd in found])[codes]
        stays = np.ones(block.height, np.bool_)
        stays[rows[fates != _STAYS]] = False
        changed = np.flatnonzero(fates == _CHANGES)
        if not len(changed):
            return block.only(stays), servers
        parts = zip(rows[changed].tolist(), codes[changed].tolist(), strict=True)
        pairs = [(row, text) for row, code in parts for text in found[code].parts or ()]
        return _replaced(block, np.flatnonzero(~stays), pairs), servers

    def _look_up(self, block: Block, rows: Places) -> tuple[Places | None, list[Odd]]:
        """Which of the different ``Odd`` each line is; None where too many lines are new."""
        shelf = self._memory.shelf

        def known(some: Places) -> Places:
            starts, ends = block.starts[some], block.ends[some]
            codes = np.full(len(some), -1)
            short = np.flatnonzero(ends - starts <= LONGEST)
            keys = Keys.of(block.data, starts[short], ends[short], np.zeros(len(short), np.int64))
            codes[short] = shelf.find(keys)
            return codes

        if len(rows) > _FEW and np.mean(known(rows[:: len(rows) // _SAMPLE]) < 0) > 0.5:
            codes = np.full(len(rows), -1)
        else:
            codes = known(rows)
        used, places = np.unique(codes, return_inverse=True)
        found = [shelf.values[i] for i in used.tolist() if i >= 0]
        codes = places - (len(used) - len(found))
        new = np.flatnonzero(codes < 0)
        lines = block.slices(rows[new])
        fresh = dict.fromkeys(lines, 0)
        are_bars = _are_bars(list(fresh))
        if len(fresh) - sum(are_bars) > _FEW:
            return None, []
        for raw, bar, server in zip(fresh, are_bars, servers_in(list(fresh)), strict=True):
            fresh[raw] = len(found)
            found.append(Odd([] if bar else _cleaned_bytes(raw), server))
        codes[new] = [fresh[raw] for raw in lines]
        self._memory.met(((0, raw), found[fresh[raw]]) for raw in lines)
        return codes, found


def _cleaned_block(block: Block, rows: Places, lines: Sequence[bytes]) -> Block:
    """The block with the lines ``rows`` cleaned, as columns."""
    bars = np.array(_are_bars(lines), np.bool_)
    left = rows[~bars]
    texts = [raw.decode("utf-8", "replace") for raw, bar in zip(lines, bars.tolist(), strict=True) if not bar]
    made = cleaned_columns(left, texts)
    if made.height != len(left) or not np.array_equal(made["row"].to_numpy(), left):
        return _replaced(block, rows, list(made.iter_rows()))
    new = made["text"].to_list()  # one for one, and mostly the same
    places = [i for i, text in enumerate(texts) if new[i] != text or "\ufffd" in text]
    changed = np.array(places, np.int64)
    gone = np.sort(np.concatenate([rows[bars], left[changed]]))
    return _replaced(block, gone, [(int(left[i]), new[i]) for i in places]) if len(gone) else block


def _cleaned_bytes(raw: bytes) -> list[str] | None:
    """`cleaned` of a line; None where that is the line itself."""
    text = raw.decode("utf-8", "replace")
    found = cleaned(text)
    return None if len(found) == 1 and found[0] == text and "\ufffd" not in text else found


def _are_bars(lines: Sequence[bytes]) -> list[bool]:
    """Which lines are one progress bar and nothing else: as `cleaned` would find, but undecoded."""
    together = b"\n".join(lines)
    bars = tuple(bar for bar in (literal.encode() for literal in bar_literals()) if bar in together)
    if not bars:
        return [False] * len(lines)
    return [_holds_one_of(bars, raw) and not _may_hide(raw) for raw in lines]


def _holds_one_of(bars: tuple[bytes, ...], raw: bytes) -> bool:
    for bar in bars:  # noqa: SIM110 - a generator takes three times as long
        if bar in raw:
            return True
    return False


def _may_hide(raw: bytes) -> bool:
    """Whether a bar may not be all there is: `_MAYBE_HIDDEN`, or another line behind a carriage return."""
    return raw.find(b"\r", 1) >= 0 or b"[20" in raw or len(raw.translate(None, _BEFORE_HIDDEN)) < len(raw)


_BEFORE_HIDDEN = b'"{\x1b\xef'  # a byte order mark begins with EF


def _odd_rows(block: Block) -> tuple[Places, bool]:
    """Lines that do not begin ``[20``, or hold a carriage return, a colour, a NUL or what is not UTF-8.

    And whether any line begins ``[20``.
    """
    if not block.height:
        return block.starts, False
    odd = ~_HEAD.stands(rows_of(block.data, block.starts, 1))
    some = not odd.all()
    size = int(block.ends[-1])
    every = np.frombuffer(block.data, np.uint8, size)
    for byte in b"\r\x1b\0":
        odd[np.searchsorted(block.ends, occurrences(block.data, byte, size))] = True
    if size and every.max() >= 128 and not _is_utf8(block.data[:size]):
        odd[np.searchsorted(block.ends, np.flatnonzero(every >= 128))] = True
    return np.flatnonzero(odd), some


def _is_utf8(data: bytes | bytearray) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _replaced(block: Block, rows: Places, pairs: Sequence[tuple[int, str]]) -> Block:
    """The block with the lines ``rows`` replaced by those of ``pairs`` (row, text): none, one or several."""
    parts: list[bytes] = []
    order: list[int] = []
    following = iter([*pairs, (-1, "")])
    row, text = next(following)
    start = 0
    for odd in [*rows.tolist(), block.height]:
        if odd > start:
            parts.append(bytes(block.data[block.starts[start] : block.ends[odd - 1]]))
            order.extend(range(start, odd))
        while row == odd:
            parts.append(text.encode("utf-8", "replace"))
            order.append(odd)
            row, text = next(following)
        start = odd + 1
    numbers = block.numbers[np.array(order, np.int64)]
    return block_of(b"".join(part + b"\n" for part in parts), numbers)
