"""Versions of the schema: forward by numbered steps, refused when newer, overlaid when only views differ."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from speclog import resources
from speclog.errors import StoreError
from speclog.store import open_store, schema


@pytest.fixture
def sql(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of sql/ that a test may change, in use."""
    copy = tmp_path / "sql"
    shutil.copytree(root / "sql", copy)
    real = resources.directory
    monkeypatch.setattr(resources, "directory", lambda name: copy if name == "sql" else real(name))
    schema.definitions.cache_clear()
    yield copy
    schema.definitions.cache_clear()


def test_the_version_is_the_newest_step() -> None:
    numbers = [number for number, _ in schema.migrations()]
    assert numbers == list(range(2, schema.SCHEMA_VERSION + 1))


def test_a_step_changes_an_old_store_and_keeps_its_rows(
    target: str, sql: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(target, read_only=False) as store:
        store.rows("INSERT INTO raw_annotation VALUES ('r', 'tag', 'x', NULL, '2026-01-01')")
    number = schema.SCHEMA_VERSION + 1
    monkeypatch.setattr(schema, "SCHEMA_VERSION", number)
    (sql / "migrations").mkdir(exist_ok=True)
    (sql / "migrations" / f"{number:04d}_why.sql").write_text(
        "ALTER TABLE raw_annotation ADD COLUMN IF NOT EXISTS why VARCHAR;\n"
        "UPDATE raw_annotation SET why = 'old';\n"
    )
    table = sql / "tables" / "raw_annotation.sql"
    table.write_text(
        table.read_text().replace(
            "annotated_at TIMESTAMP NOT NULL", "annotated_at TIMESTAMP NOT NULL,\n    why VARCHAR"
        )
    )
    schema.definitions.cache_clear()
    with pytest.raises(StoreError, match="init` migrates"), open_store(target):
        pass
    with open_store(target, read_only=False) as store:
        assert schema.recorded_version(store) == number
    with open_store(target) as store:
        assert store.rows("SELECT run_id, value, why FROM raw_annotation") == [("r", "x", "old")]


def test_a_step_that_fails_leaves_the_old_store(
    target: str, sql: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = schema.SCHEMA_VERSION + 1
    (sql / "migrations").mkdir(exist_ok=True)
    step = sql / "migrations" / f"{number:04d}_bad.sql"
    step.write_text("ALTER TABLE raw_annotation ADD COLUMN half VARCHAR;\nSELECT nonsense;\n")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "SCHEMA_VERSION", number)
        schema.definitions.cache_clear()
        (sql / "views" / "99_changed.sql").write_text("CREATE OR REPLACE VIEW changed AS SELECT 1 AS x;\n")
        with pytest.raises(StoreError, match="_bad"), open_store(target, read_only=False):
            pass
    step.unlink()
    schema.definitions.cache_clear()
    with open_store(target) as store:
        assert schema.recorded_version(store) == schema.SCHEMA_VERSION
        columns = [row[0] for row in store.rows("DESCRIBE raw_annotation")]
    assert "half" not in columns


def test_a_reader_sees_its_own_views_over_an_older_store(target: str, sql: Path) -> None:
    (sql / "views" / "99_added.sql").write_text(
        "CREATE OR REPLACE VIEW added AS SELECT count(*) AS n FROM run;\n"
    )
    (sql / "tables" / "raw_added.sql").write_text(
        "CREATE TABLE IF NOT EXISTS raw_added (x INTEGER NOT NULL);\n"
    )
    (sql / "macros" / "added.sql").write_text("CREATE OR REPLACE MACRO twice(x) AS 2 * x;\n")
    schema.definitions.cache_clear()
    with open_store(target) as store:
        assert store.rows("SELECT twice(n), (SELECT count(*) FROM raw_added) FROM added") == [(0, 0)]


def test_a_view_no_longer_shipped_goes_and_a_user_s_own_stays(target: str, sql: Path) -> None:
    added = sql / "views" / "99_added.sql"
    added.write_text("CREATE OR REPLACE VIEW added AS SELECT 1 AS x;\n")
    schema.definitions.cache_clear()
    with open_store(target, read_only=False) as store:
        store.script("CREATE VIEW mine AS SELECT * FROM added")
    added.unlink()
    schema.definitions.cache_clear()
    with open_store(target, read_only=False) as store:
        names = {row[0] for row in store.rows("SELECT view_name FROM duckdb_views()")}
    assert "added" not in names
    assert "mine" in names


def test_views_of_a_newer_release_are_left_in_place(
    target: str, sql: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = sql / "views" / "99_added.sql"
    view.write_text("CREATE OR REPLACE VIEW added AS SELECT 'new' AS x;\n")
    schema.definitions.cache_clear()
    monkeypatch.setattr(schema, "__version__", "99.0.0")
    with open_store(target, read_only=False):
        pass
    view.write_text("CREATE OR REPLACE VIEW added AS SELECT 'old' AS x;\n")
    schema.definitions.cache_clear()
    monkeypatch.setattr(schema, "__version__", "0.0.1")
    with open_store(target, read_only=False) as store:
        assert store.rows("SELECT x FROM added") == [("old",)]  # its own view, for this connection
        assert store.rows("SELECT sql FROM duckdb_views() WHERE view_name = 'added' AND NOT temporary")[0][
            0
        ].count("'new'")


def test_a_database_that_is_no_store_is_refused_to_a_reader(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "other.duckdb"
    duckdb.connect(str(path)).close()
    with pytest.raises(StoreError, match="not a speclog store"), open_store(str(path)):
        pass
