"""The command line: help, and what it must not import."""

import subprocess
import sys

from speclog import __version__
from speclog.cli import COMMANDS

HEAVY = ("polars", "duckdb", "altair", "numpy", "jinja2", "rich")


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "speclog", *args], capture_output=True, text=True, timeout=60
    )


def test_help_lists_every_command() -> None:
    out = run("--help").stdout
    assert all(f"  {name} " in out for name in COMMANDS)


def test_version() -> None:
    assert __version__ in run("--version").stdout


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from speclog.cli import cli; cli(['--help'], standalone_mode=False)"
    code += "; print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout
    loaded = out.splitlines()[-1]
    assert not [name for name in HEAVY if f"'{name}'" in loaded]


def test_unknown_command_is_a_usage_error() -> None:
    done = run("nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
