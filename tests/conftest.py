"""Fixtures shared by all tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Measured facts and real logs beside the checkout; without them the test is skipped."""
    if not SHARED.is_dir():
        pytest.skip("../shared (measured facts and real logs) is not here")
    return SHARED


@pytest.fixture(scope="session")
def example_logs(root: Path) -> Path:
    """The logs that ship with speclog."""
    return root / "examples" / "logs"
