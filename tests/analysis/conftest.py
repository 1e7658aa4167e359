"""Stores filled with made-up runs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from speclog.store import Store, open_store


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Call it with frames of runs: an open store that holds them."""
    with ExitStack() as stack:

        def make(*runs: dict[str, pl.DataFrame]) -> Store:
            store = stack.enter_context(open_store(str(tmp_path / "s.duckdb"), read_only=False))
            for run in runs:
                store.append(run)
            return store

        yield make
