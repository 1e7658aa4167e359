"""SQL that a person typed can neither write nor leave the store."""

from pathlib import Path

import pytest

from speclog.errors import SpeclogError, UsageError
from speclog.store import open_store
from speclog.store.handle import Store

QUERIES = [
    "SELECT count(*) FROM run",
    "FROM decode_window",
    "WITH a AS (SELECT 1 AS x) SELECT * FROM a, range(3)",
    "DESCRIBE run",
    "SHOW TABLES",
    "SUMMARIZE raw_run",
    "EXPLAIN SELECT * FROM run",
    "EXPLAIN ANALYZE SELECT * FROM run",
    "PIVOT run ON engine IN ('sglang')",
    "SELECT now(), INTERVAL 1 DAY",
    "SELECT * FROM duckdb_views()",
    "SELECT 1;",
]
ATTACKS = [
    "COPY (SELECT 1) TO '{out}'",
    "COPY (SELECT 1) TO '{store}.wal' (FORMAT csv)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'",
    "EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{out}'",
    "EXPORT DATABASE '{out}'",
    "FROM enable_logging(storage = 'file', storage_path = '{out}')",
    "CALL enable_logging(storage = 'file', storage_path = '{out}')",
    "ATTACH '{out}' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA enable_profiling = 'json'",
    "SET temp_directory = '{out}'",
    "SET enable_external_access = true",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE PERSISTENT SECRET x (TYPE s3)",
    "DROP VIEW run",
    "INSERT INTO raw_meta VALUES ('a', 'b', '2026-01-01')",
    "WITH a AS (INSERT INTO raw_meta VALUES ('a', 'b', '2026-01-01') RETURNING *) SELECT * FROM a",
    "DELETE FROM raw_meta",
    "SELECT 1; DELETE FROM raw_meta",
    "CHECKPOINT",
    "FROM force_checkpoint()",
    "SELECT write_log('x')",
    "FROM read_text('{secret}')",
    "FROM READ_TEXT('{secret}')",
    "FROM read_csv('{secret}')",
    "FROM read_blob('{secret}')",
    "FROM '{secret}'",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "FROM query('FROM read_text(''{secret}'')')",
    "FROM glob('/*')",
    "FROM sniff_csv('{secret}')",
    "FROM parquet_metadata('{secret}')",
    "FROM sqlite_scan('{secret}', 't')",
    "FROM duckdb_secrets()",
    "SELECT getenv('HOME')",
    "PREPARE a AS SELECT 1",
    "BEGIN",
    "",
]


def test_queries_are_answered(target: str) -> None:
    with open_store(target) as store:
        store.enter_sandbox()
        for query in QUERIES:
            assert store.result(query)[0], query


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_refused(target: str, tmp_path: Path, attack: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,geheim\n")
    out = tmp_path / "out"
    sql = attack.format(out=out, secret=secret, store=target)
    before = _state(tmp_path)
    with open_store(target) as store:
        store.enter_sandbox()
        for ask in (store.result, store.rows, store.frame, store.script):
            with pytest.raises(UsageError) as caught:
                ask(sql)
            assert "geheim" not in str(caught.value)
    assert _state(tmp_path) == before


def test_the_engine_itself_refuses_what_the_inspection_would_let_through(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wall stands alone: without the inspection, external access is still off and locked."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,geheim\n")
    with open_store(target) as store:
        store.enter_sandbox()
        monkeypatch.setattr(Store, "_inspect", lambda self, sql: None)
        for sql in (
            f"FROM read_text('{secret}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out'}'",
            "SET enable_external_access = true",
            "DELETE FROM raw_meta",
        ):
            with pytest.raises(SpeclogError):
                store.rows(sql)


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
