"""Stores filled with made-up runs."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from speclog.store import Store, open_store


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the schema and nothing in it: installing it once is enough."""
    path = tmp_path_factory.mktemp("store") / "empty.duckdb"
    with open_store(str(path), read_only=False):
        pass
    return path


@pytest.fixture
def new_store(tmp_path: Path, empty_store: Path) -> Iterator[Callable[..., Store]]:
    """Call it with frames of runs: an open store that holds them."""
    with ExitStack() as stack:

        def make(*runs: dict[str, pl.DataFrame]) -> Store:
            path = tmp_path / "s.duckdb"
            shutil.copy(empty_store, path)
            store = stack.enter_context(open_store(str(path), read_only=False))
            for run in runs:
                store.append(run)
            return store

        yield make
