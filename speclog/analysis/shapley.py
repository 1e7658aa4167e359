"""Shapley shares: how much of a joint effect each of several factors is worth, when the design tells.

The share of factor i is its mean gain over every order in which the factors could have been changed
(Shapley 1953): ``sum over S without i of |S|! (k - |S| - 1)! / k! * (v(S + i) - v(S))``, with ``v(S)`` the
logarithm of the round time when exactly the factors in S are as in the other setting. The shares add up to
v(all) - v(none). They need all 2^k settings: with one missing, they are not identified, and none is given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from math import factorial
from typing import TypeVar

T = TypeVar("T")
Coalition = frozenset[T]

MOST = 6
"""Factors that shares are worked out for: 2^6 settings are more than anybody measures."""


def coalitions(players: Sequence[T]) -> Iterator[frozenset[T]]:
    """Every set of players, smaller ones first."""
    for size in range(len(players) + 1):
        for chosen in combinations(players, size):
            yield frozenset(chosen)


def missing(players: Sequence[T], measured: Collection[frozenset[T]]) -> list[frozenset[T]]:
    """The settings that nobody measured, smaller ones first; empty when the shares are identified."""
    return [coalition for coalition in coalitions(players) if coalition not in measured]


def weights(players: Sequence[T], player: T) -> dict[frozenset[T], float]:
    """Weight of each setting's v in the share of ``player``; they sum to 0.

    Raises ValueError for a player who is not among the players, or for more than `MOST` players.
    """
    if player not in players or len(players) > MOST:
        raise ValueError(f"a share is of one of at most {MOST} factors")
    k = len(players)
    found: dict[frozenset[T], float] = {}
    for coalition in coalitions([other for other in players if other != player]):
        size = len(coalition)
        weight = factorial(size) * factorial(k - size - 1) / factorial(k)
        found[coalition | {player}] = weight
        found[coalition] = -weight
    return found
