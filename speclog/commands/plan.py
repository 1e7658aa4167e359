"""``speclog plan``: the missing runs, as launch commands."""

from __future__ import annotations

import click

from speclog.completion import BASELINE, RUN


@click.command("plan", epilog="Example: speclog plan --vs baseline --script > missing.sh")
@click.option(
    "--vs",
    type=BASELINE,
    default="baseline",
    show_default=True,
    help="Baseline: run id, name, tag, glob, or 'baseline'.",
)
@click.option(
    "--run",
    "runs",
    type=RUN,
    multiple=True,
    help="Candidate; again for more (default: every speculative run).",
)
@click.option("--json", "as_json", is_flag=True, help="An array of objects instead of text.")
@click.option("--script", is_flag=True, help="A shell script of the commands.")
@click.pass_context
def command(ctx: click.Context, vs: str, runs: tuple[str, ...], as_json: bool, script: bool) -> None:
    """Say which runs would settle what is unfair or unproven, and the commands that make them."""
    from speclog.console import clean, warn
    from speclog.report import plan
    from speclog.report.gather import gather
    from speclog.store import snapshot
    from speclog.tables import show

    report = snapshot.read(
        ctx.obj["store"],
        lambda store: gather(store, vs=vs, candidates=list(runs) or None, command=f"speclog plan --vs {vs}"),
        lock_timeout=ctx.obj["lock_timeout"],
    )
    rows = plan.plan(report)
    if left := plan.unseen(report):
        warn(clean(left))
    if script:
        click.echo("#!/bin/bash\nset -euo pipefail")
        for candidate, _, run, _, lines, _ in rows:
            said = str(lines or "").splitlines()
            nothing = [] if any(line and not line.startswith("#") for line in said) else [":"]
            body = "\n".join([*said, *nothing])  # a subshell of comments alone is no shell syntax
            click.echo(f"\n# {_comment(candidate)}: {_comment(run)}\n(\n{body}\n)")
        return
    if as_json:
        show(plan.COLUMNS, rows, "json")
        return
    for candidate, verdict, run, why, lines, target in rows:
        click.echo(f"{_comment(candidate)} ({_comment(verdict)}): {_comment(run)}")
        for label, text in (("why", why), ("it would have to", target)):
            if text:
                click.echo(f"  {label}: {_comment(text)}")
        for line in str(lines or "").splitlines():
            click.echo(f"    {_comment(line)}")
        click.echo()
    if not rows:
        click.echo(plan.settled(report))


def _comment(value: object) -> str:
    from speclog.console import clean

    return clean(str(value))
