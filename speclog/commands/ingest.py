"""`speclog ingest LOG...`: read logs into the store."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from speclog.console import clean, say
from speclog.errors import ExitCode, InputError, UsageError
from speclog.threads import load_numpy_alone

if TYPE_CHECKING:
    from speclog.ingest.summary import IngestSummary


@click.command(
    epilog="Example: speclog ingest logs/*.log runs/ old.log.gz && speclog runs",
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--follow", "-f", is_flag=True, help="Go on reading one log as it grows; Ctrl-C ends.")
@click.option(
    "--group",
    is_flag=True,
    help="The logs are those of one server's nodes, or pieces of its rotated log: one run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print an array of summaries.")
@click.option("--verbose", "-v", is_flag=True, help="Show samples of the lines that were not understood.")
@click.pass_obj
def command(
    obj: dict[str, object], logs: tuple[str, ...], follow: bool, group: bool, as_json: bool, verbose: bool
) -> None:
    """Read SGLang (and vLLM) server logs into the store.

    LOG is a file, a glob, a directory, a .gz or .zst file, or - for standard input. Files beside a log that
    belong to it by name (NAME.server_info.json, NAME.bench*.jsonl, NAME.bench*.txt) are read with it. Reading
    the same log twice changes nothing. Exit code 3 when any input could not be used.
    """
    load_numpy_alone()
    from speclog.ingest.api import ingest_paths
    from speclog.ingest.progress import progress_bar

    # Rows by the hundred thousand are alive here, hardly ever in cycles: looking for those costs a tenth.
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)

    def show(summary: IngestSummary) -> None:
        for line in describe(summary, verbose=verbose):
            (say if as_json or summary.status == "unusable" else _out)(line)

    if follow:
        _follow(obj, logs, as_json=as_json, verbose=verbose)
        return
    with progress_bar(logs) as advance:
        found = ingest_paths(
            logs,
            store_target=str(obj["store"]),
            lock_timeout=float(str(obj["lock_timeout"])),
            group=group,
            progress=advance,
            on_summary=show,
        )
    _end(found, as_json=as_json)


def _end(found: list[IngestSummary], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([summary.as_dict() for summary in found], indent=2))
    if any(summary.status == "unusable" for summary in found):
        sys.exit(int(ExitCode.INPUT))


def _follow(obj: dict[str, object], logs: tuple[str, ...], *, as_json: bool, verbose: bool) -> None:
    from speclog.ingest.archives import PACKED
    from speclog.ingest.follow import follow_log

    if len(logs) != 1:
        raise UsageError("--follow takes one log")
    if Path(logs[0]).is_dir():
        raise InputError(f"{logs[0]}: a directory; --follow takes one log")
    if logs[0].endswith(PACKED):
        raise InputError(f"{logs[0]}: packed, so nothing is written to it any more; leave out --follow")
    say(f"following {clean(logs[0])}; Ctrl-C ends")
    timeout = float(str(obj["lock_timeout"]))
    found = follow_log(logs[0], store_target=str(obj["store"]), lock_timeout=timeout)
    for summary in found:
        for line in describe(summary, verbose=verbose):
            (say if as_json or summary.status == "unusable" else _out)(line)
    _end(found, as_json=as_json)


def _out(line: str) -> None:
    print(line, flush=True)


def describe(summary: IngestSummary, *, verbose: bool = False) -> list[str]:
    """One line about a summary; with ``verbose`` also samples of what was not understood."""
    path = clean(summary.path)
    if summary.status == "unusable":
        return [f"{path}: unusable: {clean(summary.detail)}"]
    counts = [
        f"{summary.windows} decode windows",
        f"{summary.prefills} prefills",
        f"{summary.profile_windows} profile windows" if summary.profile_windows else "",
        f"{summary.bench_results} bench results" if summary.bench_results else "",
    ]
    what = summary.detail or ", ".join(part for part in counts if part)
    version = f"{summary.engine} {summary.version or 'of unknown version'}"
    unknown = (
        f"; {summary.unknown_lines} of {summary.lines} lines not understood" if summary.unknown_lines else ""
    )
    lines = [f"{path}: {summary.status}: run {clean(summary.run or '')} ({version}): {what}{unknown}"]
    lines += [f"  note: {clean(note)}" for note in summary.notes]
    if verbose:
        lines += [f"  ? {clean(sample)}" for sample in summary.unknown_samples]
    return lines
