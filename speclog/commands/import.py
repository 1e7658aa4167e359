"""``speclog import``: exported runs into a store."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("import", epilog="Example: speclog --store team.duckdb import out/2026-11")
@click.argument("directories", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.pass_context
def command(ctx: click.Context, directories: tuple[Path, ...]) -> None:
    """Append the runs of what `speclog export` wrote; runs that the store holds already are left alone."""
    from speclog import console
    from speclog.store import open_store
    from speclog.store.parquet import import_

    for directory in directories:
        with open_store(ctx.obj["store"], read_only=False, lock_timeout=ctx.obj["lock_timeout"]) as store:
            done = import_(store, directory)
        told = f"{done.runs} runs imported ({done.rows} rows), {done.already_there} already there"
        console.say(f"{console.clean(str(directory))}: {', '.join([told, *done.notes])}")
