"""``speclog init``: create a store, or bring an older one to this version."""

from __future__ import annotations

import click


@click.command(
    "init", epilog="Example: speclog --store ducklake:postgres:dbname=lake init --data-path s3://bucket/lake"
)
@click.option(
    "--data-path", help="Of a lake: where its Parquet lies, the same path on every host (or s3://...)."
)
@click.pass_context
def command(ctx: click.Context, data_path: str | None) -> None:
    """Create the store that --store names, or migrate it to this version of speclog, keeping every run.

    Also sums up the levels of runs for which that has not been done yet, so that questions about them are
    answered at once.

    `speclog ingest` does the same for a file; a shared store is better created once, by hand.
    """
    from speclog import console
    from speclog.errors import UsageError
    from speclog.store import open_store, summaries
    from speclog.store.engine import never

    target = ctx.obj["store"]
    if data_path is not None:
        if not target.startswith("ducklake:") or "?" in target:
            raise UsageError("--data-path is for a ducklake: store that does not name its data_path already")
        target = f"{target}?data_path={data_path}"
    with open_store(target, read_only=False, lock_timeout=ctx.obj["lock_timeout"]) as store:
        summed = store.transaction(lambda: summaries.write(store), committed=never)
        also = f"; {summed} runs summed up" if summed else ""
        console.say(f"{console.clean(store.target)}: {store.prepared}{also}")
