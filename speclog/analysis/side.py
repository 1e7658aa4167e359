"""One side of a comparison: the runs of an arm, level by level, with the line of each and how sure it is."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from speclog.analysis import dependence
from speclog.analysis.bootstrap import Residuals
from speclog.analysis.levels import RunLevels, Windows, run_levels
from speclog.analysis.line import Floats, bands, least_squares, robust_line

if TYPE_CHECKING:
    import polars as pl


MIXED_BANDS = 100
"""Bands of batches that mix requests of unequal length are numbered from here (view ``clean_window``)."""


@dataclass(frozen=True)
class Member:
    """What one run contributes to a part: all its clean windows there, and the ones the line rests on."""

    run: int
    windows: Windows
    kept: Windows


@dataclass(eq=False)
class Part:
    """A level within one band of context and one kind of batch; of one run, or of its repeats pooled.

    Kinds: with or without CUDA graph, of requests equally long or of unequal ones (``mixed``).

    The point estimate is that of view ``level_line`` (which knows single runs only).
    """

    batch_size: int
    eager: bool
    mixed: bool
    band: int
    members: list[Member]
    side: Side

    def __post_init__(self) -> None:
        context = self._kept("context")
        self.a_ms, self.c_ms_per_token = least_squares(context, self._kept("round_ms"))
        self.mean_context = float(context.mean())
        everything = [member.windows for member in self.members]
        self.n = sum(map(len, everything))
        self.tau = float(np.concatenate([windows.tau for windows in everything]).mean())
        self.context_min = min(float((w.context - w.half_span).min()) for w in everything)
        self.context_max = max(float((w.context + w.half_span).max()) for w in everything)

    def _kept(self, name: str) -> Floats:
        return np.concatenate([getattr(member.kept, name) for member in self.members])

    def at(self, context: float | Floats) -> float | Floats:
        """Round time in ms at a context in tokens a request."""
        return self.a_ms + self.c_ms_per_token * context

    def residuals(self, member: Member) -> Residuals:
        """Residuals of one run about the pooled line, less the run's own offset, and their weights."""
        kept = member.kept
        off = kept.round_ms - self.at(kept.context)
        context = self._kept("context")
        power = float(((context - self.mean_context) ** 2).sum())
        return Residuals(
            off - off.mean(),
            kept.tau - kept.tau.mean(),
            np.full(len(kept), 1 / len(context)),
            (kept.context - self.mean_context) / power if power > 0 else np.zeros(len(kept)),
            np.full(len(kept), len(member.windows) / self.n / len(kept)),
        )

    def offsets(self, member: Member) -> Floats:
        """How far each clean window of a run is off the line, in parts of 1, in order of time."""
        expected = self.at(member.windows.context)
        offsets: Floats = member.windows.round_ms / expected - 1
        return offsets

    @property
    def ranks(self) -> int:
        """Data-parallel ranks that print windows of their own."""
        return max(len(np.unique(member.windows.rank)) for member in self.members)

    @cached_property
    def correlation(self) -> float | None:
        """Lag-1 autocorrelation of the round time's residuals; None where there are too few windows."""
        found = [
            dependence.lag1(m.kept.sequences(self.residuals(m).round_ms))
            for m in self.members
            if len(m.kept) >= dependence.MIN_WINDOWS
        ]
        known = [value for value in found if value is not None]
        return float(np.mean(known)) if known else None

    @cached_property
    def n_eff(self) -> float:
        """Number of independent windows these are worth, ranks that move together counted once."""
        rho = dependence.unbiased(self.correlation, min(len(m.kept) for m in self.members))
        return sum(
            dependence.effective_n(len(m.kept) / len(np.unique(m.kept.rank)), rho) for m in self.members
        )


class Side:
    """The runs of one arm (repeats of each other): their parts by batch size.

    ``runs``: the decode windows of each (view ``decode_window``), or its levels where they are known already.
    """

    def __init__(
        self, runs: Sequence[pl.DataFrame | RunLevels], *, resamples: int = 2000, seed: int = 0
    ) -> None:
        self.runs = len(runs)
        self.resamples = resamples
        self.seed = seed
        levels = [run if isinstance(run, RunLevels) else run_levels(run) for run in runs]
        self.counts: dict[int, int] = sum((Counter(one.counts) for one in levels), Counter())
        self.parts = _parts(self, levels)
        self.no_context = not self.parts and any(one.lacks_context for one in levels)

    @property
    def batch_sizes(self) -> list[int]:
        """Batch sizes with at least one clean window."""
        return sorted({part.batch_size for part in self.parts})

    def usable_pct(self, batch_size: int) -> float:
        """Share of clean windows among all of a batch size; 0 where there is none."""
        clean = sum(part.n for part in self.at(batch_size))
        return 100.0 * clean / self.counts[batch_size] if clean else 0.0

    def at(self, batch_size: int) -> list[Part]:
        """The parts of one level."""
        return [part for part in self.parts if part.batch_size == batch_size]

    def rng(self, part: Part) -> np.random.Generator:
        """A generator that depends on the seed and on the windows, not on what was asked before."""
        content = b"".join(member.windows.round_ms.tobytes() for member in part.members)
        return np.random.default_rng([self.seed, zlib.crc32(content)])


def _parts(side: Side, levels: Sequence[RunLevels]) -> list[Part]:
    grouped: dict[tuple[int, bool, bool], list[tuple[int, Windows]]] = {}
    for run, one in enumerate(levels):
        for windows in one.clean:
            grouped.setdefault((windows.batch_size, windows.eager, windows.mixed), []).append((run, windows))
    return [
        Part(batch_size, eager, mixed, band + MIXED_BANDS * mixed, members, side)
        for (batch_size, eager, mixed), found in sorted(grouped.items())
        for band, members in _by_band(found)
    ]


def _by_band(found: list[tuple[int, Windows]]) -> list[tuple[int, list[Member]]]:
    numbers = bands(np.concatenate([windows.context for _, windows in found]))
    split = np.split(numbers, np.cumsum([len(windows) for _, windows in found])[:-1])
    result = []
    for band in np.unique(numbers):
        members = [
            _member(run, windows.take(mine == band))
            for (run, windows), mine in zip(found, split, strict=True)
            if (mine == band).any()
        ]
        result.append((int(band), members))
    return result


def _member(run: int, windows: Windows) -> Member:
    return Member(run, windows, windows.take(robust_line(windows.context, windows.round_ms).kept))
