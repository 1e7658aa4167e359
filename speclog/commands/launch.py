"""``speclog launch``: run sessions so that they can be compared."""

from collections.abc import Callable
from pathlib import Path

import click

from speclog.completion import OVERLAY, PROFILE
from speclog.durations import Seconds
from speclog.errors import SpeclogError

_EPILOG = """\b
Examples:
  speclog launch kimi-k25-tp8-baseline kimi-k25-tp8-eagle3-5x6 --with nccl-pcie-ll --repeat 3
  speclog launch kimi-k25-tp8-baseline --sweep NCCL_PROTO=LL,LL128,Simple --repeat 3
  speclog launch kimi-k25-tp8-eagle3-5x6 --with nccl-pcie-ll --print > run.sh
"""


@click.command("launch", epilog=_EPILOG)
@click.argument("profiles", type=PROFILE, nargs=-1, metavar="PROFILE...")
@click.option(
    "--with",
    "overlays",
    type=OVERLAY,
    multiple=True,
    metavar="OVERLAY",
    help="Lay an overlay over every profile.",
)
@click.option(
    "--set", "sets", multiple=True, metavar="K=V", help="Change a server argument (k) or variable (K)."
)
@click.option(
    "--repeat", type=click.IntRange(1), metavar="N", help="Sessions per arm (default: the profile's)."
)
@click.option(
    "--interleave/--no-interleave", default=True, help="Order of repeats: A B B A (default) or A A B B."
)
@click.option(
    "--sweep", "sweeps", multiple=True, metavar="K=A,B", help="One arm per value; with=none,X for overlays."
)
@click.option("--matrix", is_flag=True, help="Every combination of the sweeps, not one at a time.")
@click.option("--python", default="", metavar="PATH", help="Interpreter that has SGLang.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Where logs go (default logs/TIME-PROFILE)."
)
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with a campaign.")
@click.option("--print", "as_script", is_flag=True, help="Print the equivalent shell script and run nothing.")
@click.option("--dry-run", is_flag=True, help="Show the sessions in order and run nothing.")
@click.option("--isolate", is_flag=True, help="Drop tuning variables of this shell that no profile sets.")
@click.option("--force", is_flag=True, help="Launch although a preflight check fails.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first session that fails.")
@click.option(
    "--time-limit",
    type=Seconds(),
    default=0.0,
    metavar="S",
    help="Start no session that would not end in time.",
)
@click.option(
    "--node-rank",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="This machine's rank in a session over several nodes.",
)
@click.option("--show-host", is_flag=True, help="Write the host's name into the log, not its hash.")
@click.option("--ingest/--no-ingest", default=True, help="Ingest the logs at the end.")
@click.option("--report/--no-report", default=True, help="Report at the end when there are two sides.")
@click.option("--list", "list_names", is_flag=True, help="List profiles and overlays.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    profiles: tuple[str, ...],
    overlays: tuple[str, ...],
    sets: tuple[str, ...],
    repeat: int | None,
    interleave: bool,
    sweeps: tuple[str, ...],
    matrix: bool,
    as_script: bool,
    dry_run: bool,
    list_names: bool,
    out: Path | None,
    time_limit: float,
    **rest: object,
) -> None:
    """Run each PROFILE (an arm) as server sessions whose logs carry their environment, and measure them.

    A PROFILE is a name (see --list), NAME+OVERLAY, or a TOML file. Exit code: 0, or 50 to 57 for the step
    that failed.
    """
    from speclog.errors import UsageError
    from speclog.launch.conduct import Choices, conduct
    from speclog.launch.design import Request
    from speclog.launch.progress import Progress

    if list_names:
        return _list()
    if not profiles and not rest["resume"]:
        raise UsageError("which PROFILE? speclog launch --list shows them")
    request = Request(profiles, overlays, sets, sweeps, matrix, repeat or 0, interleave)
    if rest["resume"] and (request != Request(()) or out or as_script):
        raise UsageError(
            "--resume goes on with what its campaign was asked for: no PROFILE, no other arms or repeats, "
            "no --out and no --print beside it"
        )
    if as_script:
        return _print(request, str(rest["python"]), bool(rest["isolate"]))
    if dry_run:
        return _dry_run(request, rest["resume"])
    choices = Choices(folder=out, time_limit_s=time_limit, store=ctx.obj["store"], **rest)  # type: ignore[arg-type]
    if report := conduct(request, choices, Progress()):
        click.echo(report)
    return None


def _list() -> None:
    from speclog.console import clean
    from speclog.launch.profile import load
    from speclog.launch.source import available, find, read

    def told(about: Callable[[str], object], name: str) -> str:
        try:
            return clean(str(about(name)))
        except SpeclogError as error:  # one that cannot be used must not hide the others
            return clean(f"cannot be used: {error}")

    def of_overlay(name: str) -> object:
        return read(find(name, "overlay")).tables.get("about", "")

    for name in available():
        click.echo(f"{name:28} {told(lambda name: load(name).about, name)}")
    for name in available("overlay"):
        click.echo(f"--with {name:21} {told(of_overlay, name)}")


def _print(request: object, python: str, isolate: bool) -> None:
    from speclog.errors import UsageError
    from speclog.launch import design, script

    arms = design.arms(request)  # type: ignore[arg-type]
    if len(arms) != 1:
        raise UsageError(f"--print writes the script of one arm, not of {len(arms)}")
    click.echo(script.write(arms[0], python, isolate), nl=False)


def _dry_run(request: object, resumed: object) -> None:
    from speclog.launch import campaign, design

    if not isinstance(resumed, Path):
        for run in design.schedule(request):  # type: ignore[arg-type]
            click.echo(run.stem)
        return
    for entry in campaign.resume(resumed).entries:
        if entry.state != "done":
            click.echo(entry.stem)
