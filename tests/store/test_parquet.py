"""Export and import: what goes out comes back, and anything that reads Parquet reads it."""

import json
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from made_runs import START, frames

from speclog.errors import InputError, UsageError
from speclog.runs import resolve
from speclog.store import open_store, removal, schema
from speclog.store.parquet import export, import_, tables


@pytest.fixture
def filled(target: str) -> str:
    """A store with two runs of two models, one of them read twice, and an annotation."""
    with open_store(target, read_only=False) as store:
        store.append(frames("a", windows=5))
        store.append(frames("a", windows=7, ingest="2", at=START + timedelta(hours=1)))
        store.append(frames("b", speculative=False, model="../../etc/it's a model"))
        store.rows("INSERT INTO raw_annotation SELECT run_id, 'tag', 'x', NULL, '2026-11-01' FROM run")
    return target


def shown(target: str) -> dict[str, list[tuple[object, ...]]]:
    """Every view's rows."""
    views = [item.name for item in schema.definitions() if item.part == "views"]
    with open_store(target) as store:
        return {name: store.rows(f"SELECT * FROM {name} ORDER BY ALL") for name in views}


def test_what_goes_out_comes_back(filled: str, tmp_path: Path) -> None:
    out, other = tmp_path / "out", str(tmp_path / "other.duckdb")
    with open_store(filled) as store:
        assert export(store, out) == 2
    with open_store(other, read_only=False) as store:
        done = import_(store, out)
        assert (done.runs, done.already_there) == (2, 0)
        again = import_(store, out)
        assert (again.runs, again.already_there, again.rows) == (0, 2, 0)
    assert shown(other) == shown(filled)
    with open_store(other) as store:  # the superseded ingest stayed behind
        assert store.rows("SELECT count(*) FROM raw_ingest") == [(2,)]


