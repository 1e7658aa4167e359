"""Opening, creating and refusing stores."""

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from speclog.errors import StoreError, UsageError
from speclog.store import SCHEMA_VERSION, open_store, schema_files


def test_a_new_store_has_every_table_and_view(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.duckdb"), read_only=False) as store:
        names = {row[0] for row in store.rows("SELECT table_name FROM information_schema.tables")}
    views = [path for path in schema_files() if path.parent.name == "views"]
    # A table macro over views lies among them, as it must be made after them.
    views = [path for path in views if "CREATE OR REPLACE MACRO" not in path.read_text(encoding="utf-8")]
    expected = {path.stem.split("_", 1)[1] for path in views}
    expected |= {path.stem for path in schema_files() if path.parent.name == "tables"}
    assert expected <= names


def test_reading_a_missing_store_says_what_to_do(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="speclog ingest"),
        open_store(str(tmp_path / "none.duckdb")),
    ):
        pass


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(b"\x00not a database" * 400)
    with pytest.raises(StoreError, match="cannot be opened"), open_store(str(path), read_only=False):
        pass


def test_append_is_all_or_nothing(tmp_path: Path) -> None:
    good = pl.DataFrame({"key": ["a"], "value": ["1"], "set_at": [datetime(2026, 1, 1)]})
    with open_store(str(tmp_path / "s.duckdb"), read_only=False) as store:
        before = store.rows("SELECT count(*) FROM raw_meta")
        with pytest.raises(Exception, match="nonsense"):
            store.append({"raw_meta": good, "raw_event": pl.DataFrame({"nonsense": [1]})})
        assert store.rows("SELECT count(*) FROM raw_meta") == before


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "s.duckdb")
    with open_store(path, read_only=False) as store:
        store.rows(f"INSERT INTO raw_meta VALUES ('schema_version', '{SCHEMA_VERSION + 1}', '2099-01-01')")
    with pytest.raises(StoreError, match="newer speclog"), open_store(path):
        pass


def test_wrong_sql_is_one_line(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.duckdb"), read_only=False) as store:
        with pytest.raises(UsageError) as caught:
            store.rows("SELECT nothing FROM nowhere")
        assert "\n" not in str(caught.value)


def test_an_empty_file_is_no_store_and_what_to_do_is_said(tmp_path: Path) -> None:
    (tmp_path / "s.duckdb").touch()  # as a full disk leaves one
    with pytest.raises(StoreError, match="it is empty: remove it"), open_store(str(tmp_path / "s.duckdb")):
        pass
