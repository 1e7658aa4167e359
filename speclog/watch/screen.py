"""The live screen: fits 80 columns and 24 lines, no mouse, no colour needed to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speclog.console import clean
from speclog.watch.plain import clock
from speclog.watch.state import State, Window
from speclog.watch.verdict import impossible, verdict

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], width: int) -> str:
    """The last ``width`` values as bars between their own least and greatest; a gap where there is none."""
    shown = list(values)[-width:]
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        " " if v is None else _BARS[round((v - low) * scale)] if scale else _BARS[3] for v in shown
    )


def screen(state: State, title: str, *, width: int = 80, height: int = 24) -> Group:
    """Everything the terminal shows now."""
    from rich.console import Group
    from rich.text import Text

    last = state.windows[-1] if state.windows else None
    lines: list[object] = [Text(clean(title)[:width], style="bold")]
    lines.append(
        Text(clean(f"{state.treatment or 'server arguments not seen'}; {state.seen} windows")[:width])
    )
    if last is None:
        lines.append(Text("waiting for the first decode line"))
    else:
        lines += [_numbers(state, last), Text(""), *_sparks(state, width)]
    lines.append(Text(clean(state.about)[: 2 * width], style="dim"))
    room = max(1, height - 16)
    lines.append(Text("Last events", style="bold"))
    events = list(state.events)[-room:] or [(None, "none", "")]
    for ts, kind, message in events:
        lines.append(Text(clean(f"{clock(ts)} {kind} {message}")[: width - 1], style="dim", no_wrap=True))
    return Group(*lines)  # type: ignore[arg-type]


def _numbers(state: State, last: Window) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    now = "now" if last.dp is None else f"now, DP{last.dp}"
    for head in ("", now, f"median of {len(state.clean(last.batch_size))} clean"):
        table.add_column(head, justify="left" if not head else "right", no_wrap=True)
    size = last.batch_size
    rows = [
        *_speeds(state, last),
        *_break_even(state, last),
        (
            "batch / queue",
            f"{size} / {last.queue if last.queue is not None else '?'}",
            last.left_out or "counts",
        ),
        ("context, tokens", _number(last.context, ".0f"), ""),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _speeds(state: State, last: Window) -> list[tuple[str, str, str]]:
    size = last.batch_size
    return [
        ("throughput, tok/s", f"{last.gen_tok_s:,.1f}", _number(state.typical("gen_tok_s", size), ",.1f")),
        (
            "accept length",
            f"{last.tau:.2f}" if last.printed_accept else "-",
            _number(state.typical("tau", size), ".2f"),
        ),
        ("round, ms", _number(last.round_ms, ".2f"), _number(state.typical("round_ms", size), ".2f")),
    ]


def _break_even(state: State, last: Window) -> list[tuple[str, str, str]]:
    """Break-even and margin; of a server without speculation how its steps compare with the baseline's."""
    size, unfair = last.batch_size, bool(state.baseline.differ)
    typical = _number(state.typical("tau_star", size), ".2f")
    if state.speculative is False:
        return [
            ("of baseline's step", _number(last.tau_star, ".2f"), typical + (" unfair" if unfair else ""))
        ]
    held = [w for w in state.clean(size) if w.tau_star is not None and w.margin_tokens is not None]
    margins, tau_stars = [w.margin_tokens or 0.0 for w in held], [w.tau_star or 0.0 for w in held]
    doubtful = last.tau_star is not None and impossible(last.tau_star)
    now = "impossible" if doubtful else _number(last.margin_tokens, "+.2f")
    return [
        ("break-even", _number(last.tau_star, ".2f"), typical),
        ("margin, tokens", now, verdict(margins, tau_stars, unfair=unfair)),
    ]


def _number(value: float | None, spec: str) -> str:
    return "unknown" if value is None else format(value, spec)


def _sparks(state: State, width: int) -> list[object]:
    from rich.text import Text

    room = max(10, width - 16)
    windows = list(state.windows)
    speeds = [w.gen_tok_s if w.left_out is None else None for w in windows]
    accepts = [w.tau if w.left_out is None and w.printed_accept else None for w in windows]
    lines: list[object] = [Text(f"throughput      {sparkline(speeds, room)}", no_wrap=True)]
    if any(value is not None for value in accepts):
        lines.append(Text(f"accept length   {sparkline(accepts, room)}", no_wrap=True))
    return lines
