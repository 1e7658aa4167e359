"""Where a log's clock jumps while its server goes on: daylight saving, a clock that was set.

A window's rounds take ``running_req * tau * rounds / gen_tok_s`` seconds by the server's own steady clock.
With the same batch and no prefill since the window before, the timestamps must lie that far apart.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from speclog.formats.values import whole_number
from speclog.ingest.rows import Event
from speclog.ingest.series import numbers

if TYPE_CHECKING:
    import polars as pl

    from speclog.ingest.rows import Buffer
    from speclog.ingest.session import Session

BACK_S = 10.0
"""Lines of several processes may be a little out of order; this far back the clock went itself."""
AHEAD_S = 60.0
"""And twice the time the rounds took: no more can be rounding, or a batch that changed and changed back."""
_ROUNDS = 40
_COLUMNS = ("line_no", "ts", "running_req", "gen_tok_s", "prefills_since", "accept_len_raw")
Key = tuple[int, int]


@dataclass
class ClockWatch:
    """The last window of each session and DP rank."""

    _last: dict[Key, tuple[float, float]] = field(default_factory=dict)

    def go_on(self, before: ClockWatch, index: int) -> None:
        """Let the first session be one of another log."""
        self._last = {(0, rank): last for (owner, rank), last in before._last.items() if owner == index}

    def look(self, windows: pl.DataFrame, sessions: Sequence[Session], buffer: Buffer, source: int) -> None:
        """Note an event for each window before which the clock jumped."""
        if self._is_smooth(windows):
            return
        table = {name: _numbers(windows, name) for name in _COLUMNS}
        owners = windows["session"].to_numpy()
        ranks = _numbers(windows, "dp_rank")
        for rank in np.unique(ranks[~np.isnan(ranks)]).tolist() or [np.nan]:
            mine = np.flatnonzero(np.isnan(ranks) if np.isnan(rank) else ranks == rank)
            for index in np.unique(owners[mine]).tolist():
                rows = mine[owners[mine] == index]
                key = (index, -1 if np.isnan(rank) else int(rank))
                found = self._jumps(key, {n: c[rows] for n, c in table.items()}, sessions[index])
                for line_no, ts, jump_s in found:
                    _note(buffer, sessions[index], source, int(line_no), ts, jump_s)
        newest = int(owners[-1])
        self._last = {key: value for key, value in self._last.items() if key[0] >= newest}

    def _is_smooth(self, windows: pl.DataFrame) -> bool:
        """Whether a chunk of one rank has no gap worth a look within a session; nearly all have none."""
        rank = -1
        if windows["ts"].null_count():
            return False
        if "dp_rank" in windows.columns:
            rank = windows["dp_rank"][0]
            if rank is None or windows["dp_rank"].null_count() or not (windows["dp_rank"] == rank).all():
                return False
        owners = numbers(windows["session"])
        ts = numbers(windows["ts"]) / 1e6
        gap = np.diff(ts, prepend=self._last.get((int(owners[0]), rank), (ts[0], 0.0))[0])
        gap[1:][owners[1:] != owners[:-1]] = 0.0
        if gap.min() < -BACK_S or gap.max() > AHEAD_S:
            return False
        self._last = {(int(owners[-1]), rank): (float(ts[-1]), float(windows["running_req"][-1]))}
        return True

    def _jumps(self, key: Key, table: dict[str, Any], session: Session) -> list[tuple[float, float, float]]:
        """(line, time in s, s the clock jumped) of each jump."""
        ts, batch = table["ts"], table["running_req"]
        before, same = self._last.get(key, (np.nan, np.nan))
        gap = np.diff(ts, prepend=before)
        tokens = batch * np.nan_to_num(table["accept_len_raw"], nan=1.0) * _rounds(session)
        with np.errstate(over="ignore"):
            took = np.divide(
                tokens, table["gen_tok_s"], out=np.full(len(ts), np.nan), where=table["gen_tok_s"] > 0
            )
        steady = (batch == np.concatenate([[same], batch[:-1]])) & (table["prefills_since"] == 0)
        jumped = (gap < -BACK_S) | (steady & (gap > AHEAD_S + 2 * took))
        self._last[key] = (float(ts[-1]), float(batch[-1]))
        by = gap - np.where(steady & ~np.isnan(took), took, 0.0)
        return [(table["line_no"][i], ts[i], by[i]) for i in np.flatnonzero(jumped).tolist()]


def _rounds(session: Session) -> int:
    """Rounds a window, as the arguments say it; a hostile number is no number."""
    return whole_number(session.args.get("decode_log_interval", "")) or _ROUNDS


def _numbers(frame: pl.DataFrame, name: str) -> Any:
    """A column as floats (times in seconds); NaN where there is none."""
    import polars as pl

    if name not in frame.columns:
        return np.full(frame.height, np.nan)
    column = frame[name]
    if column.dtype == pl.Datetime:
        return (column.cast(pl.Int64) / 1e6).to_numpy()
    return column.cast(pl.Float64).to_numpy()


def _note(buffer: Buffer, session: Session, source: int, line_no: int, ts: float, jump_s: float) -> None:
    when = datetime(1970, 1, 1) + timedelta(seconds=ts)
    event = Event(
        session.index, source, line_no, line_no, when, None, "clock_jump",
        message=f"the log's clock jumped by {jump_s:+.0f} s before this line",
        fields=json.dumps({"jump_s": round(jump_s, 1)}),
    )  # fmt: skip
    bisect.insort(buffer.events, event, key=lambda known: known.line_no)
    session.n_events += 1
