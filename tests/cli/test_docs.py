"""The written command line is the real one, and every page the README points to is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from speclog.cli import COMMANDS


@pytest.mark.slow
def test_cli_page_is_current(root: Path) -> None:
    script = root / "docs" / "_make" / "cli.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_every_command_is_documented(root: Path) -> None:
    text = (root / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## speclog {name}\n" not in text] == []


@pytest.mark.parametrize("page", ["README.md", "examples/logs/README.md", "docs/story.md"])
def test_links_lead_somewhere(root: Path, page: str) -> None:
    path = root / page
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []
