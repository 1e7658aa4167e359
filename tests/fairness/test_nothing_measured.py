"""Runs of which no window counts, and client results that their own log contradicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
import pytest

from speclog.store import Store
from tests.fairness.build import Made, baseline, candidate

Stores = Callable[..., Store]


@dataclass(frozen=True)
class Altered(Made):
    """A run whose decode windows lack an accept length, or that has a client result beside its log."""

    accept: bool = True
    client: tuple[tuple[str, object], ...] = ()

    def frames(self) -> dict[str, pl.DataFrame]:
        found = super().frames()
        if not self.accept:
            null = pl.lit(None, pl.Float64)
            lost = {"accept_len": null, "accept_len_raw": null}
            found["raw_decode_window"] = found["raw_decode_window"].with_columns(**lost)
        if self.client:
            ids = {"ingest_id": f"{self.run_id}-1", "run_id": self.run_id}
            row = ids | {"source": "b.jsonl", "line_no": 1, "tool": "bench_serving"} | dict(self.client)
            found["raw_bench_result"] = pl.DataFrame([row])
        return found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (candidate(windows=1), baseline()),  # its only window holds a prefill
        (candidate(), baseline(windows=1)),
        (candidate(windows=1), baseline(windows=1)),
        (Altered("spec", speculative=True, accept=False), baseline()),
    ],
)
def test_what_was_not_measured_is_not_fair(store_of: Stores, left: Made, right: Made) -> None:
    """Four windows were a doubt and none at all was none: such a pair was fair, and passed every check."""
    ((verdict, reasons),) = store_of(left, right).rows("SELECT verdict, reasons FROM comparison")
    assert (verdict, reasons) == ("unproven", ["1 measurement doubt: windows"])
    mend = store_of(left, right).rows("SELECT mend FROM comparison_factor WHERE name = 'measure.windows'")
    assert mend[0][0].startswith("measure longer")


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ({"accept_len": 2.2, "output_tok_s": 270.0, "max_concurrency": 1}, []),
        ({"accept_len": 4.9}, ["accept length 4.9 is not what the log prints, 2.1 to 2.1"]),
        (
            {"output_tok_s": 400.0, "max_concurrency": 1},
            ["output throughput 400 tok/s is above the 281 tok/s"],
        ),
        ({"output_tok_s": 400.0, "max_concurrency": 8}, []),  # no such batch size is in the log
    ],
)
def test_a_client_result_of_another_server_is_doubted(
    store_of: Stores, client: dict[str, object], said: list[str]
) -> None:
    run = Altered("spec", speculative=True, client=tuple(client.items()))
    store = store_of(run, baseline())
    ((doubts,),) = store.rows("SELECT doubts FROM bench_result")
    assert len(doubts) == len(said)
    assert all(text.startswith(start) for text, start in zip(doubts, said, strict=True))
    ((caveats,),) = store.rows("SELECT caveats FROM comparison")
    assert caveats == ["1 measurement caveat: client"] * bool(said)
