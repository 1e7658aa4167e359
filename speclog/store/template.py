"""New file stores as copies of a template: making the schema's views takes most of a second of CPU.

The template is a store without rows, made by this speclog and this DuckDB, gzipped in the user's cache
directory (``$XDG_CACHE_HOME`` or ``~/.cache``, below it ``speclog/``). Without a usable cache directory each
store is made from scratch: a template is never needed, and nothing about it is an error.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from speclog import __version__
from speclog.errors import StoreError
from speclog.resources import cache_directory

KEPT = 8
"""Templates of other versions that stay in the cache."""


def provide(path: Path, digest: str, build: Callable[[Path], None]) -> bool:
    """Put an empty store at ``path`` unless something is there; return whether this call did.

    ``digest`` names the schema, ``build`` makes a store of it at a path that is free. The store appears
    whole, and two processes that want the same one make it once. False also when it cannot be made so.
    """
    log = path.with_name(path.name + ".wal")  # of a store that was deleted: the engine would replay it
    if path.exists() or log.exists() or not path.parent.is_dir():
        return False
    with contextlib.suppress(OSError, StoreError):
        data = _from_cache(digest, build)
        return data is not None and _place(path, data)
    return False


def _place(path: Path, data: bytes) -> bool:
    """Write beside ``path`` and link into place: never over a store that another process makes meanwhile."""
    partial = path.with_name(f".{path.name}.new-{os.getpid()}")
    try:
        with partial.open("xb") as stream:
            stream.write(data)
        path.hardlink_to(partial)
    finally:
        partial.unlink(missing_ok=True)
    return True


def _from_cache(digest: str, build: Callable[[Path], None]) -> bytes | None:
    import duckdb

    folder = cache_directory()
    if folder is None:
        return None
    key = hashlib.sha256(f"{digest} {__version__} {duckdb.__version__}".encode()).hexdigest()[:20]
    cached = folder / f"store-{key}.duckdb.gz"
    with contextlib.suppress(OSError, EOFError, zlib.error):  # gzip checks length and content
        owned = cached.stat().st_uid == os.geteuid()
        if owned and (data := gzip.decompress(cached.read_bytes())):  # an empty file is valid gzip
            return data
    return _make(cached, build)


def _make(cached: Path, build: Callable[[Path], None]) -> bytes:
    cached.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cached.parent, prefix="new-") as room:
        made = Path(room) / "store.duckdb"
        build(made)
        data = made.read_bytes()
        packed = Path(room) / "packed"
        packed.write_bytes(gzip.compress(data, 6, mtime=0))
        packed.replace(cached)
    _forget_old(cached.parent)
    return data


def _forget_old(folder: Path) -> None:
    found = sorted(folder.glob("store-*.duckdb.gz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[KEPT:]:
        path.unlink(missing_ok=True)
