"""The live screen: fits 80 columns and 24 lines, no mouse, no colour needed to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speclog.console import clean
from speclog.watch.plain import clock
from speclog.watch.state import State, Window

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
        ("throughput, tok/s", f"{last.gen_tok_s:,.1f}", _number(state.typical("gen_tok_s", size), ",.1f")),
        (
            "accept length",
            f"{last.tau:.2f}" if last.printed_accept else "-",
            _number(state.typical("tau", size), ".2f"),
        ),
        ("round, ms", _number(last.round_ms, ".2f"), _number(state.typical("round_ms", size), ".2f")),
        ("break-even", _number(last.tau_star, ".2f"), _number(state.typical("tau_star", size), ".2f")),
        (
            "margin, tokens",
            _number(last.margin_tokens, "+.2f"),
            _verdict(state.typical("margin_tokens", size)),
        ),
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


def _number(value: float | None, spec: str) -> str:
    return "unknown" if value is None else format(value, spec)


def _verdict(margin: float | None) -> str:
    if margin is None:
        return "unknown"
    return f"{margin:+.2f} {'above' if margin > 0 else 'BELOW'} break-even"


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
