"""Compressed logs as streams of bytes, bounded: a file that unpacks out of all proportion is refused.

Server logs shrink 4 to 50 times, a decompression bomb a thousand times and more. Whatever a file unpacks to
is read in pieces, so that its size costs time but no memory.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import IO, Any

PACKED = (".gz", ".zst", ".zstd")
"""How the names of compressed logs end."""

FREE_BYTES = 12 << 20
"""What any compressed file may unpack to."""

MAX_RATIO = 200
"""Beyond that, how many times the size of what has been read of it so far."""

_PIECE = 4096
"""Packed bytes given to the decoder at a time: a bomb's first piece unpacks to no more than 128 MiB."""


def open_gz(path: str) -> io.RawIOBase:
    """A .gz log unpacked. Raises OSError, also while reading: damaged, cut short, or a bomb."""
    packed = Path(path).open("rb")  # noqa: SIM115 - the stream closes it
    return _Bounded(gzip.GzipFile(fileobj=packed), packed)


def open_zst(path: str) -> io.RawIOBase:
    """A .zst log unpacked, frame by frame. Raises OSError as `open_gz`."""
    packed = Path(path).open("rb")  # noqa: SIM115 - the stream closes it
    return _Bounded(_Frames(packed), packed)


class _Frames:
    """The frames of a .zst file as one stream: appending leaves several, and some are to be skipped."""

    def __init__(self, packed: IO[bytes]) -> None:
        import zstandard

        self._packed, self._decoder = packed, zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._unread = self._ready = b""

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end. Raises EOFError where the last frame is not whole."""
        while not self._ready:
            self._unread = self._unread or self._packed.read(_PIECE)
            ended = self._frame is None or self._frame.eof
            if not self._unread:
                if ended:
                    return b""
                raise EOFError
            if ended:
                self._frame = self._decoder.decompressobj()
            self._ready = self._frame.decompress(self._unread)
            self._unread = self._frame.unused_data if self._frame.eof else b""
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def close(self) -> None:
        """Forget what was not read."""
        self._ready = self._unread = b""


class _Bounded(io.RawIOBase):
    """What a decoder gives, as long as it is in proportion to what it has read of the ``packed`` file."""

    def __init__(self, stream: Any, packed: IO[bytes]) -> None:
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
        _check(self._packed.tell(), self._unpacked)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        self._packed.close()
        super().close()


def _check(packed: int, unpacked: int) -> None:
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise OSError(
            f"unpacks to more than {MAX_RATIO} times its size ({unpacked >> 20} MiB and more from "
            f"{packed >> 10} KiB): refused as a decompression bomb; if it is a log, unpack it yourself and "
            "pipe it into `speclog ingest -`"
        )
