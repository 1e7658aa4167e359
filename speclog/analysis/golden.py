"""Published accept lengths beside measured ones: is this draft model broken?"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speclog.store import Store

BROKEN = 0.5
"""A draft that adds less than this share of the published gain (accept length less 1) looks broken."""
TOO_GOOD = 1.25


@dataclass(frozen=True)
class Curve:
    """Accept lengths of one model and draft: ``accept_length[i]`` with i + 1 steps."""

    model: tuple[str, ...]
    draft: str
    mode: str
    accept_length: tuple[float, ...]
    data: str
    source: str

    def at(self, steps: int) -> float | None:
        """Accept length with this many steps; None where it was not published."""
        return self.accept_length[steps - 1] if 1 <= steps <= len(self.accept_length) else None


@dataclass(frozen=True)
class Judgement:
    """A measured accept length beside a published one. ``text`` says what follows."""

    curve: Curve
    published: float
    share_of_gain: float
    flag: str | None  # 'broken draft', 'too good' or None
    text: str


@cache
def curves() -> tuple[Curve, ...]:
    """All published curves that ship with speclog (``golden.toml``)."""
    raw = tomllib.loads(Path(__file__).with_name("golden.toml").read_text(encoding="utf-8"))
    return tuple(
        Curve(tuple(entry.pop("model")), accept_length=tuple(entry.pop("accept_length")), **entry)
        for entry in raw["curve"]
    )


def judge(model: str, steps: int, tau: float) -> list[Judgement]:
    """Hold a measured accept length (topk 1) against every published curve of the same model.

    Empty where none is known. The share of the published gain counts, (tau - 1) / (published - 1): a broken
    draft (wrong checkpoint, chat template, quantised head) tends to 1, other data moves it by some tens of
    per cent.
    """
    known = [curve for curve in curves() if all(word in model.lower() for word in curve.model)]
    return [_judged(curve, value, tau) for curve in known if (value := curve.at(steps)) is not None]


def broken(store: Store, run_ids: Sequence[str]) -> dict[str, str]:
    """Of runs (run_ids, topk 1) those whose draft looks broken by every published curve of their model.

    The accept length is that of the smallest batch size with two clean windows or more. The text says what
    was measured and what was published.
    """
    sql = """
        SELECT r.run_id, r.model, r.steps, l.tau
        FROM run AS r JOIN level_count AS l USING (run_id)
        WHERE list_contains(?, r.run_id) AND r.topk = 1 AND r.steps > 0 AND r.model IS NOT NULL
            AND l.n_clean > 1
        QUALIFY row_number() OVER (PARTITION BY r.run_id ORDER BY l.batch_size) = 1
    """
    found = {}
    for run_id, model, steps, tau in store.rows(sql, [list(run_ids)]):
        judged = judge(model, steps, tau)
        if judged and all(one.flag == "broken draft" for one in judged):
            found[run_id] = f"accept length {judged[0].text} (source: {judged[0].curve.source})"
    return found


def _judged(curve: Curve, published: float, tau: float) -> Judgement:
    share = (tau - 1) / (published - 1)
    text = f"{tau:.2f} against {published:.2f} published ({curve.draft}, {curve.mode}, {curve.data})"
    if share < BROKEN:
        return Judgement(curve, published, share, "broken draft", f"{text}: the draft looks broken")
    if share > TOO_GOOD:
        return Judgement(curve, published, share, "too good", f"{text}: simulated, lossy or repetitive data?")
    return Judgement(curve, published, share, None, text)
