"""What comes out of a store: types that polars or an older DuckDB cannot take are still served."""

from datetime import datetime, timedelta

import polars as pl
import pytest

from speclog.errors import UsageError
from speclog.store import open_store


def test_an_interval_is_a_duration_and_not_a_panic(target: str) -> None:
    with open_store(target) as store:
        frame = store.frame("SELECT INTERVAL 90 MINUTE AS a, [INTERVAL 1 DAY] AS b, NULL::INTERVAL AS c")
        assert frame["a"].to_list() == [timedelta(minutes=90)]
        assert frame["b"].to_list() == [[timedelta(days=1)]]
        assert store.rows("SELECT INTERVAL 90 MINUTE") == [(timedelta(minutes=90),)]


def test_a_sum_of_integers_is_an_integer(target: str) -> None:
    with open_store(target) as store:
        assert store.frame("SELECT sum(x) AS s FROM range(4) AS t (x)")["s"].dtype == pl.Int64
        huge = store.frame("SELECT 170141183460469231731687303715884105727::HUGEINT AS s")
        assert huge["s"].to_list() == [pytest.approx(1.7014118346e38)]


def test_a_time_with_a_zone_needs_no_extra_package(target: str) -> None:
    with open_store(target) as store:
        (value,) = store.rows("SELECT TIMESTAMPTZ '2026-01-02 03:04:05+00'")[0]
        assert (
            value.astimezone().timestamp() == datetime.fromisoformat("2026-01-02T03:04:05+00:00").timestamp()
        )
        assert store.rows("SELECT 1") == [(1,)]


def test_parameters_reach_both_rows_and_frames(target: str) -> None:
    with open_store(target) as store:
        assert store.rows("SELECT ? + 1", [1]) == [(2,)]
        assert store.frame("SELECT ? AS a", ["it's"])["a"].to_list() == ["it's"]


def test_two_columns_of_one_name_are_a_usage_error_in_a_frame(target: str) -> None:
    with open_store(target) as store, pytest.raises(UsageError, match="share a name"):
        store.frame("SELECT 1 AS a, 2 AS a")


def test_known_tells_read_from_removed(target: str) -> None:
    sql = (
        "INSERT INTO raw_ingest (ingest_id, run_id, source, session_index, sha256, parser_version, "
        "speclog_version, ingested_at, status) "
        "VALUES ('i', 'r', 'a.log', 0, 'h', 1, '0', TIMESTAMP '2026-01-01' + ?::INTERVAL, ?)"
    )
    with open_store(target, read_only=False) as store:
        assert store.known("r", "h", 1) is None
        store.rows(sql, ["0 days", "complete"])
        assert store.known("r", "h", 1) == "complete"
        assert store.known("r", "h", 2) is None
        assert store.known("r", "other", 1) is None
        store.rows(sql, ["1 days", "removed"])
        assert store.known("r", "h", 1) == "removed"


def test_columns_of_nothing_but_nulls_are_taken(target: str) -> None:
    nothing = {"i": [None], "name": [None], "x": [[]]}
    with open_store(target, read_only=False) as store:
        store.script("CREATE TABLE t (i INTEGER, name VARCHAR, x VARCHAR[], y DOUBLE[])")
        store.append({"t": pl.DataFrame(nothing)})
        assert store.rows("SELECT * FROM t") == [(None, None, [], None)]
