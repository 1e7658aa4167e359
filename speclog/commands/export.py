"""``speclog export``: the store as Parquet."""

from __future__ import annotations

from pathlib import Path

import click

from speclog.completion import RUN


@click.command("export", epilog="Example: speclog export --parquet out/2026-11 'kimi-*'")
@click.argument("runs", type=RUN, nargs=-1, metavar="[RUN]...")
@click.option(
    "--parquet", "directory", required=True, type=click.Path(path_type=Path), help="The directory to write."
)
@click.option("--overwrite", is_flag=True, help="Replace an export that is already there.")
@click.pass_context
def command(ctx: click.Context, runs: tuple[str, ...], directory: Path, overwrite: bool) -> None:
    """Write runs (id, name, tag or glob; without RUN all) as Parquet, partitioned by date and model.

    Anything that reads Parquet reads it; `cd DIR && duckdb -init open.sql` has every view of speclog over it;
    `speclog import DIR` puts it into another store.
    """
    from speclog import console
    from speclog.runs import resolve
    from speclog.store import open_store
    from speclog.store.parquet import export

    with open_store(ctx.obj["store"], lock_timeout=ctx.obj["lock_timeout"]) as store:
        chosen = sorted({run_id for text in runs for run_id in resolve(store, text)}) if runs else None
        count = export(store, directory, run_ids=chosen, overwrite=overwrite)
    console.say(f"{count} runs exported")
    click.echo(str(directory))
