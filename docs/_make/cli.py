#!/usr/bin/env python3
"""Write docs/cli.md from the commands' own help: `make docs` runs it, a test says when it is stale."""

import sys
from pathlib import Path

import click
from click.testing import CliRunner

from speclog.cli import COMMANDS, cli

HEAD = """# The command line

Written by `make docs` from the commands' own help.

stdout is data: tables, JSON, what `ingest` made of each log, the path of a report (always the last line). stderr is talk: warnings, progress.
Nothing is coloured and no progress bar is drawn when the stream is not a terminal; `NO_COLOR` takes the colour away.

| exit code | means |
|---|---|
| 0 | done |
| 1 | a check said no (`speclog check --fail-on ...`) |
| 2 | the call does not make sense |
| 3 | an input could not be used (other inputs of the same call were) |
| 4 | the store is busy, broken, or newer than this speclog |
| 50-57 | a launched session failed; the code and the message name the step ([launch.md](launch.md)) |
| 130 | interrupted |

| variable | means |
|---|---|
| `SPECLOG_STORE` | the store, when `--store` is not given |
| `NO_COLOR` | no colour |
| `SPECLOG_DEBUG` | show the traceback behind an error |
"""


def section(path: list[str], command: click.Command) -> str:
    """The help of one command and of its sub-commands."""
    # CliRunner renders at a fixed width, whatever terminal this runs in.
    result = CliRunner().invoke(cli, [*path, "--help"], prog_name="speclog", terminal_width=100)
    text = f"\n{'#' * (len(path) + 1)} speclog {' '.join(path)}\n\n```\n{result.output.rstrip()}\n```\n"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                text += section([*path, name], child)
    return text


def page() -> str:
    """The whole page."""
    context = click.Context(cli)
    parts = [HEAD]
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if command is not None:
            parts.append(section([name], command))
    return "".join(parts)


if __name__ == "__main__":
    target = Path(__file__).resolve().parent.parent / "cli.md"
    text = page()
    if "--check" in sys.argv:
        sys.exit(0 if target.read_text(encoding="utf-8") == text else "docs/cli.md is stale: run `make docs`")
    target.write_text(text, encoding="utf-8")
