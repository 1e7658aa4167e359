"""Whatever lies in a store, every command that reads it answers or refuses in a line.

SPECLOG_HOSTILE_STORES says how many stores of damaged logs are asked (each some ten seconds).
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from mutants import damaged

from speclog.cli import cli
from speclog.errors import SpeclogError
from speclog.queries import all_saved
from speclog.store import open_store

pytestmark = pytest.mark.slow
STORES = int(os.environ.get("SPECLOG_HOSTILE_STORES", "2"))
LOGS_A_STORE = 10


def ask(target: str, *args: str) -> None:
    """One command; anything but an answer or an error with a line of its own is raised."""
    outcome = CliRunner().invoke(cli, ["--store", target, *args])
    error = outcome.exception
    assert outcome.exit_code != click.UsageError.exit_code or isinstance(error, SpeclogError), outcome.output
    if error is not None and not isinstance(error, SystemExit | SpeclogError | click.ClickException):
        raise AssertionError(f"speclog {' '.join(args)}") from error


@pytest.mark.parametrize("number", range(STORES))
def test_no_command_fails_on_what_it_finds(number: int, tmp_path: Path) -> None:
    logs, target, pages = (
        tmp_path / "logs",
        str(tmp_path / "s.duckdb"),
        ["--out-dir", str(tmp_path / "pages")],
    )
    logs.mkdir()
    for place in range(LOGS_A_STORE):
        (logs / f"log-{place}.log").write_bytes(damaged(1000 * number + place))
    ask(target, "ingest", str(logs))
    with open_store(target) as store:
        arms: dict[bool | None, list[str]] = {True: [], False: [], None: []}
        for run_id, speculative in store.rows("SELECT run_id, speculative FROM run ORDER BY run_id"):
            arms[speculative].append(run_id)
    assert arms[True] or arms[False]
    for how in ([], ["--format", "md"], ["--json"]):
        ask(target, "report", "--vs", "baseline", *how, *pages)
    ask(target, "report", "--index", *pages)
    ask(target, "check", "--vs", "baseline", "--junit", str(tmp_path / "checked.xml"))
    for command in (["check", "--json"], ["plan", "--vs", "baseline"], ["runs"], ["runs", "--json"]):
        ask(target, *command)
    for query in all_saved():
        ask(target, "query", query.name)
    dice = random.Random(number)
    for run_id in dice.sample(arms[True], min(3, len(arms[True]))):
        for other in dice.sample(arms[False], min(2, len(arms[False]))):
            ask(target, "report", "--vs", other, "--run", run_id, "--cross-engine", *pages)
            for what in ("steps", "concurrency", "draft"):
                ask(target, "whatif", run_id, "--vs", other, "--ask", what)
    ask(target, "export", "--parquet", str(tmp_path / "tables"))
