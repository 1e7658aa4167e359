"""The profiler's settings: environment variables only, since those reach every process of a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

MODES = ("events", "sync", "host")
_Value = TypeVar("_Value", int, float)


@dataclass(frozen=True)
class Settings:
    """What a run of the profiler is asked to do."""

    mode: str = "events"
    """Clock: `events` (CUDA events), `sync` (device synchronised at every mark), `host` (launch times)."""
    window: int = 100
    """Rounds per line."""
    flush_s: float = 10.0
    """A window older than this is printed although it is not full (seconds)."""
    state: str = "on"
    """`on`, `off` (attached, waiting for the control file) or `ab` (measure the profiler's own cost)."""
    ab_block: int = 50
    """Rounds per block of the on/off trial."""
    control: str | None = None
    """File holding `on`, `off` or `ab`, read once a window."""
    journal: str | None = None
    """JSONL file of single rounds."""
    journal_mb: float = 256.0
    """Size at which the journal is rotated (one old file is kept), in MB."""
    all_ranks: bool = False
    """Print on every rank, not just rank 0, and compare the ranks."""


def read(environment: Mapping[str, str] = os.environ) -> tuple[Settings, list[str]]:
    """Read `EAGLE3_PROFILE_*`; returns the settings and the names of variables whose value was not usable.

    An unusable value leaves the default: a profiler must not take a server down over a typing error.
    """
    bad: list[str] = []

    def number(name: str, kind: Callable[[str], _Value], default: _Value) -> _Value:
        text = environment.get("EAGLE3_PROFILE_" + name, "").strip()
        if not text:
            return default
        try:
            value = kind(text)
        except ValueError:
            value = kind("0")
        if value > 0:
            return value
        bad.append("EAGLE3_PROFILE_" + name)
        return default

    def flag(name: str) -> bool:
        return environment.get("EAGLE3_PROFILE_" + name, "").strip().lower() in ("1", "true", "yes", "on")

    mode = environment.get("EAGLE3_PROFILE_MODE", "").strip().lower() or "events"
    if mode not in MODES:
        bad.append("EAGLE3_PROFILE_MODE")
        mode = "events"
    settings = Settings(
        mode=mode,
        window=number("WINDOW", int, Settings.window),
        flush_s=number("FLUSH_S", float, Settings.flush_s),
        state="ab" if flag("AB") else "on",
        ab_block=number("AB_BLOCK", int, Settings.ab_block),
        control=environment.get("EAGLE3_PROFILE_CTL") or None,
        journal=environment.get("EAGLE3_PROFILE_JSONL") or None,
        journal_mb=number("JSONL_MB", float, Settings.journal_mb),
        all_ranks=flag("ALL_RANKS"),
    )
    return settings, bad
