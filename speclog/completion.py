"""What the shell may offer for a word: runs of the store, profiles and overlays, saved queries.

Types for click's parameters. They take any text: only completion differs. What goes wrong while completing
offers nothing, since a completion must never print an error into somebody's prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

Offer = Callable[[click.Context], Iterable[tuple[str, str]]]
BUSY_S = 0.2


class Offered(click.types.StringParamType):
    """A text for which ``offer`` knows (word, what it is) pairs."""

    def __init__(self, name: str, offer: Offer) -> None:
        self.name = name
        self._offer = offer

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The offered words that begin as what is typed."""
        with suppress(Exception):
            return [
                CompletionItem(word, help=about)
                for word, about in self._offer(ctx)
                if word.startswith(incomplete)
            ]
        return []


def _runs(ctx: click.Context) -> Iterable[tuple[str, str]]:
    from speclog.console import clean
    from speclog.store import open_store

    target = ctx.find_root().params.get("store") or "speclog.duckdb"
    with open_store(target, lock_timeout=BUSY_S) as store:
        rows = store.rows("SELECT DISTINCT name, speculative FROM run ORDER BY name")
    return [(clean(name), "speculative" if speculative else "plain") for name, speculative in rows]


def _baselines(ctx: click.Context) -> Iterable[tuple[str, str]]:
    return [("baseline", "the fairest plain run of each candidate"), *_runs(ctx)]


def _profiles(kind: str) -> Offer:
    def offer(_: click.Context) -> Iterable[tuple[str, str]]:
        from speclog.launch.source import available, find, read

        return [(name, str(read(find(name, kind)).tables.get("about", ""))) for name in available(kind)]

    return offer


def _queries(_: click.Context) -> Iterable[tuple[str, str]]:
    from speclog.queries import all_saved

    return [(query.name, query.about) for query in all_saved()]


RUN = Offered("run", _runs)
BASELINE = Offered("baseline", _baselines)
PROFILE = Offered("profile", _profiles("profile"))
OVERLAY = Offered("overlay", _profiles("overlay"))
QUERY = Offered("query", _queries)
