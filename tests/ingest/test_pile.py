"""Rows wait until they fill a row group: none is lost, none told twice, and all in the order they came in."""

import polars as pl
import pytest

from speclog.ingest import pile
from speclog.ingest.pile import Pile
from speclog.store.rows import Rows


def rows(*numbers: int, same: dict[str, object] | None = None, **more: object) -> Rows:
    frame = pl.DataFrame({"line_no": numbers}, schema={"line_no": pl.Int64})
    return Rows(frame.with_columns(pl.lit(value).alias(name) for name, value in more.items()), same or {})


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pile, "ROW_GROUP", 4)


def test_a_table_is_written_when_it_has_a_row_group_and_all_are_at_the_end() -> None:
    held = Pile()
    assert held.add({"a": rows(1, 2), "b": rows(1)}) == {}
    assert {t: r.frame["line_no"].to_list() for t, r in held.add({"a": rows(3, 4, 5)}).items()} == {
        "a": [1, 2, 3, 4, 5]
    }
    last = held.add({"a": rows(6), "c": rows(7)}, last=True)
    assert {t: r.frame["line_no"].to_list() for t, r in last.items()} == {"b": [1], "a": [6], "c": [7]}
    assert held.add({}, last=True) == {}


def test_long_messages_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pile, "MOST_BYTES", 1000)
    held = Pile()
    assert held.add({"event": rows(1, message="short")}) == {}
    written = held.add({"event": rows(2, message="long " * 300)})["event"]
    assert written.frame["message"].str.len_chars().to_list() == [5, 1500]


def test_what_parts_share_stays_apart_only_if_all_share_it() -> None:
    a, b = {"run_id": "a"}, {"run_id": "b"}
    held = Pile()
    held.add({"t": rows(1, 2, same=a)})
    one = held.add({"t": rows(3, 4, same=a)})["t"]
    assert (one.same, one.frame.columns) == (a, ["line_no"])
    held.add({"t": rows(1, 2, same=a)})
    held.add({"t": rows(3, same=b)})
    several = held.add({"t": rows(4, run_id="c")})["t"]
    assert several.same == {}
    assert several.frame.rows() == [(1, "a"), (2, "a"), (3, "b"), (4, "c")]


def test_a_part_may_lack_columns_that_another_has() -> None:
    held = Pile()
    held.add({"t": rows(1, 2)})
    both = held.add({"t": rows(3, 4, accept_len=2.5)})["t"].frame
    assert both["accept_len"].to_list() == [None, None, 2.5, 2.5]
