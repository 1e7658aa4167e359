"""``speclog runs``: what is in the store."""

from __future__ import annotations

import click

_EPILOG = "Example: speclog runs --json"


@click.group("runs", invoke_without_command=True, epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="An array of objects instead of a table.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the runs in the store: name, engine and version, speculation, windows, state."""
    if ctx.invoked_subcommand is None:
        _list(ctx.obj["store"], ctx.obj["lock_timeout"], "json" if as_json else "table")


def _list(target: str, lock_timeout: float, fmt: str) -> None:
    from speclog.queries import saved
    from speclog.store import open_store
    from speclog.tables import show

    query = saved("runs" if fmt == "table" else "runs_full")
    with open_store(target, lock_timeout=lock_timeout) as store:
        columns, rows = store.result(query.sql)
    show(columns, rows, fmt)
