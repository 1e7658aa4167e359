"""What --store may name, and that no credential gets past it."""

from pathlib import Path

import pytest

from speclog.errors import UsageError
from speclog.store.problems import redact
from speclog.store.target import parse_target


def test_a_path_with_and_without_its_prefix() -> None:
    assert parse_target("duckdb:a/b.duckdb") == parse_target("a/b.duckdb")
    assert parse_target("a/b.duckdb").kind == "file"


def test_a_postgres_lake() -> None:
    target = parse_target("ducklake:postgres:dbname=lake host=db user=me?data_path=s3://bucket/x")
    assert (target.kind, target.location) == ("postgres", "dbname=lake host=db user=me")
    assert target.data_path == "s3://bucket/x/"


def test_a_relative_data_path_becomes_one_that_every_process_reads_alike() -> None:
    assert parse_target("ducklake:sqlite:m.sqlite?data_path=here").data_path == f"{Path('here').absolute()}/"


def test_a_sqlite_lake_keeps_its_parquet_beside_the_catalog() -> None:
    assert parse_target("ducklake:sqlite:/x/m.sqlite").data_path == "/x/m.sqlite.files/"


@pytest.mark.parametrize("name", ["R&D", "c++", "100%25", "a=b", "it's a?"])
def test_a_data_path_is_taken_as_it_is(name: str) -> None:
    assert parse_target(f"ducklake:sqlite:m?data_path=/mnt/{name}/lake").data_path == f"/mnt/{name}/lake/"


def test_home_is_found_by_readers_and_writers_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In SPECLOG_STORE of a unit or container file no shell expands it; DuckDB does, where it writes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_target("~/s.duckdb").path == tmp_path / "s.duckdb"
    lake = parse_target("ducklake:sqlite:~/m.sqlite?data_path=~/data")
    assert (lake.path, lake.data_path) == (tmp_path / "m.sqlite", f"{tmp_path}/data/")
    assert parse_target("ducklake:sqlite:~/m.sqlite").data_path == f"{tmp_path}/m.sqlite.files/"


@pytest.mark.parametrize(
    "text",
    [
        "ducklake:postgres:dbname=lake password=hunter2",
        "ducklake:postgres:dbname=lake PASSWORD = 'hunter2'",
        "ducklake:postgres:postgresql://me:hunter2@db/lake",
        "ducklake:postgres:dbname=lake?data_path=s3://key:hunter2@bucket/x",
        "ducklake:postgres:dbname=lake?secret=hunter2",
    ],
)
def test_a_password_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="PGPASSFILE") as caught:
        parse_target(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":memory:",
        "quack:host",
        "ducklake:x.duckdb",
        "ducklake:sqlite:",
        "ducklake:sqlite:m?x=1",
        "s3://b/x",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_target(text)


def test_messages_lose_what_the_environment_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abcSECRETdef")
    assert "abcSECRETdef" not in redact("request with abcSECRETdef failed")
    assert "hunter2" not in redact('connection "host=db password=hunter2 user=me" failed')
