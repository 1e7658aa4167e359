"""``speclog watch``: a log live, against a stored baseline."""

from __future__ import annotations

from pathlib import Path

import click

from speclog.completion import RUN
from speclog.durations import Seconds

_EPILOG = """Examples:

\b
  speclog watch logs/eagle3.log
  speclog watch logs/eagle3.log --vs base --interval 0.5
  speclog watch kimi-k25-tp8-eagle3-5x6        (the newest log of that launch profile)
  ssh gpu1 speclog watch server.log | tee watch.txt
"""


@click.command("watch", epilog=_EPILOG)
@click.argument("log", metavar="LOG|PROFILE")
@click.option(
    "--vs",
    type=RUN,
    metavar="BASELINE",
    help="A run of the store; default: the fairest plain run of that model on as many GPUs.",
)
@click.option(
    "--interval",
    "interval_s",
    type=Seconds(0.05),
    metavar="S",
    default=1.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--plain", is_flag=True, help="One line a window, also on a terminal.")
@click.option("--once", is_flag=True, help="Stop at the end of what is there (plain lines).")
@click.pass_context
def command(ctx: click.Context, log: str, vs: str | None, interval_s: float, plain: bool, once: bool) -> None:
    """Follow LOG: throughput, accept length, round time, margin against a stored baseline, last events.

    Says what makes that margin unfair, as far as arguments and manifests tell; above or BELOW break-even
    only where the margin's whole interval is (~: it is not). Survives rotation; reads the store once for
    each server it sees start and never holds its lock. Of a server with DP ranks each line is one rank's.
    Ctrl-C ends it.
    """
    from rich.console import Console

    from speclog.console import clean, say
    from speclog.watch.baseline import fairest_alike, named
    from speclog.watch.run import watch_live, watch_plain
    from speclog.watch.state import State

    path = _log(log, must_exist=once)
    target, patience_s = ctx.obj["store"], min(2.0, ctx.obj["lock_timeout"])
    if vs and vs != "baseline":
        state = State(*named(target, vs, patience_s))
    else:
        state = State(choose=lambda server: fairest_alike(target, server, patience_s))
    console = Console()
    if console.is_terminal and not plain and not once and console.width >= 40:
        watch_live(path, state, console, interval_s=interval_s)
        return
    watch_plain(path, state, click.echo, lambda about: say(clean(about)), interval_s=interval_s, once=once)


def _log(text: str, *, must_exist: bool) -> Path:
    """The path itself, or the newest log of a launch profile of that name under ``logs/``."""
    import re

    from speclog.console import clean, say
    from speclog.errors import InputError
    from speclog.ingest.archives import PACKED
    from speclog.launch.source import available

    path = Path(text)
    if path.is_dir():
        raise InputError(f"{text}: a directory; name one log in it")
    if path.exists() and not path.is_file():
        raise InputError(f"{text}: not a file; watch a file that the server's output is written to (tee)")
    if path.suffix in PACKED:
        raise InputError(f"{text}: packed, so nothing is written to it any more; `speclog ingest` reads it")
    if path.exists() or (not must_exist and ("/" in text or path.suffix)):
        return path
    of_profile = re.compile(rf"{re.escape(text)}(?![\w-])")  # its arms and repeats, no longer name
    logs = [log for log in Path("logs").glob("**/*.log") if of_profile.match(log.name)]
    if logs:
        newest = max(logs, key=lambda log: log.stat().st_mtime)
        say(clean(f"watching {newest}"))
        return newest
    if text in available():
        raise InputError(
            f"{text}: this launch profile has no log under logs/ yet; `speclog launch {text}` writes one"
        )
    raise InputError(f"{text}: no such file, and no launch profile of that name")
