"""``speclog whatif``: the draft steps that would be best, as a table or as a server's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import polars as pl

    from speclog.store import Store

FORMATS = ("table", "json", "csv", "sglang", "vllm")
_EPILOG = "Example: speclog whatif profiled-eagle3-s5-a2.1 --vs profiled-base --format sglang"


@click.command("whatif", epilog=_EPILOG)
@click.argument("candidate")
@click.option("--vs", required=True, metavar="BASELINE", help="Plain run (id, name, tag or glob).")
@click.option("--format", "fmt", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--extra-steps", default=2, show_default=True, help="Extrapolate this many steps more.")
@click.option("--max-batch-size", type=int, help="Let the vLLM table reach this far (extrapolated).")
@click.pass_context
def command(
    ctx: click.Context,
    candidate: str,
    vs: str,
    fmt: str,
    as_json: bool,
    extra_steps: int,
    max_batch_size: int | None,
) -> None:
    """Predict the speedup of 0, 1, ... draft steps from a profiled run CANDIDATE.

    The runs that a name or glob matches are taken as repeats of each other. ``sglang`` prints the file for
    --speculative-adaptive-config, ``vllm`` the value of num_speculative_tokens_per_batch_size.
    """
    import json

    from speclog.analysis.adaptive import sglang_adaptive, vllm_schedule
    from speclog.store import open_store
    from speclog.tables import show

    fmt = "json" if as_json else fmt
    with open_store(ctx.obj["store"], lock_timeout=ctx.obj["lock_timeout"]) as store:
        table = _predicted(store, candidate, vs, extra_steps)
    _complain(table)
    if fmt == "sglang":
        click.echo(json.dumps(sglang_adaptive(table), indent=2))
    elif fmt == "vllm":
        click.echo(json.dumps(vllm_schedule(table, max_batch_size)))
    else:
        show(table.columns, table.rows(), fmt)


def _predicted(store: Store, candidate: str, vs: str, extra_steps: int) -> pl.DataFrame:
    import polars as pl

    from speclog.analysis.whatif import best_steps
    from speclog.runs import resolve

    runs, baselines = resolve(store, candidate), resolve(store, vs)
    _warn(store, runs, baselines)
    windows = "SELECT * FROM decode_window WHERE run_id = ?"
    profile = [store.frame("SELECT * FROM profile_window WHERE run_id = ?", [run]) for run in runs]
    return best_steps(
        pl.concat(profile, how="vertical_relaxed"),
        [store.frame(windows, [run]) for run in runs],
        [store.frame(windows, [run]) for run in baselines],
        extra_steps=extra_steps,
    )


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
