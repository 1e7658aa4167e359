"""Stores for report tests, made by the real ingest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from speclog.ingest.api import ingest_paths


def ingest(paths: Sequence[Path], target: str) -> None:
    """Read logs into a new store."""
    ingest_paths([str(path) for path in paths], store_target=target, lock_timeout=20.0)
