"""Fixtures of the launch tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from standin import HERE, PROFILE, SPEC, Place


@pytest.fixture
def place(tmp_path: Path, root: Path) -> Place:
    (tmp_path / "launch" / "overlays").mkdir(parents=True)
    (tmp_path / "launch" / "plain.toml").write_text(PROFILE)
    (tmp_path / "launch" / "spec.toml").write_text(SPEC)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("FAKE_", "SPECLOG_"))}
    env["PYTHONPATH"] = f"{HERE / 'fake'}{os.pathsep}{root}"
    env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    return Place(tmp_path, env)


@pytest.fixture
def profile_file(tmp_path: Path) -> Callable[..., str]:
    """Write a TOML profile and return its path."""

    def write(text: str, name: str = "p") -> str:
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return str(path)

    return write
