"""`speclog ingest LOG...`: read logs into the store."""

import json
import sys

import click

from speclog.console import clean, say
from speclog.errors import ExitCode


@click.command(
    epilog="Example: speclog ingest logs/*.log runs/ old.log.gz && speclog runs",
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--json", "as_json", is_flag=True, help="Print an array of summaries.")
@click.option("--verbose", "-v", is_flag=True, help="Show samples of the lines that were not understood.")
@click.pass_obj
def command(obj: dict[str, object], logs: tuple[str, ...], as_json: bool, verbose: bool) -> None:
    """Read SGLang (and vLLM) server logs into the store.

    LOG is a file, a glob, a directory, a .gz or .zst file, or - for standard input. Files beside a log that
    belong to it by name (NAME.server_info.json, NAME.bench*.jsonl, NAME.bench*.txt) are read with it. Reading
    the same log twice changes nothing. Exit code 3 when any input could not be used.
    """
    from speclog.ingest.api import IngestSummary, ingest_paths
    from speclog.ingest.progress import progress_bar

    def show(summary: IngestSummary) -> None:
        for line in describe(summary, verbose=verbose):
            (say if as_json or summary.status == "unusable" else _out)(line)

    with progress_bar(logs) as advance:
        found = ingest_paths(
            logs,
            store_target=str(obj["store"]),
            lock_timeout=float(str(obj["lock_timeout"])),
            progress=advance,
            on_summary=show,
        )
    if as_json:
        print(json.dumps([summary.as_dict() for summary in found], indent=2))
    if any(summary.status == "unusable" for summary in found):
        sys.exit(int(ExitCode.INPUT))


def _out(line: str) -> None:
    print(line, flush=True)


def describe(summary: object, *, verbose: bool = False) -> list[str]:
    """One line about a summary; with ``verbose`` also samples of what was not understood."""
    from speclog.ingest.api import IngestSummary

    assert isinstance(summary, IngestSummary)
    path = clean(summary.path)
    if summary.status == "unusable":
        return [f"{path}: unusable: {clean(summary.detail)}"]
    counts = [
        f"{summary.windows} decode windows",
        f"{summary.prefills} prefills",
        f"{summary.profile_windows} profile windows" if summary.profile_windows else "",
        f"{summary.bench_results} bench results" if summary.bench_results else "",
    ]
    what = ", ".join(part for part in counts if part) if summary.served else summary.detail
    version = f"{summary.engine} {summary.version or 'of unknown version'}"
    unknown = (
        f"; {summary.unknown_lines} of {summary.lines} lines not understood" if summary.unknown_lines else ""
    )
    lines = [f"{path}: {summary.status}: run {clean(summary.run or '')} ({version}): {what}{unknown}"]
    lines += [f"  note: {clean(note)}" for note in summary.notes]
    if verbose:
        lines += [f"  ? {clean(sample)}" for sample in summary.unknown_samples]
    return lines
