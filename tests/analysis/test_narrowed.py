"""A few runs of a big store are read by their times, and give what they give when every run is looked at."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from speclog.analysis import windows
from speclog.errors import StoreError
from speclog.store import Store, narrowed
from tests.analysis.made_up import frames, window, with_starts

Make = Callable[..., Store]
NOON = datetime(2026, 1, 1, 12)


def _run(name: str, hour: int | None, *, size: int = 1) -> dict[str, pl.DataFrame]:
    """One run of sixty windows and two prefill lines, from an hour on; None: its log lost all times."""
    rows: list[dict[str, Any]] = with_starts(
        [window(size, 300 + 9 * n, 8 + 0.01 * n, 2.4) for n in range(60)]
    )
    start = None if hour is None else NOON + timedelta(hours=hour)
    for place, row in enumerate(rows):
        row["ts"] = None if start is None else start + timedelta(seconds=place)
    made = frames(name, rows, speculative=True)
    made["raw_decode_window"] = made["raw_decode_window"].with_columns(pl.col("ts").cast(pl.Datetime("us")))
    prefill = {"ingest_id": f"i-{name}", "run_id": f"id-{name}", "source_index": 0, "dp_rank": 0}
    prefill |= {"new_seq": 1, "new_token": 290, "cached_token": 0, "queue_req": 0, "running_req": 0}
    # The first comes before any decode line: its time lies outside of theirs.
    made["raw_prefill_batch"] = pl.DataFrame(
        [
            prefill | {"line_no": 100, "ts": None if start is None else start - timedelta(minutes=1)},
            prefill | {"line_no": 130, "ts": None if start is None else start, "new_token": 900},
        ],
        schema_overrides={"ts": pl.Datetime("us")},
    )
    return made


def _ids(*names: str) -> list[str]:
    return [f"id-{name}" for name in names]


@pytest.mark.parametrize(
    "names", [("a",), ("a", "d"), ("timeless",), ("b", "timeless", "c"), ("nobody",), ("a", "nobody")]
)
def test_runs_read_by_their_times_are_the_same(
    new_store: Make, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    store = new_store(
        _run("a", 0, size=2), _run("b", 1, size=2), _run("c", 1, size=4), _run("d", 9),
        _run("timeless", None, size=2),
    )  # fmt: skip
    whole = windows.load(store, _ids(*names))
    monkeypatch.setattr(narrowed, "BIG", 1)
    found = windows.load(store, _ids(*names))
    assert {key: len(frame) for key, frame in found.items()} == {
        key: 0 if key == "id-nobody" else 61 for key in _ids(*names)
    }
    for key, frame in whole.items():
        assert found[key].equals(frame), key
    assert store.rows("SELECT count(*) FROM raw_decode_window") == [(5 * 61,)]
    assert store.rows("SELECT count(*) FROM raw_prefill_batch") == [(10,)]


def test_other_lines_are_not_there_within_the_block(new_store: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store(_run("a", 0), _run("b", 1), _run("timeless", None))
    monkeypatch.setattr(narrowed, "BIG", 1)
    with narrowed.lines_of(store, _ids("a")):
        assert store.rows("SELECT run_id, count(*) FROM raw_decode_window GROUP BY ALL") == [("id-a", 61)]
        assert store.rows("SELECT run_id, count(*) FROM raw_prefill_batch GROUP BY ALL") == [("id-a", 2)]
    assert store.rows("SELECT count(*) FROM raw_decode_window") == [(3 * 61,)]


def test_an_error_within_the_block_leaves_no_narrow_table(
    new_store: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(_run("a", 0), _run("b", 1))
    monkeypatch.setattr(narrowed, "BIG", 1)
    with pytest.raises(StoreError), narrowed.lines_of(store, _ids("a")):
        raise StoreError("gone")
    assert store.rows("SELECT count(*) FROM raw_decode_window") == [(2 * 61,)]


def test_a_small_store_is_left_alone(new_store: Make) -> None:
    store = new_store(_run("a", 0), _run("b", 1))
    with narrowed.lines_of(store, _ids("a")):
        assert store.rows("SELECT count(*) FROM raw_decode_window") == [(2 * 61,)]
