"""``speclog runs``: what is in the store."""

from __future__ import annotations

import click

from speclog.completion import RUN

_EPILOG = "Example: speclog runs --json"


@click.group("runs", invoke_without_command=True, epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="An array of objects instead of a table.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the runs in the store: name, version, speculation (steps/draft tokens), windows, state, start."""
    if ctx.invoked_subcommand is None:
        _list(ctx.obj["store"], ctx.obj["lock_timeout"], "json" if as_json else "table")


@command.command("rm", epilog="Example: speclog runs rm 'smoke-*'")
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.pass_context
def remove(ctx: click.Context, runs: tuple[str, ...]) -> None:
    """Take runs (id, name, tag or glob) out of every view; `runs restore` undoes it until `speclog gc`."""
    from speclog import console
    from speclog.runs import resolve
    from speclog.store import open_store, removal

    target, lock_timeout = ctx.obj["store"], ctx.obj["lock_timeout"]
    with open_store(target, read_only=False, create=False, lock_timeout=lock_timeout) as store:
        chosen = sorted({run_id for text in runs for run_id in resolve(store, text)})
        count = removal.remove(store, chosen)
    console.say(f"{count} runs removed; `speclog runs restore` brings them back until `speclog gc`")


@command.command("restore", epilog="Example: speclog runs restore smoke-1")
@click.argument("runs", type=RUN, nargs=-1, metavar="[RUN]...")
@click.option("--json", "as_json", is_flag=True, help="An array of objects instead of a table.")
@click.pass_context
def restore(ctx: click.Context, runs: tuple[str, ...], as_json: bool) -> None:
    """Bring removed runs (id, name, tag or glob) back; without RUN, list them."""
    from speclog import console
    from speclog.store import open_store, removal
    from speclog.tables import show

    target, lock_timeout = ctx.obj["store"], ctx.obj["lock_timeout"]
    with open_store(target, read_only=not runs, create=False, lock_timeout=lock_timeout) as store:
        if not runs:
            listed = removal.removed_runs(store)
        else:
            chosen = sorted({run_id for text in runs for run_id in removal.resolve_removed(store, text)})
            count = removal.restore(store, chosen)
    if runs:
        console.say(f"{count} runs restored")
    else:
        show(["run_id", "name", "removed_at"], listed, "json" if as_json else "table")


def _list(target: str, lock_timeout: float, fmt: str) -> None:
    from speclog.queries import saved
    from speclog.store import open_store
    from speclog.tables import show

    query = saved("runs" if fmt == "table" else "runs_full")
    with open_store(target, lock_timeout=lock_timeout) as store:
        columns, rows = store.result(query.sql)
    show(columns, rows, fmt)
