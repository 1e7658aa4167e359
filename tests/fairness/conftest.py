"""Stores with made-up runs whose record is complete, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from speclog.store import Store, open_store
from tests.fairness.build import Made, append_all


@pytest.fixture
def store_of(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Call it with runs: an open store that holds them."""
    with ExitStack() as stack:
        count = 0

        def make(*runs: Made) -> Store:
            nonlocal count
            count += 1
            store = stack.enter_context(open_store(str(tmp_path / f"s{count}.duckdb"), read_only=False))
            append_all(store, runs)
            return store

        yield make
