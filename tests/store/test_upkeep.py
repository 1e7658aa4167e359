"""Removing and restoring runs, collecting garbage, and creating stores from the command line."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from made_runs import START, frames

from speclog.errors import UsageError
from speclog.runs import resolve
from speclog.store import open_store, removal
from speclog.store.gc import collect

NOW = timedelta(0)


def speclog(target: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "speclog", "--store", target, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def two_runs(target: str) -> str:
    """A store with run `a`, read twice, and run `b`."""
    with open_store(target, read_only=False) as store:
        store.append(frames("a", windows=5))
        store.append(frames("a", windows=7, ingest="2", at=START + timedelta(hours=1)))
        store.append(frames("b", speculative=False))
        store.rows("INSERT INTO raw_annotation SELECT run_id, 'tag', 'x', NULL, '2026-11-01' FROM run")
    return target


def test_a_removed_run_is_gone_from_every_view_and_comes_back_as_it_was(two_runs: str) -> None:
    with open_store(two_runs, read_only=False) as store:
        before = store.rows("SELECT * EXCLUDE (ingested_at) FROM run ORDER BY name")
        ids = resolve(store, "a")
        assert removal.remove(store, ids) == 1
        assert store.rows("SELECT name FROM run") == [("b",)]
        assert store.rows("SELECT DISTINCT run FROM decode_window") == [("b",)]
        assert [name for _, name, _ in removal.removed_runs(store)] == ["a"]
        assert removal.restore(store, removal.resolve_removed(store, "a")) == 1
        assert store.rows("SELECT * EXCLUDE (ingested_at) FROM run ORDER BY name") == before
        assert removal.removed_runs(store) == []


def test_a_clock_that_runs_behind_still_removes(two_runs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(two_runs, read_only=False) as store:
        store.append(frames("late", at=START.replace(year=2099)))
        removal.remove(store, resolve(store, "late"))
        assert ("late",) not in store.rows("SELECT name FROM run")
        removal.restore(store, removal.resolve_removed(store, "late"))
        assert ("late",) in store.rows("SELECT name FROM run")


def test_a_clock_that_runs_behind_still_shows_what_it_read(target: str) -> None:
    """A host whose clock is an hour behind reads a log that has grown: that is what counts, also after gc."""
    with open_store(target, read_only=False) as store:
        store.append(frames("a", windows=5, at=START + timedelta(hours=1)))
        store.append(frames("a", windows=7, ingest="2", at=START))
        assert store.rows("SELECT windows, ingested_at FROM run") == [
            (7, START + timedelta(hours=1, microseconds=1))
        ]
        collect(store, older_than=NOW)
        assert store.rows("SELECT windows FROM run") == [(7,)]
        assert store.rows("SELECT count(*) FROM open_run") == [(0,)]  # its sums are its own


def test_a_followed_run_is_listed_once_and_comes_back_by_what_it_went_by(two_runs: str) -> None:
    with open_store(two_runs, read_only=False) as store:
        store.rows(
            "INSERT INTO raw_run BY NAME SELECT * REPLACE (99 AS last_line) FROM raw_run WHERE name = 'b'"
        )
        for text in ("b", "?", "x", "[ab]"):  # name, glob over names, tag
            removal.remove(store, resolve(store, text))
            listed = removal.removed_runs(store)
            assert len(listed) == len({run_id for run_id, _, _ in listed}) == (1 if text == "b" else 2)
            removal.restore(store, removal.resolve_removed(store, text))
            assert store.rows("SELECT count(*) FROM run") == [(2,)]
        with pytest.raises(UsageError, match="no removed run"):
            removal.resolve_removed(store, "b")


def test_gc_deletes_only_what_no_view_shows(two_runs: str) -> None:
    with open_store(two_runs, read_only=False) as store:
        shown = {
            name: store.rows(f"SELECT * FROM {name} ORDER BY ALL")
            for name in ("run", "decode_window", "event")
        }
        count = store.rows("SELECT count(*) FROM raw_decode_window")[0][0]
        would = collect(store, older_than=NOW, dry_run=True)
        assert store.rows("SELECT count(*) FROM raw_decode_window") == [(count,)]
        done = collect(store, older_than=NOW)
        assert (done.superseded_ingests, done.removed_runs, done.rows) == (1, 0, would.rows)
        assert done.rows == 1 + 5 + 5 + 2 + 1 + 4  # run, arguments, windows, events, ingest, summary
        assert {name: store.rows(f"SELECT * FROM {name} ORDER BY ALL") for name in shown} == shown
        again = collect(store, older_than=NOW)
        assert (again.superseded_ingests, again.rows) == (0, 0)


def test_gc_forgets_removed_runs_for_good_but_not_young_ones(two_runs: str) -> None:
    with open_store(two_runs, read_only=False) as store:
        removal.remove(store, resolve(store, "a"))
        young = collect(store, older_than=timedelta(days=1))
        assert (young.removed_runs, young.rows) == (0, 0)
        assert young.kept_young == 2
        assert collect(store, older_than=NOW).removed_runs == 1
        with pytest.raises(UsageError, match="no removed run"):
            removal.resolve_removed(store, "a")
        for table in ("raw_run", "raw_decode_window", "raw_ingest", "raw_annotation"):
            assert store.rows(f"SELECT count(DISTINCT run_id) FROM {table}") == [(1,)], table


def test_the_commands(two_runs: str) -> None:
    assert "up to date" in speclog(two_runs, "init").stderr
    assert "1 runs removed" in speclog(two_runs, "runs", "rm", "a").stderr
    listed = json.loads(speclog(two_runs, "runs", "restore", "--json").stdout)
    assert [row["name"] for row in listed] == ["a"]
    assert "1 runs restored" in speclog(two_runs, "runs", "restore", "a").stderr
    done = speclog(two_runs, "gc", "--older-than", "0s", "--json")
    assert json.loads(done.stdout)[0]["superseded_ingests"] == 1
    assert speclog(two_runs, "gc", "--older-than", "soon").returncode == 2
    assert speclog(two_runs, "runs", "rm", "nothing").returncode == 2


def test_init_creates_and_says_so(tmp_path: Path) -> None:
    done = speclog(str(tmp_path / "new.duckdb"), "init")
    assert done.returncode == 0
    assert "created (schema" in done.stderr
    assert speclog(str(tmp_path / "new.duckdb"), "init", "--data-path", "/x").returncode == 2
