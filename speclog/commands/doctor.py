"""``speclog doctor``: what is installed, and what is missing here against a profile."""

from pathlib import Path

import click

from speclog.completion import OVERLAY, PROFILE


@click.command(
    "doctor",
    epilog="Example: speclog doctor kimi-k25-tp8-baseline --with nccl-pcie-ll",
)
@click.argument("profile", type=PROFILE, required=False)
@click.option(
    "--with",
    "overlays",
    type=OVERLAY,
    multiple=True,
    metavar="OVERLAY",
    help="Lay an overlay over the profile.",
)
@click.option("--set", "sets", multiple=True, metavar="K=V", help="Change a server argument or variable.")
@click.option("--python", default="", metavar="PATH", help="Interpreter that has SGLang.")
@click.option(
    "--out", default=Path("logs"), type=click.Path(path_type=Path), metavar="DIR", help="Where logs would go."
)
@click.option("--json", "as_json", is_flag=True, help="An array of objects instead of a table.")
def command(
    profile: str | None,
    overlays: tuple[str, ...],
    sets: tuple[str, ...],
    python: str,
    out: Path,
    as_json: bool,
) -> None:
    """Look at packages, GPUs, driver, ports, limits, models and tuning; change nothing.

    Exit code 1 when something the PROFILE needs is missing.
    """
    from speclog.errors import CheckFailed
    from speclog.launch.checks import FAIL
    from speclog.launch.doctor import examine

    found = list(examine(profile, overlays, sets, python, out))
    _show_json(found) if as_json else _show(found)
    failed = [check for check in found if check.status == FAIL]
    if failed and profile:
        raise CheckFailed(f"{len(failed)} checks failed; the first: {failed[0].check}: {failed[0].found}")


def _show(found: list) -> None:  # type: ignore[type-arg]
    from speclog.console import clean

    width = max(len(check.check) for check in found)
    for check in found:
        mend = f"  -> {check.mend}" if check.mend else ""
        click.echo(clean(f"{check.status:8}{check.check:{width}}  {check.found}{mend}"))


def _show_json(found: list) -> None:  # type: ignore[type-arg]
    import json
    from dataclasses import asdict

    click.echo(json.dumps([asdict(check) for check in found], indent=1))
