"""``speclog sql``: ad-hoc SQL on the store, read-only."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click


@click.command(
    "sql", epilog='Example: speclog sql "SELECT run, batch_size, round_ms FROM level" --format csv'
)
@click.argument("text")
@click.option("--format", "fmt", type=click.Choice(["table", "json", "csv", "parquet"]), default="table")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file to write (needed for parquet)."
)
@click.pass_context
def command(ctx: click.Context, text: str, fmt: str, as_json: bool, output: Path | None) -> None:
    """Run the SQL statement TEXT ('-' reads it from stdin) on the store and print its rows.

    The store is opened read-only and SQL cannot reach other files. Views: run, level, break_even, comparison,
    comparison_factor, decode_window, profile_window, prefill_batch, bench_result, event, server_arg, env_var.
    """
    from speclog.errors import UsageError
    from speclog.store import open_store, snapshot
    from speclog.tables import show

    fmt = "json" if as_json else fmt
    if fmt == "parquet" and output is None:
        raise UsageError("--format parquet needs --output FILE")
    statement = _typed() if text == "-" else text
    target, lock_timeout = ctx.obj["store"], ctx.obj["lock_timeout"]
    with (
        open_store(target, lock_timeout=lock_timeout) as store,
        snapshot.taken(store, snapshot.needed(statement)),
    ):
        store.enter_sandbox()
        if fmt == "parquet" and output is not None:
            table = io.BytesIO()
            store.frame(statement).write_parquet(table)
            _put(output, table.getvalue())
            return
        columns, rows = store.result(statement)
    if output is None:
        show(columns, rows, fmt)
        return
    shown = io.StringIO()
    with redirect_stdout(shown):
        show(columns, rows, fmt)
    _put(output, shown.getvalue())


def _put(output: Path, data: str | bytes) -> None:
    from speclog import whole

    whole.write(output, data)
    click.echo(str(output))


def _typed() -> str:
    """The statement on stdin. Raises UsageError when it is not text."""
    from speclog.errors import UsageError

    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"SQL on stdin: byte {error.start + 1} is not UTF-8 text") from error
