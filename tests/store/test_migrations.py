"""Stores of every schema there has been open with this speclog and lose nothing; newer ones are refused."""

from pathlib import Path

import duckdb
import old_schemas
import pytest

from speclog.errors import StoreError
from speclog.ingest.api import ingest_paths
from speclog.store import open_store, schema

SUMMED_UP = ("raw_level", "raw_level_line", "raw_rank_level", "raw_summary")


def columns(path: Path) -> list[tuple[object, ...]]:
    connection = duckdb.connect(str(path), read_only=True)
    found = connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE starts_with(table_name, 'raw_') ORDER BY ALL"
    ).fetchall()
    connection.close()
    return found


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What stands in the raw tables, but for facts about the store itself."""
    connection = duckdb.connect(str(path), read_only=True)
    tables = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, 'raw_') ORDER BY ALL"
    ).fetchall()
    found = {
        table: connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
        for (table,) in tables
        if table != "raw_meta"
    }
    connection.close()
    return found


def test_the_newest_script_is_the_schema_of_today(target: str, tmp_path: Path) -> None:
    """Fails when sql/tables changes: see old_schemas.py for what to do then."""
    newest = tmp_path / "newest.duckdb"
    old_schemas.build(old_schemas.names()[-1], newest)
    assert columns(newest) == columns(Path(target))


def test_every_version_has_a_script() -> None:
    versions = {int(name.split("-")[0]) for name in old_schemas.names()}
    assert versions == set(range(1, schema.SCHEMA_VERSION + 1))


@pytest.mark.parametrize("name", old_schemas.names())
def test_an_old_store_is_brought_up_to_date_and_keeps_every_row(
    name: str, target: str, tmp_path: Path, example_logs: Path
) -> None:
    path = tmp_path / "old.duckdb"
    old_schemas.build(name, path)
    before = rows(path)
    assert before["raw_decode_window"] and before["raw_run"]
    with open_store(str(path), read_only=False) as store:
        assert store.prepared in ("views refreshed", f"migrated from schema {int(name[:4])} to "
                                  f"{schema.SCHEMA_VERSION}")  # fmt: skip
        assert schema.recorded_version(store) == schema.SCHEMA_VERSION
    assert columns(path) == columns(Path(target))
    after = rows(path)
    for table, kept in before.items():
        now = [repr(row[: len(kept[0])]) for row in after[table]] if kept else []
        if table in SUMMED_UP:  # made again from the windows where they are not whole
            assert set(map(repr, kept)) <= set(now), table
        else:
            assert now == list(map(repr, kept)), table
    with open_store(str(path)) as store:
        for item in schema.definitions():
            if item.part in ("views", "catalogue"):
                store.rows(f"SELECT count(*) FROM (SELECT hash(t) AS h FROM {item.name} AS t) WHERE h = 0")
        assert store.rows("SELECT windows FROM run") == [(len(before["raw_decode_window"]),)]
    (found, *_) = ingest_paths([example_logs / "h200-llama8b" / "base.log"], store_target=str(path))
    assert found.status == "ingested"


@pytest.mark.parametrize("name", old_schemas.names())
def test_an_old_store_that_may_only_be_read_shows_its_runs_or_says_what_to_do(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "old.duckdb"
    old_schemas.build(name, path)
    if int(name[:4]) < schema.SCHEMA_VERSION:
        with pytest.raises(StoreError, match="init` migrates"), open_store(str(path)):
            pass
        return
    with open_store(str(path)) as store:
        assert store.rows("SELECT count(*) FROM run") == [(1,)]
        assert store.rows("SELECT count(*) FROM level") != [(0,)]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_store_newer_than_this_speclog_is_refused_and_left_alone(target: str, read_only: bool) -> None:
    newer = schema.SCHEMA_VERSION + 1
    with open_store(target, read_only=False) as store:
        store.rows("INSERT INTO raw_meta VALUES ('schema_version', ?, now()::TIMESTAMP)", [str(newer)])
    before = Path(target).read_bytes()
    with (
        pytest.raises(StoreError, match=f"newer speclog .its schema is {newer}.*upgrade speclog"),
        open_store(target, read_only=read_only),
    ):
        pass
    assert Path(target).read_bytes() == before
