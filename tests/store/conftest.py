"""Stores to test against."""

from pathlib import Path

import pytest

from speclog.store import open_store


@pytest.fixture
def target(tmp_path: Path) -> str:
    """A new, empty store (one DuckDB file)."""
    name = str(tmp_path / "s.duckdb")
    with open_store(name, read_only=False):
        pass
    return name
