"""The profiler's lines: how they are written and how they reach the server's log."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Sequence

HEAD = "EAGLE3_PROFILE v=1 kind="
NA = "na"
log = logging.getLogger("speclog.profiler")
log.setLevel(logging.INFO)


def emit(kind: str, fields: Sequence[tuple[str, object]]) -> None:
    """Write one line of `kind` with `fields` in their order."""
    body = " ".join(f"{key}={token(value)}" for key, value in fields)
    level = logging.WARNING if kind == "warn" else logging.INFO
    log.log(level, "%s%s %s", HEAD, kind, body)


def warn(message: str, error: BaseException | None = None, detail: str | None = None) -> None:
    """Write one `kind=warn` line; `message` is one word, `detail` a few (blanks become underscores)."""
    fields: list[tuple[str, object]] = [("msg", message)]
    if error is not None:
        fields.append(("err", type(error).__name__))
        detail = f"{detail}:_{error}" if detail else str(error)
    if detail:
        fields.append(("detail", "'" + token(detail).replace("'", "") + "'"))
    emit("warn", fields)


def token(value: object) -> str:
    """`value` as one blank-free word of at most 300 characters; None is `na`."""
    if value is None or value == "":
        return NA
    return re.sub(r"[^\x21-\x7e]+", "_", str(value))[:300]


def times(values_ms: Sequence[float]) -> str:
    """`mean/p50/p99` in ms with three decimals, or `na` for no values; percentiles interpolated."""
    if not values_ms:
        return NA
    ordered = sorted(values_ms)
    mean = sum(ordered) / len(ordered)
    return f"{mean:.3f}/{percentile(ordered, 0.5):.3f}/{percentile(ordered, 0.99):.3f}"


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the ordered values lie, linearly interpolated."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def reach_the_log(prefix: str = "") -> None:
    """Make sure that INFO lines come out; call it after SGLang has configured logging.

    SGLang's root handler takes them, with its own prefix, as long as it lets INFO through. With
    `--log-level warning` or a logging configuration of the user's, a handler of our own writes to stderr in
    the same layout (`prefix` is SGLang's rank prefix, such as " TP0").
    """
    log.disabled = False  # a logging.config that disables existing loggers may have run
    root = logging.getLogger()
    custom = bool(os.environ.get("SGLANG_LOGGING_CONFIG_PATH"))
    heard = root.level <= logging.INFO and any(h.level <= logging.INFO for h in root.handlers)
    if (heard and not custom) or log.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    layout = f"[%(asctime)s{prefix.replace('%', '%%')}] %(message)s"
    handler.setFormatter(logging.Formatter(layout, datefmt="%Y-%m-%d %H:%M:%S"))
    log.addHandler(handler)
    log.propagate = False
