"""A store in a temporary place, and small logs in SGLang's shapes."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.store import open_store

Rows = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with its schema and nothing in it."""
    path = tmp_path_factory.mktemp("empty") / "store.duckdb"
    with open_store(str(path), read_only=False):
        return path


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> str:
    """The path of an empty store of one's own."""
    return str(shutil.copy(empty_store, tmp_path / "store.duckdb"))


@pytest.fixture
def ingest(tmp_path: Path, store: str) -> Callable[..., list[IngestSummary]]:
    """Write text (or bytes) to a log in the temporary directory and ingest it."""

    def run(content: str | bytes, name: str = "a.log") -> list[IngestSummary]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return ingest_paths([path], store_target=store)

    return run


@pytest.fixture
def rows(store: str) -> Rows:
    """Query the store."""

    def query(sql: str, *params: object) -> list[tuple[Any, ...]]:
        with open_store(store) as opened:
            return opened.rows(sql, list(params))

    return query
