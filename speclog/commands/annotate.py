"""``speclog annotate``: record what you vouch for about a run."""

from __future__ import annotations

import click

from speclog.completion import RUN

_EPILOG = """\b
Examples:
  speclog annotate base env=complete machine=h200-a workload=sharegpt-1k
  speclog annotate 'eagle3-*' env='NCCL_PROTO=LL NCCL_ALGO=Ring' env=complete
  speclog annotate base env.NCCL_P2P_LEVEL='(unset)' fact.driver=580.95.05 tag=reference
  speclog annotate base --list
"""


@click.command("annotate", epilog=_EPILOG)
@click.argument("run", metavar="RUN", type=RUN)
@click.argument("words", nargs=-1, metavar="KEY=VALUE...")
@click.option("--author", metavar="NAME", help="Who vouches (default: the login name).")
@click.option("--override", is_flag=True, help="Say it although the log itself says otherwise.")
@click.option("--list", "listing", is_flag=True, help="Show what is vouched for.")
@click.option("--json", "as_json", is_flag=True, help="With --list: an array of objects.")
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    words: tuple[str, ...],
    author: str | None,
    override: bool,
    listing: bool,
    as_json: bool,
) -> None:
    """Vouch for what no log recorded about RUN (id, name, tag or glob).

    KEY is env.NAME, env (complete, or 'A=1 B=2'), arg.NAME, fact.NAME, machine, workload, tag or note. A
    verdict that rests on this says so. An empty value withdraws what was said.
    """
    from speclog import annotations, console
    from speclog.errors import UsageError
    from speclog.runs import resolve
    from speclog.store import open_store

    if listing:
        _list(ctx.obj["store"], ctx.obj["lock_timeout"], run, as_json)
        return
    if not words:
        raise UsageError("what do you vouch for? KEY=VALUE..., or --list")
    entries = annotations.parse(words)
    target, lock_timeout = ctx.obj["store"], ctx.obj["lock_timeout"]
    with open_store(target, read_only=False, create=False, lock_timeout=lock_timeout) as store:
        run_ids = resolve(store, run)
        against = annotations.contradictions(store, run_ids, entries)
        if against and not override:
            raise UsageError(f"{against[0]}; a record is better evidence than memory (--override to insist)")
        annotations.record(store, run_ids, entries, author=author)
    said = [(entry.key, entry.value == annotations.WITHDRAWN) for entry in entries]
    told = [f"{key} (withdrawn)" if withdrawn else key for key, withdrawn in dict(said).items()]
    console.say(f"{len(run_ids)} runs annotated: {', '.join(told)}")


def _list(target: str, lock_timeout: float, run: str, as_json: bool) -> None:
    from speclog.runs import resolve
    from speclog.store import open_store
    from speclog.tables import show

    sql = (
        "SELECT r.name AS run, a.key, a.value, a.author, a.annotated_at FROM annotation AS a "
        "JOIN run AS r USING (run_id) WHERE list_contains(?, a.run_id) ORDER BY 1, 2"
    )
    with open_store(target, lock_timeout=lock_timeout) as store:
        columns, rows = store.result(sql, [resolve(store, run)])
    show(columns, rows, "json" if as_json else "table")
