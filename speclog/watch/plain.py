"""One line a window or event, for pipes, files and terminals that cannot move the cursor."""

from __future__ import annotations

from datetime import datetime

from speclog.console import clean
from speclog.watch.state import Window
from speclog.watch.verdict import impossible


def window_line(window: Window, *, unfair: bool = False) -> str:
    """``12:03:11 b=1 71.3 tok/s tau 2.13 round 29.87 ms margin +0.25 (tau* 1.88)``; ``unfair`` marks a margin
    against a baseline that is known to be unlike."""
    rank = [] if window.dp is None else [f"DP{window.dp}"]
    parts = [clock(window.ts), *rank, f"b={window.batch_size}", f"{window.gen_tok_s:,.1f} tok/s"]
    if window.printed_accept:
        parts.append(f"tau {window.tau:.2f}")
    if window.round_ms is not None:
        parts.append(f"round {window.round_ms:.2f} ms")
    if window.left_out:
        parts.append(f"[left out: {window.left_out}]")
    elif window.tau_star is not None:
        parts += _against(window, window.tau_star) + (["unfair"] if unfair else [])
    return " ".join(parts)


def _against(window: Window, tau_star: float) -> list[str]:
    if window.margin_tokens is None:
        return [f"{tau_star:.2f} of the baseline's step"]
    if impossible(tau_star):
        return [f"impossible: a round of {tau_star:.2f} plain steps"]
    return [f"margin {window.margin_tokens:+.2f} (tau* {tau_star:.2f})"]


def event_line(event: tuple[datetime | None, str, str]) -> str:
    """``12:03:11 event retract: ...``, harmless on a terminal."""
    ts, kind, message = event
    return clean(f"{clock(ts)} event {kind}: {message}")[:400]


def clock(ts: datetime | None) -> str:
    """The time of day as the log printed it."""
    return ts.strftime("%H:%M:%S") if ts is not None else "--:--:--"
