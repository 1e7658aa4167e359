"""Batches whose requests are equally long, and batches that mix lengths: a round waits for the longest."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from made_up import frames, window, with_starts

from speclog.analysis.breakeven import compare
from speclog.analysis.side import Side
from speclog.store import Store

Make = Callable[..., Store]
Line = tuple[int, int, int, int]  # line, requests already running, new sequences, new tokens


def prefills(name: str, lines: Sequence[Line]) -> dict[str, pl.DataFrame]:
    key = {"ingest_id": f"i-{name}", "run_id": f"id-{name}", "source_index": 0, "dp_rank": 0}
    rows = [
        key | {"line_no": line, "running_req": running, "new_seq": new, "new_token": tokens}
        for line, running, new, tokens in lines
    ]
    return {"raw_prefill_batch": pl.DataFrame(rows)}


def served(
    name: str, batches: Sequence[tuple[float, Sequence[Line]]], *, speculative: bool
) -> list[dict[str, pl.DataFrame]]:
    """Batches of eight, six lines each, round time ``(as given) + context / 1000``; prefills by lines."""
    tau = 2.0 if speculative else 1.0
    rows: list[dict[str, Any]] = []
    for a, _ in batches:
        level = [window(8, x, a + x / 1000, tau) for x in range(200, 450, 50)]
        rows += [*with_starts(level)]
    lines = [line for _, found in batches for line in found]
    return [frames(name, rows, speculative=speculative), prefills(name, lines)]


def mixes(store: Store, name: str) -> list[bool]:
    return [
        m for (m,) in store.rows("SELECT mixed FROM decode_window WHERE run = ? ORDER BY line_no", [name])
    ]


@pytest.mark.parametrize(
    ("lines", "mixed"),
    [
        ([(90, 0, 8, 1024)], [False] * 6),
        ([(90, 0, 1, 128), (91, 1, 7, 896)], [False] * 6),
        ([(90, 0, 1, 130), (91, 1, 7, 920)], [False] * 6),  # within 10 %
        ([(90, 0, 1, 316), (91, 1, 7, 1077)], [True] * 6),
        ([(90, 0, 4, 512), (1035, 4, 4, 512)], [False, False, False] + [True] * 3),  # four join later
        ([(90, 0, 8, 1024), (1035, 0, 8, 1024)], [False] * 6),  # a new batch from empty
        ([(90, 3, 5, 640)], [True] * 6),  # what else ran is not in the log
    ],
)
def test_mix_of_a_batch(new_store: Make, lines: list[Line], mixed: list[bool]) -> None:
    base, made = served("base", [(5.0, lines)], speculative=False)
    # Lines 101, 102, ...: a prefill "at 103.5" is written as 1035 and needs room between them.
    base["raw_decode_window"] = base["raw_decode_window"].with_columns(line_no=pl.col("line_no") * 10)
    made["raw_prefill_batch"] = made["raw_prefill_batch"].with_columns(
        line_no=pl.when(pl.col("line_no") < 1000).then(pl.col("line_no") * 10).otherwise(pl.col("line_no"))
    )
    assert mixes(new_store(base, made), "base") == mixed


def test_one_request_is_never_mixed_and_without_prefills_many_are(new_store: Make) -> None:
    rows = [
        *with_starts([window(1, x, 5.0) for x in (200, 240, 280)]),
        *with_starts([window(4, 200, 6.0)] * 3),
    ]
    store = new_store(frames("base", rows, speculative=False))
    assert mixes(store, "base") == [False] * 4 + [True] * 4


def test_like_is_compared_with_like(new_store: Make) -> None:
    equal, unequal = [(90, 0, 8, 1024)], [(107, 0, 1, 316), (108, 1, 7, 1077)]
    # Three times as many mixed windows, 1 ms slower each: pooled they would bend the line.
    spec = served("spec", [(9.0, equal), (10.0, []), (10.0, []), (10.0, [])], speculative=True)
    spec[1] = prefills("spec", [*equal, *unequal])
    spec[0]["raw_decode_window"] = spec[0]["raw_decode_window"].with_columns(
        line_no=pl.col("line_no") + pl.when(pl.col("line_no") > 106).then(2).otherwise(0)
    )
    base = served("base", [(5.0, equal)], speculative=False)
    store = new_store(*reversed(spec), *reversed(base))
    names, rows = store.result("SELECT * FROM break_even WHERE batch_size = 8")
    row = dict(zip(names, rows[0], strict=True))
    assert row["n_candidate"] == 5
    assert row["tau_star"] == pytest.approx((9.0 + row["context"] / 1000) / (5.0 + row["context"] / 1000))
    sides = [
        Side([store.frame("SELECT * FROM decode_window WHERE run = ?", [name])]) for name in ("spec", "base")
    ]
    mine = compare(*sides).row(0, named=True)
    assert mine["tau_star"] == pytest.approx(row["tau_star"], rel=1e-9)
    assert not any("unequal" in text for text in mine["caveats"])


def test_mixed_against_equal_is_said(new_store: Make) -> None:
    spec = served("spec", [(9.0, [(90, 0, 1, 316), (91, 1, 7, 1077)])], speculative=True)
    base = served("base", [(5.0, [(90, 0, 8, 1024)])], speculative=False)
    store = new_store(*reversed(spec), *reversed(base))
    sides = [
        Side([store.frame("SELECT * FROM decode_window WHERE run = ?", [name])]) for name in ("spec", "base")
    ]
    found = compare(*sides).row(0, named=True)
    assert found["speedup"] is not None
    assert (
        "the candidate's batches mix requests of unequal length, the other side's do not" in found["caveats"]
    )
    both = store.rows("SELECT speedup FROM break_even WHERE batch_size = 8")
    assert both[0][0] == pytest.approx(found["speedup"], rel=1e-9)


def test_a_short_overlap_and_windows_left_aside_are_said(new_store: Make) -> None:
    spec = [window(1, x, 6.0, 2.0) for x in range(560, 1200, 20)]
    plain = [window(1, x, 5.0) for x in range(200, 620, 20)]
    eager = [window(1, x, 20.0) | {"graph": False} for x in range(200, 1000, 20)]
    store = new_store(
        frames("spec", with_starts(spec), speculative=True),
        frames("base", with_starts([*plain, *eager]), speculative=False),
    )
    sides = [
        Side([store.frame("SELECT * FROM decode_window WHERE run = ?", [name])]) for name in ("spec", "base")
    ]
    found = compare(*sides).row(0, named=True)
    # Without graphs more windows are in common; but a part with graphs is there, and like meets like.
    assert found["n_baseline"] == 21
    told = " ".join(found["caveats"])
    assert "baseline: 39 of 60 clean windows are not in this number (39 without CUDA graphs)" in told
    assert "tokens of context are common: the candidate covers 700, the baseline 440" in told
    assert "ran without CUDA graphs" not in told
    view = store.rows("SELECT n_baseline, speedup FROM break_even")
    assert view == [(21, pytest.approx(found["speedup"], rel=1e-9))]
