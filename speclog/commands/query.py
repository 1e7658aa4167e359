"""``speclog query``: run a saved query."""

from __future__ import annotations

import click

from speclog.completion import QUERY


@click.command("query", epilog="Example: speclog query windows-left-out --format csv")
@click.argument("name", type=QUERY, required=False)
@click.option("--format", "fmt", type=click.Choice(["table", "json", "csv"]), default="table")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--show", is_flag=True, help="Print the SQL instead of running it.")
@click.pass_context
def command(ctx: click.Context, name: str | None, fmt: str, as_json: bool, show: bool) -> None:
    """Run the saved query NAME (a file of sql/queries); without NAME, list them."""
    from speclog.queries import all_saved, saved
    from speclog.store import open_store, snapshot
    from speclog.tables import show as print_rows

    fmt = "json" if as_json else fmt
    if name is None:
        print_rows(["query", "answers"], [(query.name, query.about) for query in all_saved()], fmt)
        return
    query = saved(name)
    if show:
        click.echo(query.sql, nl=False)
        return
    with (
        open_store(ctx.obj["store"], lock_timeout=ctx.obj["lock_timeout"]) as store,
        snapshot.taken(store, snapshot.needed(query.sql)),
    ):
        columns, rows = store.result(query.sql)
    print_rows(columns, rows, fmt)
