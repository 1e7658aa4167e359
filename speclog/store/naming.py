"""What a text that names runs matches: an id, the start of one, a name, a tag, or a glob."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

MIN_PREFIX = 4
"""Characters of an id from which its start names a run."""

Known = Sequence[tuple[str, str, str | None]]
"""Runs as (run_id, name, tag)."""


def matches(text: str, known: Known) -> list[str]:
    """The run_ids that ``text`` names, in the order of ``known``.

    What is said in full comes first: an id, a name or a tag; then the unique start of an id; then a glob.
    """
    exact = [run_id for run_id, name, tag in known if text in (run_id, name, tag)]
    if exact:
        return exact
    prefixed = with_prefix(text, known)
    if len(prefixed) == 1:
        return prefixed
    return [
        run_id
        for run_id, name, tag in known
        if fnmatch.fnmatchcase(name, text) or (tag is not None and fnmatch.fnmatchcase(tag, text))
    ]


def with_prefix(text: str, known: Known) -> list[str]:
    """The run_ids that start with ``text``, if it is long enough to name one."""
    return [run_id for run_id, _, _ in known if len(text) >= MIN_PREFIX and run_id.startswith(text)]
