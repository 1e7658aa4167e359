"""Clock jumps become events: backwards always, ahead only where the rounds prove that no time went by."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sglang_lines import start

from speclog.ingest import parallel

Ingest = Callable[..., Any]
Rows = Callable[..., list[tuple[Any, ...]]]
SQL = "SELECT line_no, fields->>'jump_s', ts FROM event WHERE kind = 'clock_jump' ORDER BY line_no"


def decode(when: datetime, *, req: int = 1, tok_s: float = 40.0, rank: str = "") -> str:
    """A window of 40 rounds of one token a request: at 40 tok/s it takes ``req`` seconds."""
    return (
        f"[{when:%Y-%m-%d %H:%M:%S}{rank}] Decode batch, #running-req: {req}, #token: 500, "
        f"token usage: 0.01, "
        f"cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0"
    )


def prefill(when: datetime) -> str:
    return (
        f"[{when:%Y-%m-%d %H:%M:%S}] Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 0, "
        "token usage: 0.00, #running-req: 0, #queue-req: 0"
    )


def seconds(*after: float) -> list[datetime]:
    return [datetime(2026, 10, 25, 2, 59, 50) + timedelta(seconds=n) for n in after]


def log(*lines: str) -> str:
    return "\n".join([start(), *lines]) + "\n"


def test_a_steady_log_has_none(ingest: Ingest, rows: Rows) -> None:
    ingest(log(*(decode(t) for t in seconds(*range(30)))))
    assert rows(SQL) == []


@pytest.mark.parametrize("block", [1 << 20, 250])
def test_daylight_saving_ends(
    ingest: Ingest, rows: Rows, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "BLOCK", block)
    monkeypatch.setattr(parallel, "STRETCH", block)
    ingest(log(*(decode(t) for t in seconds(0, 1, 2, -3597, -3596))))
    assert rows(SQL) == [(5, "-3600.0", datetime(2026, 10, 25, 1, 59, 53))]


def test_daylight_saving_begins(ingest: Ingest, rows: Rows) -> None:
    ingest(log(*(decode(t) for t in seconds(0, 1, 2, 3603, 3604))))
    assert rows(SQL) == [(5, "3600.0", datetime(2026, 10, 25, 3, 59, 53))]


def test_an_idle_hour_is_no_jump(ingest: Ingest, rows: Rows) -> None:
    a, b, c, d = seconds(0, 1, 3601, 3602)
    ingest(log(decode(a), decode(b), prefill(c), decode(c), decode(d)))
    assert rows(SQL) == []


def test_slow_rounds_are_no_jump(ingest: Ingest, rows: Rows) -> None:
    a, b, c = seconds(0, 1, 401)
    ingest(log(decode(a), decode(b), decode(c, tok_s=0.1)))
    assert rows(SQL) == []


def test_each_dp_rank_has_its_own_rounds(ingest: Ingest, rows: Rows) -> None:
    times = seconds(0, 1, 2, -3597)
    ingest(log(*(decode(t, rank=f" DP{rank}") for t in times for rank in range(2))))
    assert [line for line, *_ in rows(SQL)] == [8, 9]


def test_another_session_may_be_of_another_day(ingest: Ingest, rows: Rows) -> None:
    a, b, c = seconds(0, 1, -86400)
    ingest(log(decode(a), decode(b), start(), decode(c)))
    assert rows(SQL) == []
