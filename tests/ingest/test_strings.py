"""Log lines in JSON strings that hold more than a line: bars before it, lines behind it, odd characters."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import IngestSummary

Ingest = Callable[..., list[IngestSummary]]
Rows = Callable[..., list[tuple[Any, ...]]]

BAR = "Capturing batches (bs=8 avail_mem=11.78 GB):  50%|█████     | 4/8 [00:02<00:02,  1.90it/s]"
MANY = [f"x line {n}" for n in range(9000)]  # so many odd lines are read as columns


def in_strings(*texts: str, key: str = "log", ascii_only: bool = False) -> list[str]:
    return [json.dumps({key: text + "\n", "stream": "stderr"}, ensure_ascii=ascii_only) for text in texts]


@pytest.mark.parametrize("more", [[], MANY], ids=["few", "many"])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_behind_a_bar_in_a_string(
    ingest: Ingest, rows: Rows, more: list[str], ascii_only: bool, end: str
) -> None:
    lines = in_strings(
        start(), BAR, f"\r{BAR}\r", f"\r{BAR}\r{prefill(1)}", f"{BAR}{decode(2)}", f"\r{decode(3)}",
        ascii_only=ascii_only,
    )  # fmt: skip
    ingest(end.join([*lines, *more]))
    assert rows("SELECT line_no, prefills_since FROM decode_window ORDER BY 1") == [(5, 1), (6, 0)]
    assert rows("SELECT line_no FROM prefill_batch") == [(4,)]


@pytest.mark.parametrize("more", [[], MANY], ids=["few", "many"])
def test_a_traceback_in_one_string_is_one_event(ingest: Ingest, rows: Rows, more: list[str]) -> None:
    text = "[2026-01-29 01:16:09] Scheduler hit an exception: Traceback (most recent call):\n File\nError"
    last = "[2026-01-29 01:16:10] The server is fired up and ready to roll!"
    ingest("\n".join([*in_strings(start(), decode(1), text, last, key="message"), *more]))
    assert rows("SELECT message, line_no, line_end FROM event WHERE kind = 'traceback'") == [
        (text[len("[2026-01-29 01:16:09] ") :], 3, 3)
    ]
    assert rows("SELECT line_no FROM decode_window") == [(2,)]


@pytest.mark.parametrize("between", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("rank", ["", " DP0"])
def test_batch_lines_of_one_string_are_rows_of_their_own(
    ingest: Ingest, rows: Rows, between: str, rank: str
) -> None:
    batches = [prefill(1, rank=rank)] + [decode(2 + n, rank=rank, req=8, tok_s=100 + n) for n in range(5)]
    text = in_strings(start(), between.join(batches), decode(9, rank=rank, req=8, tok_s=109))
    ingest("\n".join(text) + "\n")
    found = rows("SELECT line_no, gen_tok_s, prefills_since FROM decode_window ORDER BY 1")
    assert found == [(2, 100, 1), (3, 101, 0), (4, 102, 0), (5, 103, 0), (6, 104, 0), (7, 109, 0)]


@pytest.mark.parametrize("more", [[], MANY], ids=["few", "many"])
def test_halves_of_characters(ingest: Ingest, rows: Rows, more: list[str]) -> None:
    lines = [*in_strings(start(), decode(1)), '{"log":"\\ud800 [2026-01-29 01:16:06] \\udc00\\n"}', *more]
    assert [s.windows for s in ingest("\n".join(lines))] == [1]
    assert rows("SELECT line_no FROM decode_window") == [(2,)]


def test_pipeline_stages_in_one_string_count_once(ingest: Ingest, rows: Rows) -> None:
    stages = [decode(1, rank=f" PP{n} TP0") for n in (0, 1)]
    ingest("\n".join(in_strings(start(), *stages, "\n".join([*stages, *stages]))))
    assert rows("SELECT line_no, pp_rank FROM decode_window ORDER BY 1") == [(2, 0), (4, 0), (5, 0)]
