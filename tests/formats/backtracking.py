"""Can a regular expression of Python's engine backtrack without bound? Decided on its structure, not by time.

The pattern becomes its position automaton (Glushkov). It backtracks exponentially exactly if some state has
two different ways back to itself on the same text, and polynomially if a text leads from a loop to itself,
from it to another loop, and from that one to itself (Weber and Seidl 1991; Weideman et al. 2016).
Look-arounds and back references are left out, which can only miss what depends on them.
"""

from __future__ import annotations

import re._constants as op
import re._parser as parser
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

OTHER = 256
EVERY = frozenset(range(OTHER + 1))
MANY = 40  # {0,40} and more is as good as unbounded
_SPACE = frozenset(map(ord, " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0"))
_DIGIT = frozenset(map(ord, "0123456789"))
_WORD = frozenset(n for n in range(256) if chr(n).isalnum() or chr(n) == "_")
_CLASSES = {
    op.CATEGORY_DIGIT: _DIGIT, op.CATEGORY_NOT_DIGIT: EVERY - _DIGIT,
    op.CATEGORY_SPACE: _SPACE, op.CATEGORY_NOT_SPACE: EVERY - _SPACE,
    op.CATEGORY_WORD: _WORD | {OTHER}, op.CATEGORY_NOT_WORD: EVERY - _WORD,
}  # fmt: skip


@dataclass
class Automaton:
    """States are positions of the pattern: what each reads, and which can follow it."""

    reads: list[frozenset[int]] = field(default_factory=list)
    follow: dict[int, set[int]] = field(default_factory=dict)
    doubled: set[tuple[int, int]] = field(default_factory=set)
    """Steps that can be taken in two ways, as from a to a in ``(a+)+``."""

    def link(self, place: int, to: set[int]) -> None:
        self.doubled |= {(place, other) for other in to & self.follow[place]}
        self.follow[place] |= to

    def add(self, letters: frozenset[int]) -> int:
        self.reads.append(letters)
        self.follow[len(self.reads) - 1] = set()
        return len(self.reads) - 1


@dataclass
class Part:
    """First and last positions of a piece of the pattern, and whether it can match nothing."""

    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    empty: bool = True


def automaton(pattern: str, flags: int = 0) -> Automaton:
    """The position automaton of a pattern."""
    made = Automaton()
    _sequence(made, parser.parse(pattern, flags))
    return made


def _sequence(made: Automaton, items: Any) -> Part:
    whole = Part()
    for kind, value in items:
        whole = _then(made, whole, _item(made, kind, value))
    return whole


def _then(made: Automaton, a: Part, b: Part) -> Part:
    for place in a.last:
        made.link(place, b.first)
    first = a.first | (b.first if a.empty else set())
    last = b.last | (a.last if b.empty else set())
    return Part(first, last, a.empty and b.empty)


def _item(made: Automaton, kind: Any, value: Any) -> Part:
    if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
        place = made.add(_letters(kind, value))
        return Part({place}, {place}, False)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return _repeat(made, *value)
    if kind is op.SUBPATTERN:
        return _sequence(made, value[-1])
    if kind is op.BRANCH:
        parts = [_sequence(made, branch) for branch in value[1]]
        first, last = (set().union(*(getattr(p, end) for p in parts)) for end in ("first", "last"))
        return Part(first, last, any(p.empty for p in parts))
    if kind is op.ATOMIC_GROUP:
        return _sequence(made, value)
    return Part()  # anchors, look-arounds, possessive repeats: they read nothing here, or never give back


def _repeat(made: Automaton, least: int, most: int, body: Any) -> Part:
    loops = most is op.MAXREPEAT or most >= MANY
    copies = 1 if loops else most
    whole = Part()
    for number in range(copies):
        part = _sequence(made, body)
        if number >= least or least == 0:
            part = Part(part.first, part.last, True)
        whole = _then(made, whole, part)
    if loops:
        for place in whole.last:
            made.link(place, whole.first)
    return whole


def _letters(kind: Any, value: Any) -> frozenset[int]:
    if kind is op.ANY:
        return EVERY - {10}
    if kind is op.LITERAL:
        return frozenset({min(value, OTHER)})
    if kind is op.NOT_LITERAL:
        return EVERY - {value}
    found: set[int] = set()
    for what, item in value:
        if what is op.LITERAL:
            found.add(min(item, OTHER))
        elif what is op.RANGE:
            found |= {min(n, OTHER) for n in range(item[0], min(item[1], OTHER) + 1)}
        elif what is op.CATEGORY:
            found |= _CLASSES[item]
    return frozenset(EVERY - found if value[0][0] is op.NEGATE else found)


def verdict(pattern: str, flags: int = 0, *, searched: bool = False) -> str:
    """'exponential', 'polynomial' or 'linear'. ``searched``: tried at every place of the text, not at one."""
    made = automaton(pattern, flags)
    if searched:
        start = made.add(EVERY)
        made.follow[start] = {start, *_sequence_firsts(pattern, flags)}
    knots = _knots(made)
    if any(_two_ways(made, state) for state in sorted(knots)):
        return "exponential"
    loops = [(p, q) for p in knots for q in knots if p != q and knots[p] != knots[q]]
    return "polynomial" if any(_one_then_other(made, p, q, knots) for p, q in loops) else "linear"


def _sequence_firsts(pattern: str, flags: int) -> set[int]:
    return _sequence(Automaton(), parser.parse(pattern, flags)).first


def _reach(made: Automaton, start: int) -> set[int]:
    seen: set[int] = set()
    todo = list(made.follow[start])
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            todo += made.follow[state]
    return seen


def _knots(made: Automaton) -> dict[int, int]:
    """States that lie on a loop, with the smallest state of their loop's component."""
    reach = {state: _reach(made, state) for state in made.follow}
    on_loop = [state for state in made.follow if state in reach[state]]
    return {s: min(t for t in on_loop if t in reach[s] and s in reach[t]) for s in on_loop}


def _steps(made: Automaton, states: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Where all states can go together on one letter."""

    def go(index: int, letters: frozenset[int], chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if index == len(states):
            yield chosen
            return
        for following in made.follow[states[index]]:
            common = letters & made.reads[following]
            if common:
                yield from go(index + 1, common, (*chosen, following))

    return go(0, EVERY, ())


def _two_ways(made: Automaton, state: int) -> bool:
    """Whether two different paths lead from the state to itself on the same text."""
    seen: set[tuple[int, int, bool]] = set()
    todo = [(state, state, False)]
    while todo:
        a, b, parted = todo.pop()
        for c, d in _steps(made, (a, b)):
            new = (c, d, parted or c != d or (a == b and (a, c) in made.doubled))
            if new == (state, state, True):
                return True
            if new not in seen:
                seen.add(new)
                todo.append(new)
    return False


def _one_then_other(made: Automaton, p: int, q: int, knots: dict[int, int]) -> bool:
    """Whether one text leads p to p, p to q and q to q."""
    seen: set[tuple[int, ...]] = set()
    todo: list[tuple[int, ...]] = [(p, p, q)]
    while todo:
        for new in _steps(made, todo.pop()):
            if knots.get(new[0]) != knots[p] or knots.get(new[2]) != knots[q]:
                continue
            if new == (p, q, q):
                return True
            if new not in seen:
                seen.add(new)
                todo.append(new)
    return False
