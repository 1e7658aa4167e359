"""New stores come from a template, and are what they would be without one."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from speclog.store import engine, open_store, schema, template
from speclog.store.handle import Store, _opened
from speclog.store.target import Target


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "speclog"


def objects(store: Store) -> list[tuple[object, ...]]:
    """Everything that is defined in a store."""
    return store.rows(
        "SELECT table_name AS name, sql FROM duckdb_tables() "
        "UNION ALL SELECT view_name, sql FROM duckdb_views() WHERE NOT internal "
        "UNION ALL SELECT function_name, macro_definition FROM duckdb_functions() "
        "WHERE NOT internal AND macro_definition IS NOT NULL ORDER BY ALL"
    )


def made(path: Path) -> list[tuple[object, ...]]:
    with open_store(str(path), read_only=False) as store:
        assert store.prepared == schema.CREATED
    with open_store(str(path)) as store:
        return objects(store)


def test_a_store_from_the_template_is_one_made_from_scratch(tmp_path: Path, cache: Path) -> None:
    scratch = Target("file", str(tmp_path / "scratch.duckdb"))
    with _opened(scratch, read_only=False, create=True, lock_timeout=0) as store:
        assert store.prepared == schema.CREATED
    with _opened(scratch, read_only=True, create=False, lock_timeout=0) as store:
        expected = objects(store)
    assert len(expected) > 60
    assert made(tmp_path / "first.duckdb") == expected  # makes the template
    (kept,) = cache.iterdir()
    before = kept.stat().st_mtime_ns
    assert made(tmp_path / "second.duckdb") == expected  # takes it
    assert kept.stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.glob("*.duckdb*")) == [
        "first.duckdb", "scratch.duckdb", "second.duckdb"
    ]  # fmt: skip


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_template_is_made_again(tmp_path: Path, cache: Path, damage: str) -> None:
    expected = made(tmp_path / "first.duckdb")
    (kept,) = cache.iterdir()
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 4
    whole = kept.read_bytes()
    kept.write_bytes({"cut": whole[: len(whole) // 2], "flipped": bytes(data), "empty": b""}[damage])
    assert made(tmp_path / "second.duckdb") == expected
    assert len(gzip.decompress(kept.read_bytes())) > 100_000


def test_without_a_cache_directory_a_store_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert made(tmp_path / "s.duckdb")


def test_a_template_of_another_user_is_not_used(tmp_path: Path, cache: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("giving a file away needs root")
    expected = made(tmp_path / "first.duckdb")
    (kept,) = cache.iterdir()
    os.chown(kept, 12345, -1)
    assert made(tmp_path / "second.duckdb") == expected
    assert kept.stat().st_uid == 0


def test_what_is_there_is_never_replaced(tmp_path: Path) -> None:
    there = tmp_path / "s.duckdb"
    made(tmp_path / "first.duckdb")

    def late(path: Path) -> None:
        there.write_bytes(b"made by another process meanwhile")
        made(path)

    assert not template.provide(there, "a schema of its own", late)
    assert there.read_bytes() == b"made by another process meanwhile"
    assert not template.provide(there, "a schema of its own", late)
    assert not list(tmp_path.glob(".*new*"))


def test_the_log_of_a_deleted_store_is_not_replayed_into_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    made(path)
    connection = engine.connect(Target("file", str(path)), read_only=False, create=False, lock_timeout=0)
    connection.execute("SET wal_autocheckpoint = '1GB'")
    connection.execute("INSERT INTO raw_annotation VALUES ('r', 'tag', 'x', NULL, '2026-01-01')")
    log = path.with_name("s.duckdb.wal").read_bytes()
    connection.close()
    path.unlink()
    path.with_name("s.duckdb.wal").write_bytes(log)
    assert made(path)
    with open_store(str(path)) as store:
        assert store.rows("SELECT count(*) FROM raw_annotation") == [(0,)]


def test_only_a_few_templates_are_kept(tmp_path: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    for n in range(20):
        (cache / f"store-{n:020d}.duckdb.gz").write_bytes(b"")
        os.utime(cache / f"store-{n:020d}.duckdb.gz", (n, n))
    made(tmp_path / "s.duckdb")
    assert len(list(cache.glob("store-*"))) == template.KEPT
    assert made(tmp_path / "t.duckdb")
