"""Naming runs: what a user types (id, unique prefix of one, name, tag, glob) to the runs of the store."""

from __future__ import annotations

import difflib
import shlex
from typing import TYPE_CHECKING

from speclog.errors import UsageError

if TYPE_CHECKING:
    from speclog.store import Store


def resolve(store: Store, text: str) -> list[str]:
    """Return the run_ids that ``text`` names, in order of start: an id or a unique prefix of one (at least
    four characters), a name, a tag, or a glob over names and tags.

    Raises UsageError when nothing matches, naming the nearest run.
    """
    from speclog.store import naming

    known = store.rows("SELECT run_id, name, tag FROM run ORDER BY started_at NULLS LAST, run_id")
    if found := naming.matches(text, known):
        return found
    n_prefixed = len(naming.with_prefix(text, known))
    raise UsageError(_not_found(text, [name for _, name, _ in known], n_prefixed))


def plain(store: Store, text: str) -> list[str]:
    """The runs without speculation that ``text`` names: what a candidate can be held against.

    Raises UsageError as `resolve` does, and where every run that it names speculates, or may.
    """
    found = resolve(store, text)
    known = _speculative(store, found)
    if kept := [run_id for run_id in found if known[run_id] is False]:
        return kept
    if None in known.values():
        raise UsageError(f"{text}: its log does not say whether it speculates; --vs names a run without")
    raise UsageError(not_plain(text, len(found)))


def not_plain(text: str, n: int) -> str:
    """What is said of a baseline ``text`` that names ``n`` runs with speculation."""
    return (
        f"{text}: {'a run' if n == 1 else f'{n} runs'} with speculation; --vs names the run without it, or "
        f"the word `baseline` (to ask about this one: --run {shlex.quote(text)} --vs baseline)"
    )


def candidates(store: Store, text: str) -> list[str]:
    """The runs that ``text`` names and that speculate, or may; those known not to are left out.

    Raises UsageError as `resolve` does, and where nothing is left.
    """
    found = resolve(store, text)
    known = _speculative(store, found)
    if kept := [run_id for run_id in found if known[run_id] is not False]:
        return kept
    named = "a run" if len(found) == 1 else f"{len(found)} runs"
    raise UsageError(
        f"{text}: {named} without speculation; a candidate is a run with it "
        f"(to compare with this one: --vs {shlex.quote(text)})"
    )


def _speculative(store: Store, run_ids: list[str]) -> dict[str, bool | None]:
    sql = "SELECT run_id, speculative FROM run WHERE list_contains(?, run_id)"
    return dict(store.rows(sql, [run_ids]))


def _not_found(text: str, names: list[str], n_prefixed: int) -> str:
    if n_prefixed > 1:
        return f"{text}: {n_prefixed} runs have an id that starts so; type more of it"
    near = difflib.get_close_matches(text, names, n=1)
    hint = f"did you mean {near[0]}?" if near else "`speclog runs` lists what there is"
    return f"{text}: no run has this id, name or tag; {hint}"
