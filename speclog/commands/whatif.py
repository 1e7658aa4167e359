"""``speclog whatif``: other draft steps, another concurrency, a better draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from speclog.completion import BASELINE, RUN

if TYPE_CHECKING:
    import polars as pl

    from speclog.report.consult import Consultation
    from speclog.report.model import Answer
    from speclog.store import Store

FORMATS = ("table", "json", "csv", "sglang", "vllm")
ASK = ("steps", "concurrency", "draft")
_EPILOG = """\b
Examples:
  speclog whatif llama8b-eagle3-5x6_tp2.r1 --vs baseline --format sglang
  speclog whatif eagle3-s5-a2.1 --vs base --ask concurrency
  speclog whatif eagle3-5x6-untuned --vs baseline-retuned --ask draft --json
"""


@click.command("whatif", epilog=_EPILOG)
@click.argument("candidate", type=RUN)
@click.option(
    "--vs",
    type=BASELINE,
    required=True,
    metavar="BASELINE",
    help="Plain run (id, name, tag or glob), or the word `baseline`: the fairest one.",
)
@click.option(
    "--ask",
    type=click.Choice(ASK),
    default="steps",
    show_default=True,
    help="What would other draft steps do, where to switch it off, how good must the draft be?",
)
@click.option("--format", "fmt", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--extra-steps", default=2, show_default=True, help="Extrapolate this many steps more.")
@click.option("--max-batch-size", type=int, help="Let the vLLM table reach this far (extrapolated).")
@click.pass_context
def command(
    ctx: click.Context,
    candidate: str,
    vs: str,
    ask: str,
    fmt: str,
    as_json: bool,
    extra_steps: int,
    max_batch_size: int | None,
) -> None:
    """Answer a question about CANDIDATE that no run has answered yet.

    steps: the speedup of 0, 1, ... draft steps, from a profiled run; what a step costs comes from runs with
    other steps where the store has them, else from draft time, and the table says which. concurrency: the
    speedup by batch size and between which sizes it stops (or starts) paying. draft: what break-even asks of
    accept length and of every draft position.

    The runs that a name or glob matches are taken as repeats of each other. ``sglang`` prints the file for
    --speculative-adaptive-config, ``vllm`` the value of num_speculative_tokens_per_batch_size (both: steps).
    """
    from speclog.errors import UsageError
    from speclog.store import open_store, snapshot

    fmt = "json" if as_json else fmt
    if fmt in ("sglang", "vllm") and ask != "steps":
        raise UsageError(f"--format {fmt} holds draft steps: it goes with --ask steps")
    with (
        open_store(ctx.obj["store"], lock_timeout=ctx.obj["lock_timeout"]) as store,
        snapshot.taken(store),
    ):
        asked = _asked(store, candidate, vs)
        if ask == "steps":
            table = asked.steps(extra_steps)
            _say(asked.published())
        else:
            rows, answer = asked.concurrency() if ask == "concurrency" else asked.draft()
    if ask == "steps":
        _complain(table)
        _print_steps(table, fmt, max_batch_size)
    else:
        _print_rows(rows, answer, fmt)


def _asked(store: Store, candidate: str, vs: str) -> Consultation:
    from speclog.report.consult import Consultation
    from speclog.runs import candidates, plain

    runs = candidates(store, candidate)
    baselines = _fairest(store, candidate, runs) if vs == "baseline" else plain(store, vs)
    _warn(store, runs, baselines)
    return Consultation(store, runs, baselines)


def _fairest(store: Store, named: str, runs: list[str]) -> list[str]:
    """The fairest plain run of the candidate and its repeats, as `speclog check` takes it; said on stderr."""
    from speclog.analysis import baseline
    from speclog.console import clean, say
    from speclog.errors import UsageError

    choice = baseline.load(store, candidates=runs[:1]).get(runs[0])
    if choice is None or choice.row is None:
        why = choice.note if choice is not None else "no run without speculation can be compared with it"
        raise UsageError(f"{named}: {why}; ingest the log of one, or name a run with --vs")
    say(clean(f"baseline: {choice.row['baseline_name']}, {choice.note}"))
    return list(choice.repeats)


def _print_steps(table: pl.DataFrame, fmt: str, max_batch_size: int | None) -> None:
    import json

    from speclog.analysis.adaptive import sglang_adaptive, vllm_schedule
    from speclog.tables import show

    if fmt in ("sglang", "vllm"):
        _say_what_is_unsure(table)
    if fmt == "sglang":
        click.echo(json.dumps(sglang_adaptive(table), indent=2))
    elif fmt == "vllm":
        click.echo(json.dumps(vllm_schedule(table, max_batch_size)))
    else:
        show(table.columns, table.rows(), fmt)


def _say_what_is_unsure(table: pl.DataFrame) -> None:
    """A configuration names one number of steps; where it is not shown to be the better one, say so."""
    from speclog.analysis.adaptive import unsure
    from speclog.console import warn

    found = unsure(table)
    if found:
        told = "; ".join(
            f"batch {size}: {steps} ({low:.2f} to {high:.2f})" for size, steps, low, high in found
        )
        warn(f"not shown to be better than the steps of the run (speedup over them): {told}")


def _print_rows(rows: list[dict[str, Any]], answer: Answer, fmt: str) -> None:
    from speclog.errors import InputError
    from speclog.tables import show

    if not rows:
        raise InputError(answer.why_not or "the candidate has no clean window")
    _say(answer)
    show(list(rows[0]), [tuple(row.values()) for row in rows], fmt)


def _say(answer: Answer | None) -> None:
    """The answer in words, on stderr; of a finding that is asked for by the way, only what is wrong."""
    from speclog.console import clean, say, warn

    if answer is None or (answer.key == "published" and not answer.flag):
        return
    (warn if answer.flag else say)(clean(answer.text or answer.why_not))


def _warn(store: Store, runs: list[str], baselines: list[str]) -> None:
    """Say on stderr that a prediction rests on a comparison that is not fair."""
    from speclog.console import clean, warn

    rows = store.rows(
        "SELECT candidate_name, baseline_name, verdict FROM comparison "
        "WHERE list_contains(?, candidate) AND list_contains(?, baseline) AND verdict <> 'fair'",
        [runs, baselines],
    )
    for candidate, baseline, verdict in rows:
        warn(f"{clean(candidate)} against {clean(baseline)} is {verdict}; speclog report says why")


def _complain(table: pl.DataFrame) -> None:
    """Raise InputError when nothing can be predicted at any batch size."""
    from speclog.errors import InputError

    if table["steps"].null_count() == len(table):
        reasons = table["refused"].drop_nulls().unique(maintain_order=True).to_list()
        raise InputError("; ".join(reasons) or "the candidate has no clean window")
