"""``speclog check``: the verdicts as an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from speclog.completion import BASELINE, RUN

if TYPE_CHECKING:
    from speclog.report.check import Checked
    from speclog.store import Store

_EPILOG = """\b
Examples:
  speclog check --vs baseline --fail-on unfair,unproven,regression
  speclog check --vs base --run 'eagle3-*' --allow env.NCCL_PROTO='both arms on one GPU' --json
  speclog check --format markdown --junit speclog.xml >> "$GITHUB_STEP_SUMMARY"
"""


@click.command("check", epilog=_EPILOG)
@click.option(
    "--vs", type=BASELINE, default="baseline", show_default=True, help="Run, tag or glob; or 'baseline'."
)
@click.option(
    "--run", "runs", type=RUN, multiple=True, metavar="CANDIDATE", help="Default: every speculative run."
)
@click.option(
    "--fail-on",
    default="unfair",
    show_default=True,
    help="Of unfair, unproven, regression; with commas between. Or none: only say it.",
)
@click.option("--allow", "allowed", multiple=True, metavar="FACTOR=REASON", help="Let a difference pass.")
@click.option(
    "--before",
    metavar="RUN",
    help="Earlier run(s) a regression is measured against. Default: the newest of the same configuration.",
)
@click.option(
    "--threshold",
    "threshold_pct",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0, 100, max_open=True),
    help="Per cent that a run may be slower than before.",
)
@click.option(
    "--published",
    "tables",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Check a published table of results (JSON, JSONL, CSV) instead of the store.",
)
@click.option("--contract", is_flag=True, help="List what each comparison held equal, too.")
@click.option("--cross-engine", is_flag=True, help="Compare with a run of another engine, labelled so.")
@click.option(
    "--factors",
    "own",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Your own catalogue, before ours.",
)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["text", "json", "junit", "markdown"]),
    default="text",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: an array of objects.")
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write JUnit XML here.",
)
@click.pass_context
def command(
    ctx: click.Context,
    vs: str,
    runs: tuple[str, ...],
    fail_on: str,
    allowed: tuple[str, ...],
    before: str | None,
    threshold_pct: float,
    tables: tuple[Path, ...],
    contract: bool,
    cross_engine: bool,
    own: Path | None,
    fmt: str,
    as_json: bool,
    junit_file: Path | None,
) -> None:
    """Compare each candidate with the fairest baseline and exit 1 when something of --fail-on is found.

    The verdict stays what it is; effective_verdict leaves out what --allow names, and says why. A regression:
    the candidate is slower than its fair baseline, or than the same configuration was, by its whole interval.
    """
    from speclog.analysis import factors
    from speclog.console import clean, warn
    from speclog.report.check import check, left_out, unmet
    from speclog.store import open_store, snapshot

    wanted = _kinds(fail_on)
    reasons = dict(_allowance(word) for word in allowed)
    if tables:
        _report(_published(tables, wanted), "json" if as_json else fmt, wanted, junit_file)
        return
    with open_store(ctx.obj["store"], lock_timeout=ctx.obj["lock_timeout"]) as store:
        if own:
            factors.lay_over(store, own)
        with snapshot.taken(store):
            asked = _resolved(store, runs, candidates_only=not cross_engine) if runs else None
            found = check(
                store,
                vs=None if vs == "baseline" else _resolved(store, [vs]),
                candidates=asked,
                reasons=reasons,
                fail_on=wanted,
                cross_engine=cross_engine,
                before=_resolved(store, [before]) if before else None,
                threshold=threshold_pct / 100,
                contract=contract,
            )
            left = left_out(store, asked, found)
    if left:
        warn(clean(left))
    if unneeded := unmet(found, reasons):
        warn(clean(f"--allow {', '.join(unneeded)}: no comparison needs it (is the name as in `reasons`?)"))
    _report(found, "json" if as_json else fmt, wanted, junit_file)


def _published(tables: Sequence[Path], wanted: Sequence[str]) -> Sequence[Checked]:
    from speclog import console
    from speclog.report.check import published

    found, left_out = published(tables, wanted)
    if left_out:
        console.say(f"{left_out} rows have no baseline of their batch size beside them and are not judged")
    return found


def _report(found: Sequence[Checked], fmt: str, wanted: Sequence[str], junit_file: Path | None) -> None:
    """Print, write, and fail when something asked for was found."""
    from speclog.errors import CheckFailed
    from speclog.report import check_formats, write_whole

    if junit_file:
        write_whole(junit_file, check_formats.junit(found, wanted))
    _print(found, fmt, wanted)
    if any(one.failed for one in found):
        raise CheckFailed(check_formats.summary(found))


def _kinds(fail_on: str) -> list[str]:
    from speclog.errors import UsageError
    from speclog.report.check import KINDS

    wanted = [word.strip() for word in fail_on.split(",") if word.strip()]
    if wanted == ["none"]:
        return []
    if not wanted or not set(wanted) <= set(KINDS):
        raise UsageError(f"--fail-on '{fail_on}': of {', '.join(KINDS)}, with commas between them; or none")
    return wanted


def _resolved(store: Store, names: Sequence[str], *, candidates_only: bool = False) -> list[str]:
    from speclog.runs import candidates, resolve

    find = candidates if candidates_only else resolve
    return list(dict.fromkeys(run_id for text in names for run_id in find(store, text)))


def _allowance(word: str) -> tuple[str, str]:
    from speclog.errors import UsageError

    name, _, reason = word.partition("=")
    if not name or not reason.strip():
        raise UsageError(f"--allow {word}: FACTOR=REASON, and the reason must not be empty")
    return name, reason


def _print(found: Sequence[Checked], fmt: str, fail_on: Sequence[str]) -> None:
    from speclog.report import check_formats
    from speclog.tables import show

    if fmt == "json":
        rows = [one.document() for one in found]
        show(list(rows[0]), [list(row.values()) for row in rows], "json")
    elif fmt == "text":
        columns = ["candidate_name", "baseline_name", "effective_verdict", "reasons"]
        told = [[*check_formats.notes(one)] for one in found]
        show(
            columns,
            [
                [one.candidate_name, one.baseline_name, one.effective_verdict, notes]
                for one, notes in zip(found, told, strict=True)
            ],
            "table",
        )
        if listed := check_formats.contracts(found):
            show(["contract", "held equal", "value"], listed, "table")
    else:
        made = check_formats.junit(found, fail_on) if fmt == "junit" else check_formats.markdown(found)
        click.echo(made, nl=False)
