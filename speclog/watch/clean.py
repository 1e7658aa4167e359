"""Which windows of a log that is watched are clean: the rules of macro ``decode_window_of``, line by line."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_PAGE = 256


@dataclass(frozen=True, slots=True)
class Line:
    """A decode line of one rank, as far as its window is judged by it; ``pipeline``: it has a PP rank."""

    size: int
    token: int | None
    tau: float | None
    gen_tok_s: float
    rounds: int
    speculative: bool
    pipeline: bool


def left_out(line: Line, before: Line | None, *, warmup: bool, prefills: int) -> str | None:
    """Why a line's window is not clean, None when it is; ``prefills`` came since the line ``before``."""
    reasons = (
        (warmup, "warmup"),
        (before is None, "first"),
        (prefills > 0, "prefill"),
        (line.size <= 0 or (line.token is not None and line.token <= 0), "empty"),
        (before is not None and _changed(line, before), "batch changed"),
        (line.gen_tok_s <= 0, "no throughput"),
        (line.tau is None, "no accept length"),
        (before is not None and _others(line, before), "other requests"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _changed(line: Line, before: Line) -> bool:
    fewer = line.token is not None and before.token is not None and line.token < before.token
    return line.size != before.size or fewer


def _others(line: Line, before: Line) -> bool:
    """Whether the tokens grew by more than the batch generated; in a pipeline, by another number."""
    if line.token is None or before.token is None or line.tau is None:
        return False
    generated = line.size * line.rounds * line.tau
    unlike = line.token - before.token - generated
    rounding = max(16 if line.speculative else 1, _page(line.token, before.token))
    allowed = 0.02 * generated + line.size * rounding
    return unlike > allowed or (line.pipeline and unlike < -allowed)


def _page(*tokens: int) -> int:
    """The size of a page (a power of 2 from 16 on) of which all counts are multiples; 1 for none."""
    bits = 0
    for count in tokens:
        bits |= count
    return min(LARGEST_PAGE, bits & -bits) if bits % 16 == 0 else 1
