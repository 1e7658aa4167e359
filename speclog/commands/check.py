"""``speclog check``: the verdicts as an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from speclog.store import Store

_EPILOG = """\b
Examples:
  speclog check --vs baseline --fail-on unfair,unproven
  speclog check --vs base --run 'eagle3-*' --allow env.NCCL_PROTO='both arms on one GPU' --json
"""


@click.command("check", epilog=_EPILOG)
@click.option("--vs", default="baseline", show_default=True, help="Run, tag or glob; or 'baseline'.")
@click.option("--run", "runs", multiple=True, metavar="CANDIDATE", help="Default: every speculative run.")
@click.option(
    "--fail-on", default="unfair", show_default=True, help="unfair, unproven; or both, with a comma."
)
@click.option("--allow", "allowed", multiple=True, metavar="FACTOR=REASON", help="Let a difference pass.")
@click.option("--factors", "own", type=click.Path(dir_okay=False), help="Your own catalogue, before ours.")
@click.option("--json", "as_json", is_flag=True, help="An array of objects instead of a table.")
@click.pass_context
def command(
    ctx: click.Context,
    vs: str,
    runs: tuple[str, ...],
    fail_on: str,
    allowed: tuple[str, ...],
    own: str | None,
    as_json: bool,
) -> None:
    """Compare each candidate with the fairest baseline and exit 1 when a verdict is one of --fail-on.

    The verdict stays what it is; effective_verdict leaves out what --allow names, and says why.
    """
    from pathlib import Path

    from speclog.analysis import baseline, factors
    from speclog.errors import CheckFailed, UsageError
    from speclog.runs import resolve
    from speclog.store import open_store
    from speclog.tables import show

    wanted = {word.strip() for word in fail_on.split(",") if word.strip()}
    if not wanted <= {"unfair", "unproven"}:
        raise UsageError(f"--fail-on {fail_on}: unfair or unproven, with a comma between them")
    reasons = dict(_allowance(word) for word in allowed)
    with open_store(ctx.obj["store"], lock_timeout=ctx.obj["lock_timeout"]) as store:
        if own:
            factors.lay_over(store, Path(own))
        candidates = [run_id for text in runs for run_id in resolve(store, text)] if runs else None
        plain = None if vs == "baseline" else resolve(store, vs)
        choices = baseline.load(store, candidates=candidates, baselines=plain)
        rows = [_row(store, choice, reasons) for choice in choices.values() if choice.row is not None]
    if not rows:
        raise UsageError(
            "nothing to compare: no speculative run with a baseline of its model; `speclog runs`"
        )
    rows.sort(key=lambda row: (row["candidate_name"], row["baseline_name"]))
    columns = (
        list(rows[0]) if as_json else ["candidate_name", "baseline_name", "effective_verdict", "reasons"]
    )
    show(columns, [[row[name] for name in columns] for row in rows], "json" if as_json else "table")
    failed = [row["candidate_name"] for row in rows if row["effective_verdict"] in wanted]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(rows)} comparisons failed: {', '.join(failed[:5])}")


def _allowance(word: str) -> tuple[str, str]:
    from speclog.errors import UsageError

    name, _, reason = word.partition("=")
    if not name or not reason.strip():
        raise UsageError(f"--allow {word}: FACTOR=REASON, and the reason must not be empty")
    return name, reason


def _row(store: Store, choice: Any, reasons: dict[str, str]) -> dict[str, Any]:
    row = {name: value for name, value in choice.row.items() if name not in ("same_model", "started")}
    found = store.rows(
        "SELECT name, does FROM factor_pair WHERE candidate = ? AND baseline = ? AND matters",
        [row["candidate"], row["baseline"]],
    )
    impossible = any(text.startswith("impossible") for text in row["reasons"])
    used = [f"{name}: {reasons[name]}" for name, _ in found if name in reasons]
    left = {does for name, does in found if name not in reasons} | ({"unfair"} if impossible else set())
    effective = "unfair" if "unfair" in left else "unproven" if left else "fair"
    naive = choice.naive
    return {
        "schema_version": 1,
        **row,
        "effective_verdict": effective,
        "allowed": used,
        "choice": choice.note,
        "naive_baseline_name": None if naive is None else naive["baseline_name"],
    }
