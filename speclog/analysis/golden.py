"""Published accept lengths beside measured ones: is this draft model broken?"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


def _judged(curve: Curve, published: float, tau: float) -> Judgement:
    share = (tau - 1) / (published - 1)
    text = f"{tau:.2f} against {published:.2f} published ({curve.draft}, {curve.mode}, {curve.data})"
    if share < BROKEN:
        return Judgement(curve, published, share, "broken draft", f"{text}: the draft looks broken")
    if share > TOO_GOOD:
        return Judgement(curve, published, share, "too good", f"{text}: simulated, lossy or repetitive data?")
    return Judgement(curve, published, share, None, text)
