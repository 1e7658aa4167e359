"""Batch lines read as columns while another thread reads other lines of the same log."""

from __future__ import annotations

import numpy as np
import pytest

from speclog.formats.block import block_of
from speclog.formats.columns import Batches, BatchReader
from speclog.formats.texts import TextReader


def _lines(n: int) -> bytes:
    return b"".join(
        b"[2026-01-28 22:13:%02d TP0] Decode batch, #running-req: 2, #token: %d, token usage: 0.00, "
        b"cuda graph: True, gen throughput (token/s): 43.24, #queue-req: 0, \n" % (i % 60, 136 + i)
        for i in range(n)
    )


@pytest.mark.parametrize("n", [50, 1000])
def test_a_layout_that_another_thread_learnt_meanwhile_reads_the_block_at_hand(n: int) -> None:
    reader, batches = BatchReader(), Batches()
    others: list[int] = []

    def is_noise(text: str) -> bool:
        """Asked of a line before its layout is looked for: here the other thread comes first."""
        if not others:
            others.append(0)
            BatchReader.read(
                reader, block_of(_lines(1), np.arange(1)), Batches(), TextReader(lambda _: False)
            )
        return False

    rest, left = reader.read(block_of(_lines(n), np.arange(n)), batches, TextReader(is_noise))
    assert (len(rest), left.height) == (0, 0)
    assert len(reader.layouts) == 1
    assert not batches.slow, "read line by line"
    frame = batches.frames()["decode_window"]
    assert frame["line_no"].to_list() == list(range(n))
    assert frame["token"].to_list() == list(range(136, 136 + n))