def test_the_layout_is_plain_parquet_by_date_and_model(filled: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(filled) as store:
        export(store, out)
        count = store.rows("SELECT count(*) FROM decode_window")[0][0]
    parts = {
        path.parent.relative_to(out).as_posix() for path in out.rglob("*.parquet") if path.stem != "empty"
    }
    assert "raw_decode_window/date=2026-11-01/model=meta-llama-Llama-3.1-8B" in parts
    assert "raw_decode_window/date=2026-11-01/model=..-..-etc-it-s-a-model" in parts
    assert pl.scan_parquet(out / "raw_decode_window", hive_partitioning=True).collect().height == count
    for table in tables():
        assert list((out / table).rglob("*.parquet")), table


def test_open_sql_gives_every_view_to_plain_duckdb(filled: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(filled) as store:
        export(store, out)
        expected = store.rows(
            "SELECT run, count(*), sum(round_ms) FROM decode_window GROUP BY run ORDER BY run"
        )
    code = (
        "import duckdb, json; c = duckdb.connect(); c.execute(open('open.sql').read()); "
        "print(json.dumps(c.execute("
        "'SELECT run, count(*), sum(round_ms) FROM decode_window GROUP BY run ORDER BY run').fetchall()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=out, capture_output=True, text=True, timeout=60)
    rows = [(run, count, pytest.approx(total)) for run, count, total in json.loads(done.stdout)]
    assert expected == rows


def test_chosen_runs_only(filled: str, tmp_path: Path) -> None:
    with open_store(filled) as store:
        (run_id,) = store.rows("SELECT run_id FROM run WHERE name = 'b'")[0]
        assert export(store, tmp_path / "out", run_ids=[run_id]) == 1
    rows = pl.read_parquet(
        tmp_path / "out" / "raw_decode_window" / "**" / "*.parquet", hive_partitioning=False
    )
    assert rows["run_id"].unique().to_list() == [run_id]


def test_an_export_is_replaced_only_when_told_and_other_directories_never(
    filled: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with open_store(filled) as store:
        export(store, out)
        with pytest.raises(UsageError, match="--overwrite"):
            export(store, out)
        export(store, out, overwrite=True)
        other = tmp_path / "mine"
        other.mkdir()
        (other / "precious").write_text("x")
        with pytest.raises(UsageError, match="not an export"):
            export(store, other, overwrite=True)
    assert (other / "precious").read_text() == "x"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "mine", "s.duckdb"}  # nothing half-written


@pytest.mark.parametrize("where", ["here", "link", "again"])
def test_a_directory_that_is_there_is_filled_and_not_replaced(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """It may be the current one, a link to another disk, or a mount point; what else lies in it stays."""
    disk = tmp_path / "disk"
    disk.mkdir()
    out = disk
    if where == "here":
        monkeypatch.chdir(disk)
        out = Path()
    elif where == "link":
        out = tmp_path / "link"
        out.symlink_to(disk)
    with open_store(filled) as store:
        export(store, out)
        if where == "again":
            (disk / "note.txt").write_text("mine")
            export(store, out, run_ids=resolve(store, "a"), overwrite=True)
            assert (disk / "note.txt").read_text() == "mine"
        inside = {path.name for path in disk.iterdir()} - {"note.txt"}
    assert inside == {"export.json", "open.sql", *tables()}
    with open_store(str(tmp_path / "other.duckdb"), read_only=False) as store:
        assert import_(store, disk).runs == (1 if where == "again" else 2)


def test_an_export_that_fails_leaves_nothing(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "there").mkdir()
    monkeypatch.setattr("speclog.store.parquet._open_sql", full)
    with open_store(filled) as store:
        for name in ("there", "new"):
            with pytest.raises(OSError, match="No space"):
                export(store, tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"there", "s.duckdb"}
    assert not list((tmp_path / "there").iterdir())


def test_a_followed_run_counts_once(filled: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(filled, read_only=False) as store:
        store.rows("INSERT INTO raw_run BY NAME SELECT * REPLACE (99 AS last_line) FROM raw_run")
    with open_store(filled) as store:
        assert export(store, out) == 2
    with open_store(str(tmp_path / "other.duckdb"), read_only=False) as store:
        done, again = import_(store, out), import_(store, out)
    assert [(d.runs, d.already_there) for d in (done, again)] == [(2, 0), (0, 2)]


def test_a_removed_run_is_not_brought_back_and_that_is_said(filled: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(filled, read_only=False) as store:
        export(store, out)
        removal.remove(store, resolve(store, "a"))
        done = import_(store, out)
        assert (done.runs, done.already_there, done.rows) == (0, 2, 0)
        assert list(done.notes) == ["1 of them removed (`speclog runs restore` brings them back)"]
        assert store.rows("SELECT name FROM run") == [("b",)]


def test_of_two_readings_of_other_content_the_newer_is_shown(target: str, tmp_path: Path) -> None:
    """An import of the older one must not say that it came: nobody would see it, and gc would take it."""
    out, other = tmp_path / "out", str(tmp_path / "other.duckdb")
    with open_store(target, read_only=False) as store:
        store.append(frames("a", windows=5, ingest="old"))
        export(store, out)
    with open_store(other, read_only=False) as store:
        store.append(frames("a", windows=3, ingest="new", at=START + timedelta(hours=1)))
        store.rows("UPDATE raw_decode_window SET gen_tok_s = gen_tok_s + 1")
        done = import_(store, out)
        assert (done.runs, done.already_there, done.rows) == (0, 1, 0)
        assert list(done.notes) == ["1 of them in an older reading or with less of the log"]
        assert store.rows("SELECT windows FROM run") == [(3,)]


def test_damaged_exports_are_refused_and_nothing_arrives(filled: str, tmp_path: Path) -> None:
    out, other = tmp_path / "out", str(tmp_path / "other.duckdb")
    with open_store(filled) as store:
        export(store, out)

    def broken(change: str) -> Path:
        copy = tmp_path / change
        shutil.copytree(out, copy)
        file = next((copy / "raw_decode_window").rglob("*.parquet"))
        meta = json.loads((copy / "export.json").read_text())
        match change:
            case "missing":
                file.unlink()
            case "truncated":
                file.write_bytes(file.read_bytes()[:100])
            case "columns":
                pl.read_parquet(file).with_columns(nonsense=1).write_parquet(file)
            case "newer":
                meta["schema_version"] += 1
            case "link":
                file.rename(tmp_path / "elsewhere.parquet")
                file.symlink_to(tmp_path / "elsewhere.parquet")
            case "meta":
                meta = []
        (copy / "export.json").write_text(json.dumps(meta))
        return copy

    for change in ("missing", "truncated", "columns", "newer", "link", "meta"):
        with open_store(other, read_only=False) as store:
            with pytest.raises(InputError):
                import_(store, broken(change))
            assert store.rows("SELECT count(*) FROM raw_run") == [(0,)], change
    with open_store(other, read_only=False) as store, pytest.raises(InputError):
        import_(store, tmp_path / "nowhere")
