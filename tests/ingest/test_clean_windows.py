"""Which decode windows are clean, and why the others are not."""

from collections.abc import Callable
from pathlib import Path

from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths

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


def test_each_rank_has_its_own_batch(tmp_path: Path, store: str, rows: Rows) -> None:
    lines = [
        decode(1 + i, rank=f" DP{r} TP{r}", token=900 - 400 * r + 40 * i) for i in range(3) for r in (0, 1)
    ]
    assert excluded(tmp_path, store, rows, *lines) == ["first", "first", None, None, None, None]
