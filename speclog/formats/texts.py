"""Lines as times, ranks and texts: what many lines say alike is decoded, recognised and taken apart once.

Ranks, restarts and crash loops print the same text again and again at another time: it is looked up by its
bytes. The memories are bounded; what is not in them is read anew, to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from speclog.formats.engine import Understood, understand
from speclog.formats.prefix import NOTHING, STAMP, plain_prefix, split_prefix
from speclog.formats.spec import batch_heads

T = TypeVar("T")

_LONGEST = 512
_MOST = 8192


class Time(NamedTuple):
    """When a line was printed, as it says and by the log's clock."""

    printed: bytes
    ts: datetime | None


class Rank(NamedTuple):
    """Who printed a line, as it says and as read; ``style`` is the prefix's, '' without one."""

    printed: bytes
    rank: str
    style: str


@dataclass(slots=True, eq=False)
class Text:
    """What a line says behind time and rank: ``raw`` as printed, ``message`` without a level in front.

    ``found``: its kind and fields, None for one nobody declared. ``noise``: to be dropped. ``batch``: what
    only batch lines begin with stands in it.
    """

    raw: str
    message: str
    found: Understood | None
    noise: bool
    batch: bool
    blank: bool


@dataclass(slots=True)
class Lines:
    """Lines in columns."""

    numbers: list[int] = field(default_factory=list)
    times: list[Time] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)

    def add(self, other: Lines) -> None:
        """Append lines."""
        self.numbers += other.numbers
        self.times += other.times
        self.ranks += other.ranks
        self.texts += other.texts

    def only(self, places: Iterable[int]) -> Lines:
        """The lines at some places."""
        found = Lines()
        for i in places:
            found.numbers.append(self.numbers[i])
            found.times.append(self.times[i])
            found.ranks.append(self.ranks[i])
            found.texts.append(self.texts[i])
        return found

    def whole(self) -> list[tuple[int, str]]:
        """(number, line) of each."""
        parts = zip(self.times, self.ranks, self.texts, strict=True)
        return list(zip(self.numbers, (whole_line(*line) for line in parts), strict=True))


def whole_line(time: Time, rank: Rank, text: Text) -> str:
    """The line that these are."""
    return (time.printed + rank.printed).decode() + text.raw


_NO_TIME, _NO_RANK = Time(b"", None), Rank(b"", "", "")


class TextReader:
    """Reads lines and remembers texts (safe to share among threads)."""

    def __init__(self, is_noise: Callable[[str], bool]) -> None:
        self.is_noise = is_noise
        self._times: dict[bytes, Time] = {}
        self._ranks: dict[bytes, Rank] = {}
        self._texts: dict[bytes, Text] = {}  # behind time and rank
        self._bare: dict[bytes, Text] = {}  # lines without them

    def read(self, lines: Iterable[bytes]) -> tuple[list[Time], list[Rank], list[Text]]:
        """The times, ranks and texts of lines."""
        times: list[Time] = []
        ranks: list[Rank] = []
        texts: list[Text] = []
        known_time, known_rank = self._times.get, self._ranks.get
        known_text, known_bare = self._texts.get, self._bare.get
        for line in lines:
            if line[:2] == b"[2" and (end := line.find(b"] ", STAMP, _FAR) + 2) > 1:
                time, rank, text = (
                    known_time(line[:STAMP]),
                    known_rank(line[STAMP:end]),
                    known_text(line[end:]),
                )
                if time is None or rank is None or text is None:
                    time, rank, text = self._new(line, end, text)
            else:
                time, rank, text = _NO_TIME, _NO_RANK, known_bare(line)
                if text is None:
                    time, rank, text = self._new_bare(line)
            times.append(time)
            ranks.append(rank)
            texts.append(text)
        return times, ranks, texts

    def _new(self, line: bytes, end: int, text: Text | None) -> tuple[Time, Rank, Text]:
        head = line[:end]
        prefix = plain_prefix(head.decode()) if head.isascii() else None
        if prefix is None:
            return self._new_bare(line, keep=False)
        if line[STAMP : STAMP + 1] in _BEHIND_TIME:
            time = Time(line[:STAMP], prefix.ts)
            rank = Rank(line[STAMP:end], prefix.rank, prefix.style)
            _remember(self._times, line[:STAMP], time)
            _remember(self._ranks, line[STAMP:end], rank)
        else:  # a fraction of a second: nothing to share
            time, rank = Time(head, prefix.ts), Rank(b"", prefix.rank, prefix.style)
        if text is None:
            raw = line[end:].decode("utf-8", "replace")
            whole = head.decode() + raw
            text = self._text(whole, raw, split_prefix(whole)[1])
            _remember(self._texts, line[end:], text)
        return time, rank, text

    def _new_bare(self, line: bytes, *, keep: bool = True) -> tuple[Time, Rank, Text]:
        raw = line.decode("utf-8", "replace")
        prefix, message = split_prefix(raw)
        text = self._text(raw, raw, message)
        if prefix is not NOTHING:
            return Time(b"", prefix.ts), Rank(b"", prefix.rank, prefix.style), text
        if keep:
            _remember(self._bare, line, text)
        return _NO_TIME, _NO_RANK, text

    def _text(self, line: str, raw: str, message: str) -> Text:
        return Text(
            raw,
            message,
            found=understand(message),
            noise=self.is_noise(line),
            batch=batch_heads().search(line) is not None,
            blank=not message or message.isspace(),
        )


_FAR = 120  # a plain prefix ends before
_BEHIND_TIME = (b" ", b"]")


def _remember(known: dict[bytes, T], key: bytes, value: T) -> None:
    if len(key) < _LONGEST:
        if len(known) >= _MOST:
            known.clear()
        known[key] = value
