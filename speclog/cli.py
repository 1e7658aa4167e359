"""The command line: a group whose commands are imported only when they are called or asked for help.

Each command is ``speclog/commands/<name>.py: command``; ``COMMANDS`` holds its one-line help so that
``speclog --help`` imports none of them.
"""

import importlib

import click

from speclog import __version__
from speclog.durations import Seconds

COMMANDS = {
    "ingest": "Read logs into the store.",
    "runs": "List the runs in the store.",
    "report": "Write the HTML report that compares runs with a baseline.",
    "check": "Verdicts for CI: exit 1 when a comparison is unfair, unproven or a regression.",
    "plan": "The missing runs that would make a comparison fair, as launch commands.",
    "whatif": "The draft steps that would be best, as a table or a server's configuration.",
    "query": "Run a saved query.",
    "sql": "Run ad-hoc SQL on the store (read-only).",
    "annotate": "Record what you vouch for about a run.",
    "launch": "Run a tuned server session and tee its log.",
    "watch": "Follow a log live, against a stored baseline.",
    "doctor": "Show what is installed and what tuning is missing here.",
    "init": "Create a store.",
    "gc": "Remove superseded ingests and compact the store.",
    "export": "Write the store as Parquet.",
    "import": "Read exported Parquet into a store.",
    "completion": "Print the shell's completion script.",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of use, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None when there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"speclog.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: speclog ingest logs/*.log && speclog report --vs baseline",
)
@click.version_option(__version__, prog_name="speclog")
@click.option(
    "--store",
    envvar="SPECLOG_STORE",
    default="speclog.duckdb",
    show_default=True,
    show_envvar=True,
    help="DuckDB file, or ducklake:postgres:... / ducklake:sqlite:FILE for a shared store.",
)
@click.option(
    "--lock-timeout",
    type=Seconds(),
    metavar="S",
    default=20.0,
    show_default=True,
    help="Seconds to wait for a busy store.",
)
@click.pass_context
def cli(ctx: click.Context, store: str, lock_timeout: float) -> None:
    """Does speculative decoding beat the plain server here, by how much, and is that comparison fair?"""
    ctx.obj = {"store": store, "lock_timeout": lock_timeout}
