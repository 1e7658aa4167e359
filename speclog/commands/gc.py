"""``speclog gc``: delete what no view shows any more and compact the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from speclog.store.gc import Collected


@click.command("gc", epilog="Example: speclog gc --older-than 7d")
@click.option(
    "--older-than",
    default="1d",
    show_default=True,
    help="Leave what was superseded or removed more recently (90s, 12h, 7d).",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="An array with one object instead of a sentence.")
@click.pass_context
def command(ctx: click.Context, older_than: str, dry_run: bool, as_json: bool) -> None:
    """Delete superseded ingests and removed runs, then compact the store.

    Of a lake it also merges small Parquet files, expires old snapshots and deletes files nobody refers to
    (those only when older than a day, as a writer's unfinished files look the same).
    """
    from speclog import console
    from speclog.durations import parse_duration
    from speclog.store import open_store
    from speclog.store.gc import collect
    from speclog.tables import show

    age = parse_duration(older_than)
    target, lock_timeout = ctx.obj["store"], ctx.obj["lock_timeout"]
    with open_store(target, read_only=False, create=False, lock_timeout=lock_timeout) as store:
        done = collect(store, older_than=age, dry_run=dry_run)
    facts = {
        "superseded_ingests": done.superseded_ingests,
        "removed_runs": done.removed_runs,
        "rows": done.rows,
        "kept_young": done.kept_young,
        "bytes_before": done.bytes_before,
        "bytes_after": done.bytes_after,
        **done.lake,
    }
    if as_json:
        show(list(facts), [tuple(facts.values())], "json")
        return
    console.say(_sentence(done, older_than, dry_run))


def _megabytes(size: int | None) -> str:
    return f"{(size or 0) / 1e6:.1f} MB"


def _sentence(done: Collected, older_than: str, dry_run: bool) -> str:
    verb = "would delete" if dry_run else "deleted"
    text = (
        f"{verb} {done.superseded_ingests} superseded ingests and {done.removed_runs} removed runs "
        f"({done.rows} rows); {_megabytes(done.bytes_before)} -> {_megabytes(done.bytes_after)}"
    )
    if done.lake:
        text += "; " + ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in done.lake.items())
    if done.kept_young:
        text += f"; left {done.kept_young} younger than {older_than}"
    return text
