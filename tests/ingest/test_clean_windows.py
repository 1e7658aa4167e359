"""Which decode windows are clean, and why the others are not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths
from speclog.watch.run import feed
from speclog.watch.state import State

Rows = Callable[..., list[tuple[object, ...]]]


def excluded(tmp_path: Path, store: str, rows: Rows, *lines: str) -> list[object]:
    path = tmp_path / "a.log"
    path.write_text("\n".join([start(), *lines]) + "\n")
    ingest_paths([path], store_target=store)
    return [why for (why,) in rows("SELECT excluded FROM decode_window ORDER BY line_no")]


def test_each_reason(tmp_path: Path, store: str, rows: Rows) -> None:
    assert excluded(
        tmp_path, store, rows,
        decode(1, token=200), decode(2, token=240), prefill(3), decode(4, token=100),
        decode(5, token=140), decode(6, req=2, token=400), decode(7, req=2, token=480, tok_s=0),
        decode(8, req=2, token=0),
    ) == ["first", None, "prefill", None, "batch changed", "no throughput", "empty"]  # fmt: skip


def test_fewer_tokens_are_another_batch_also_without_a_prefill(
    tmp_path: Path, store: str, rows: Rows
) -> None:
    """A decode server of a disaggregated pair prints no prefill: its next request may follow an idle time."""
    tokens = (900, 940, 300, 340, 340, 380)
    lines = [decode(1 + i, token=token) for i, token in enumerate(tokens)]
    assert excluded(tmp_path, store, rows, *lines) == ["first", None, "batch changed", None, None, None]


def of_tokens(*tokens: int, req: int = 1, rank: str = "") -> list[str]:
    return [decode(1 + i, req=req, rank=rank, token=token) for i, token in enumerate(tokens)]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (of_tokens(240, 280, 320), None),
        (of_tokens(240, 280, 440), "other requests"),  # idle, then a longer request
        (of_tokens(1000, 1320, 1640, req=8), None),
        (of_tokens(1000, 1320, 1960, req=8), "other requests"),
        (
            of_tokens(1000, 1320, 1400, req=8),
            None,
        ),  # one ended: the rounds were those of eight
        (of_tokens(1280, 1344, 1408), None),  # a page of 64 more
        (of_tokens(1280, 1344, 1344), None),  # the page was not full
        (of_tokens(1280, 1344, 1536), "other requests"),
        (of_tokens(540, 700, 860, rank=" PP0 TP0"), "other requests"),  # four micro-batches of one request
        (
            of_tokens(22404, 27404, 29964, req=126, rank=" PP0 TP0"),
            "other requests",
        ),  # 64 are left
        (of_tokens(540, 580, 620, rank=" PP0 TP0"), None),
    ],
)
def test_tokens_grow_by_what_the_batch_generated(
    tmp_path: Path, store: str, rows: Rows, lines: list[str], why: str | None
) -> None:
    assert excluded(tmp_path, store, rows, *lines)[-1] == why
    state = State()
    feed(state, [start(), *lines])
    assert state.windows[-1].left_out == why


def test_two_servers_in_one_stream_are_no_batch(tmp_path: Path, store: str, rows: Rows) -> None:
    """Lines without a tag, of two servers with a request each: what grows is not one batch."""
    lines = of_tokens(500, 2000, 540, 2040, 580, 2080)
    found = excluded(tmp_path, store, rows, *lines)
    assert found == ["first", *["other requests", "batch changed"] * 2, "other requests"]


def test_each_rank_has_its_own_batch(tmp_path: Path, store: str, rows: Rows) -> None:
    lines = [
        decode(1 + i, rank=f" DP{r} TP{r}", token=900 - 400 * r + 40 * i) for i in range(3) for r in (0, 1)
    ]
    assert excluded(tmp_path, store, rows, *lines) == ["first", "first", None, None, None, None]
