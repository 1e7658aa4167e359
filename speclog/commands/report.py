"""``speclog report``: the page that compares runs with a baseline."""

from __future__ import annotations

import gc
import shlex
import sys
from pathlib import Path

import click

from speclog.completion import BASELINE, RUN

_EPILOG = """Examples:

\b
  speclog report --vs baseline
  speclog report --vs baseline-retuned --run 'eagle3-*' --open
  speclog report --vs baseline --format md >> "$GITHUB_STEP_SUMMARY"
"""


@click.command("report", epilog=_EPILOG)
@click.option(
    "--vs",
    metavar="BASELINE",
    type=BASELINE,
    help="Run id, name, tag or glob; or the word `baseline`: the runs without speculation, the fairest each.",
)
@click.option(
    "--run",
    "candidates",
    type=RUN,
    multiple=True,
    metavar="CANDIDATE",
    help="Default: every speculative run.",
)
@click.option(
    "--cross-engine", is_flag=True, help="Compare with a run of another engine that --vs names, labelled so."
)
@click.option("--format", "fmt", type=click.Choice(["html", "md", "json"]), default="html", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report's JSON instead of writing a page.")
@click.option(
    "--index", "only_index", is_flag=True, help="Write only index.html: all reports and runs, trends."
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@click.option("--out-dir", type=click.Path(path_type=Path), default=Path("reports"), show_default=True)
@click.option(
    "--templates",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="SPECLOG_TEMPLATES",
    help="Folder with your own templates; one of the same name replaces the shipped one.",
)
@click.pass_context
def command(
    ctx: click.Context,
    vs: str | None,
    candidates: tuple[str, ...],
    cross_engine: bool,
    fmt: str,
    as_json: bool,
    only_index: bool,
    open_it: bool,
    out_dir: Path,
    templates: Path | None,
) -> None:
    """Compare speculative runs with a baseline: is it fair, how far from break-even, by how much?

    The last line printed is the path of the page.
    """
    from speclog.report import report_text, save_report, write_index

    # Rows and points by the hundred thousand are alive here, hardly ever in cycles: looking for those costs.
    gc.set_threshold(200_000, 20, 20)
    store, lock_timeout = ctx.obj["store"], ctx.obj["lock_timeout"]
    made_by = f"speclog {shlex.join(sys.argv[1:])}"
    if only_index:
        path = write_index(store, out_dir=out_dir, lock_timeout=lock_timeout, templates=templates)
    elif vs is None:
        raise click.UsageError("name what to compare with: --vs baseline, or a run (speclog runs lists them)")
    else:
        text = report_text(
            store,
            vs=vs,
            candidates=candidates or None,
            fmt="json" if as_json else fmt,
            lock_timeout=lock_timeout,
            templates=templates,
            command=made_by,
            cross_engine=cross_engine,
        )
        if as_json:
            click.echo(text, nl=False)
            return
        path = save_report(
            text,
            vs=vs,
            candidates=candidates or None,
            fmt=fmt,
            out_dir=out_dir,
            cross_engine=cross_engine,
        )
    click.echo(path)
    if open_it:
        click.launch(str(path))
