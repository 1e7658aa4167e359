"""The views that everything else rests on, read once and kept as temporary tables of one connection.

A question about verdicts goes through a dozen views that read each other. DuckDB unfolds all of them for
every query, and planning takes longer than reading. Within `taken` the names in `VIEWS` are tables of this
connection: views and macros look names up among its temporary objects first, and so read these unchanged.
All of them are of one state of the store, a lake's too.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from speclog.errors import SpeclogError, StoreError
from speclog.store import problems, schema
from speclog.store.handle import Store, open_store

T = TypeVar("T")

VIEWS = (
    "current_ingest", "annotation", "window_count", "run_reading", "summed_run", "run", "arm", "rank_level",
    "level_count", "level_line", "level", "factor", "factor_entry", "entailed_rule", "measured",
    "factor_value", "impossible_pair",
    "comparison_group",
)  # fmt: skip
"""In an order in which each is made from those before it."""

HEAVY = frozenset({"factor_value", "level_line"})
"""A query that reads one of these (through whatever views) is answered sooner by tables made first."""

OF_RUNS = VIEWS[: VIEWS.index("level") + 1]
"""What a question about runs one by one rests on: no factor, no verdict."""

SLOW = 1_000_000
"""Decode windows without sums from which a person is told: some six seconds, at every question."""

_LOG = logging.getLogger(__name__)
_BESIDE, _ASIDE = "snapshot_new", "snapshot_view_"


def _nothing(*_: object) -> None: ...


@contextmanager
def taken(
    store: Store, views: Sequence[str] = VIEWS, made: Callable[[Store, str], object] = _nothing
) -> Iterator[None]:
    """Within the block, ``views`` are tables of this connection; within another such block nothing is done.

    ``made`` is told of each as soon as it is one, and may ask questions of it.

    What others write meanwhile is not seen, and the store's file is held. Raises StoreError when the store
    fails, also when a lake's connection is lost within the block: what was made is lost with it.
    """
    kinds = dict(
        store.rows(
            "SELECT table_name, 'table' FROM duckdb_tables() WHERE temporary "
            "UNION ALL SELECT view_name, 'view' FROM duckdb_views() WHERE temporary AND NOT internal"
        )
    )
    wanted = [name for name in views if kinds.get(name) != "table"]
    if not wanted:
        yield
        return
    own = [name for name in wanted if kinds.get(name) == "view"]
    with store.holding():
        store.transaction(lambda: _make(store, wanted, own, made))
        try:
            yield
        finally:
            _drop(store, wanted, own)


def _make(
    store: Store, wanted: Sequence[str], own: Sequence[str], made: Callable[[Store, str], object]
) -> None:
    for name in wanted:
        if name == "level_count":
            _say_why_slow(store)
        store.script(f"CREATE TEMP TABLE {_BESIDE} AS FROM {name}")
        if name in own:  # this connection has a view of its own over the store's (`schema.overlay`)
            store.script(f"ALTER VIEW temp.{name} RENAME TO {_ASIDE}{name}")
        store.script(f"ALTER TABLE temp.{_BESIDE} RENAME TO {name}")
        made(store, name)


def _say_why_slow(store: Store) -> None:
    """Before the views that read windows where nobody summed them up: what is going to take its time."""
    runs, windows = store.rows(
        "SELECT count(*), CAST(coalesce(sum(n_windows), 0) AS BIGINT) FROM open_run WHERE n_windows > 0"
    )[0]
    if windows >= SLOW:
        _LOG.warning(
            "speclog: the %s decode windows of %s runs have no sums of this speclog: each question reads "
            "them all; `speclog --store %s init` sums them up once",
            f"{windows:,}", f"{runs:,}", shlex.quote(store.target),
        )  # fmt: skip


def _drop(store: Store, wanted: Sequence[str], own: Sequence[str]) -> None:
    with contextlib.suppress(SpeclogError):  # a connection that was lost holds nothing to drop
        for name in wanted:
            store.script(f"DROP TABLE IF EXISTS temp.{name}")
            if name in own:
                store.script(f"ALTER VIEW temp.{_ASIDE}{name} RENAME TO {name}")


def read(
    target: str,
    work: Callable[[Store], T],
    *,
    lock_timeout: float = 20.0,
    views: Sequence[str] = VIEWS,
    opened: Callable[[], object] = _nothing,
    made: Callable[[Store, str], object] = _nothing,
) -> T:
    """What ``work`` makes of a store, as far as it goes through ``views`` of one state of the store.

    ``opened`` is called when the store is open, before the tables are made: what it starts in another thread
    has Python's lock to itself meanwhile. ``made`` as in `taken`. A lake whose connection is lost on the way
    is read again from the start, once. Raises StoreError when the store cannot be read.
    """
    try:
        return _read(target, work, lock_timeout, views, opened, made)
    except StoreError as error:
        if error.__cause__ is None or not problems.is_lost(error.__cause__):
            raise
    return _read(target, work, lock_timeout, views, opened, made)


def _read(
    target: str,
    work: Callable[[Store], T],
    lock_timeout: float,
    views: Sequence[str],
    opened: Callable[[], object],
    made: Callable[[Store, str], object],
) -> T:
    with open_store(target, lock_timeout=lock_timeout) as store:
        opened()
        with taken(store, views, made):
            return work(store)


def needed(sql: str) -> list[str]:
    """Those of `VIEWS` that a query reads, through whatever views and macros; none for a light query."""
    found = _names(sql)
    return [name for name in VIEWS if name in found] if found & HEAVY else []


_READ = re.compile(r"(?:\b(?:FROM|JOIN)\s+|')(\w+)|(\w+)\(")
"""What a view's text reads: after FROM or JOIN, as the argument of a macro, or the macro itself."""


def _names(sql: str) -> set[str]:
    bodies, found = _bodies(), set[str]()
    new = set(re.findall(r"\w+", sql.lower())) & bodies.keys()
    while new:
        found |= new
        new = {name for one in new for name in bodies[one]} - found
    return found


@cache
def _bodies() -> dict[str, frozenset[str]]:
    """By view or macro: the views and macros that its text names."""
    made = [item for item in schema.definitions() if item.part != "tables"]
    known = {item.name for item in made}
    return {item.name: frozenset(known & _read_by(item.sql)) for item in made}


def _read_by(sql: str) -> set[str]:
    return {name for pair in _READ.findall(re.sub(r"--[^\n]*", "", sql)) for name in pair}
