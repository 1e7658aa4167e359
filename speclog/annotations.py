"""What a person vouches for about a run: parsed from ``KEY=VALUE`` words, checked, appended to the store.

Keys: ``env.NAME`` (a variable; ``(unset)`` for one that was not set), ``env`` (``complete``: every other
variable was unset; or several at once, ``'A=1 B=2'``), ``arg.NAME``, ``fact.NAME``, ``machine`` and
``workload`` (labels: runs with the same label had the same hardware and software below the engine, or the
same requests), ``tag`` and ``note`` (free text). An empty value withdraws what was said under the key.
"""

from __future__ import annotations

import getpass
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from speclog.errors import UsageError
from speclog.formats.values import told

if TYPE_CHECKING:
    from speclog.store import Store

UNSET = "(unset)"
WITHDRAWN = ""
PLAIN_KEYS = ("env", "machine", "workload", "tag", "note")
_NAMED = re.compile(r"(env|arg|fact)\.[A-Za-z0-9_.]+")


class Entry(NamedTuple):
    """One key and its value; None: known to be unset, '' (`WITHDRAWN`): nothing is said any more."""

    key: str
    value: str | None


def parse(words: Iterable[str]) -> list[Entry]:
    """Read ``KEY=VALUE`` words. Raises UsageError for an unknown key, a word without '=', and `unknown`."""
    return [entry for word in words for entry in _parse(word)]


def _parse(word: str) -> list[Entry]:
    key, sign, value = word.partition("=")
    if not sign:
        raise UsageError(f"{word}: not KEY=VALUE")
    if key == "env" and value not in ("complete", ""):
        return _several(value)
    if key not in PLAIN_KEYS and not _NAMED.fullmatch(key):
        raise UsageError(f"{key}: not a key; use env.NAME, arg.NAME, fact.NAME, or {', '.join(PLAIN_KEYS)}")
    if value and not told(value) and (key in ("machine", "workload") or key.startswith("fact.")):
        raise UsageError(f"{word}: vouches for nothing, and two such words would be equal; leave it out")
    if key.startswith("env."):
        return [Entry(key, None if value == UNSET else value)]
    return [Entry(key, _canonical(value) if value and key.startswith("arg.") else value)]


def _several(text: str) -> list[Entry]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"env={text}: {error}") from error
    if not words or any("=" not in word for word in words):
        raise UsageError(f"env={text}: 'complete', or variables as 'A=1 B=2'")
    return [Entry(f"env.{name}", value) for name, _, value in (word.partition("=") for word in words)]


def _canonical(text: str) -> str:
    """An argument's value as the store holds it: JSON text; Python's True and None are taken too."""
    python = {"True": "true", "False": "false", "None": "null"}.get(text, text)
    try:
        return json.dumps(json.loads(python), separators=(",", ":"))
    except ValueError:
        return json.dumps(text)


def contradictions(store: Store, run_ids: Sequence[str], entries: Sequence[Entry]) -> list[str]:
    """Where the logs themselves say otherwise, in words: a record is better evidence than memory."""
    found = []
    for view in ("env_var", "server_arg", "fact"):
        prefix = {"env_var": "env.", "server_arg": "arg.", "fact": "fact."}[view]
        rows = store.rows(
            f"SELECT r.name, v.name, v.value FROM {view} AS v JOIN run AS r USING (run_id) "  # noqa: S608
            "WHERE list_contains(?, v.run_id) AND v.source <> 'annotation' ORDER BY 1, 2",
            [list(run_ids)],
        )
        said = {entry.key: entry.value for entry in entries if entry.value != WITHDRAWN}
        found += [
            f"{run}: the log says {prefix}{name}={UNSET if value is None else value}"
            for run, name, value in rows
            if prefix + name in said and said[prefix + name] != value
        ]
    return found + _scanned(store, run_ids, entries)


def _scanned(store: Store, run_ids: Sequence[str], entries: Sequence[Entry]) -> list[str]:
    """Variables said to be set that the manifest's complete scan did not find."""
    scans = store.rows(
        "SELECT r.run_id, r.name, s.prefix FROM env_scan AS s JOIN run AS r USING (run_id) "
        "WHERE list_contains(?, r.run_id) AND s.source <> 'annotation'",
        [list(run_ids)],
    )
    sql = "SELECT run_id, name FROM env_var WHERE list_contains(?, run_id) AND source <> 'annotation'"
    known = set(store.rows(sql, [list(run_ids)]))
    named = [entry for entry in entries if entry.key.startswith("env.") and entry.value]
    return sorted(
        f"{run}: the log says {entry.key}={UNSET}"
        for run_id, run, prefix in scans
        for entry in named
        if entry.key[4:].startswith(prefix) and (run_id, entry.key[4:]) not in known
    )


def record(
    store: Store, run_ids: Sequence[str], entries: Sequence[Entry], *, author: str | None = None
) -> int:
    """Append entries for every run; return how many rows.

    Later ones win over earlier ones, whatever the clocks; of several for one key the last does.
    """
    import polars as pl

    now = datetime.now(UTC).replace(tzinfo=None)
    listed = "SELECT max(annotated_at) FROM raw_annotation WHERE list_contains(?, run_id)"
    newest = store.rows(listed, [list(run_ids)])[0][0]
    at = max(now, newest + timedelta(microseconds=1)) if newest else now
    rows = [
        {"run_id": run_id, "key": key, "value": value, "author": author or _user(), "annotated_at": at}
        for run_id in run_ids
        for key, value in {entry.key: entry.value for entry in entries}.items()
    ]
    schema = {"run_id": pl.String, "key": pl.String, "value": pl.String, "author": pl.String}
    store.append({"raw_annotation": pl.DataFrame(rows, schema=schema | {"annotated_at": pl.Datetime("us")})})
    return len(rows)


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return None
