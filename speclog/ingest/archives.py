"""Compressed logs as streams of bytes, bounded: a file that unpacks out of all proportion is refused.

Server logs shrink 4 to 50 times, a decompression bomb a thousand times and more. Whatever a file unpacks to
is read in pieces, so that its size costs time but no memory.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

FREE_BYTES = 12 << 20
"""What any compressed file may unpack to."""

MAX_RATIO = 200
"""Beyond that, how many times the size of what has been read of it so far."""

_ZST_MAGIC, _ZST_BLOCK = b"\x28\xb5\x2f\xfd", 128 << 10
_RLE, _COMPRESSED = 1, 2


def open_gz(path: str) -> io.RawIOBase:
    """A .gz log unpacked. Raises OSError, also while reading: damaged, cut short, or a bomb."""
    packed = Path(path).open("rb")  # noqa: SIM115 - the stream closes it
    return _Bounded(gzip.GzipFile(fileobj=packed), packed)


def open_zst(path: str) -> io.RawIOBase:
    """A .zst log unpacked, by the standard library (3.14), the package ``zstandard``, or polars (UTF-8 only).

    Raises OSError, also while reading: damaged, cut short, or a bomb.
    """
    for module in ("compression.zstd", "zstandard"):
        with suppress(ImportError):
            decoder = import_module(module)
            packed = Path(path).open("rb")  # noqa: SIM115 - the stream closes it
            return _Bounded(decoder.open(packed, "rb"), packed)
    _refuse_zst_bomb(path)  # polars takes a line whole, however long it is
    return _Bounded(_PolarsStream(path), None)


class _Bounded(io.RawIOBase):
    """What a decoder gives, as long as it is in proportion to what it has read of the ``packed`` file."""

    def __init__(self, stream: Any, packed: IO[bytes] | None) -> None:
        super().__init__()
        self._stream, self._packed = stream, packed
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer as far as there is something. Raises OSError when the file cannot be used."""
        try:
            data = self._stream.read(len(buffer))
        except EOFError:
            raise OSError("compressed file that ends too early") from None
        except OSError:
            raise
        except Exception as error:  # zlib.error, ZstdError: what a decoder says of damaged data
            if not isinstance(error, zlib.error) and "Zstd" not in type(error).__name__:
                raise
            raise OSError(f"compressed file that is damaged ({error})") from None
        self._unpacked += len(data)
        if self._packed is not None:
            _check(self._packed.tell(), self._unpacked)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        if self._packed is not None:
            self._packed.close()
        super().close()


def _check(packed: int, unpacked: int, or_else: str = "") -> None:
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise OSError(
            f"unpacks to more than {MAX_RATIO} times its size ({unpacked >> 20} MiB and more from "
            f"{packed >> 10} KiB): refused as a decompression bomb; if it is a log, unpack it yourself"
            f"{or_else} and pipe it into `speclog ingest -`"
        )


class _PolarsStream:
    """The lines of a compressed file as a stream of bytes, by polars."""

    def __init__(self, path: str) -> None:
        import polars as pl

        if not Path(path).is_file():
            raise FileNotFoundError(2, "No such file or directory", path)
        lines = pl.scan_lines(path, name="text")
        self._batches: Iterator[pl.DataFrame] = iter(lines.collect_batches(chunk_size=10_000))
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end. Raises OSError when the file is damaged."""
        while not self._rest:
            batch = self._next()
            if batch is None:
                return b""
            if batch.height:
                self._rest = ("\n".join(batch["text"].to_list()) + "\n").encode()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _next(self) -> pl.DataFrame | None:
        import polars as pl

        try:
            return next(self._batches, None)
        except pl.exceptions.PolarsError as error:
            raise OSError(
                f"damaged, or not UTF-8 ({str(error)[:80]}); try: zstd -dc FILE | speclog ingest -"
            ) from None

    def close(self) -> None:
        self._batches = iter(())


def _refuse_zst_bomb(path: str) -> None:
    """Raise OSError for what can be a bomb by its block headers (RFC 8878, 3.1.1): nothing is unpacked.

    A compressed block gives up to 128 KiB, and only unpacking tells how much. So a file of very many very
    small blocks is refused too.
    """
    unpacked = 0
    with Path(path).open("rb") as stream:
        for size in _zst_blocks(stream):
            unpacked += size
            _check(stream.tell(), unpacked, " or install the package zstandard, which can tell,")


def _zst_blocks(stream: IO[bytes]) -> Iterator[int]:
    """The most that each block of a .zst file can unpack to; ends where the file is not as it should be."""
    while len(head := stream.read(5)) == 5:
        if head[1:4] == b"\x2a\x4d\x18":  # a skippable frame: its length, of which one byte is read
            length = head[4:] + stream.read(3)
            stream.seek(int.from_bytes(length, "little"), io.SEEK_CUR)
            continue
        if not head.startswith(_ZST_MAGIC):
            return
        about = head[4]
        single, checksum = about >> 5 & 1, about >> 2 & 1
        size_bytes = (single, 2, 4, 8)[about >> 6]
        stream.seek((1 - single) + (0, 1, 2, 4)[about & 3] + size_bytes, io.SEEK_CUR)
        yield from _frame_blocks(stream)
        stream.seek(4 * checksum, io.SEEK_CUR)


def _frame_blocks(stream: IO[bytes]) -> Iterator[int]:
    last = False
    while not last and len(head := stream.read(3)) == 3:
        number = int.from_bytes(head, "little")
        last, kind, size = bool(number & 1), number >> 1 & 3, number >> 3
        yield size if kind < _COMPRESSED else _ZST_BLOCK
        stream.seek(1 if kind == _RLE else size, io.SEEK_CUR)
