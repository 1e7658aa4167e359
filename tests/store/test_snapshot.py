"""Views kept as tables for a while: the same rows, of one state, and nothing left behind."""

from pathlib import Path

import pytest

from speclog.analysis import factors
from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store, schema, snapshot

ASKED = (
    "comparison", "break_even", "level", "level_pair", "factor_norm", "phase", "run",
    "(SELECT * FROM factor_pair WHERE candidate <> baseline)",
)  # fmt: skip


@pytest.fixture
def story(target: str, example_logs: Path) -> str:
    """A store with an unfair pair, a fair one and two repeats."""
    folder = example_logs / "kimi-k25-story"
    ingest_paths([folder / "baseline-fresh.log", folder / "baseline-remembered.log",
                  folder / "eagle3-5x6-untuned.log"], store_target=target)  # fmt: skip
    return target


def answers(store: Store) -> dict[str, list[tuple[object, ...]]]:
    return {view: store.rows(f"SELECT * FROM {view} ORDER BY ALL") for view in ASKED}


def temporary(store: Store) -> list[tuple[object, ...]]:
    return store.rows(
        "SELECT table_name FROM duckdb_tables() WHERE temporary "
        "UNION ALL SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal ORDER BY 1"
    )


def test_every_answer_is_the_same_and_nothing_is_left(story: str) -> None:
    with open_store(story) as store:
        plain = answers(store)
        assert all(plain[view] for view in ("comparison", "break_even", "level"))
        with snapshot.taken(store):
            assert len(temporary(store)) == len(snapshot.VIEWS)
            assert answers(store) == plain
            with snapshot.taken(store):  # within another: nothing is done
                pass
            assert len(temporary(store)) == len(snapshot.VIEWS)
        assert temporary(store) == []


def test_it_is_of_one_state(story: str) -> None:
    with open_store(story, read_only=False) as store:
        with snapshot.taken(store):
            store.rows("INSERT INTO raw_annotation SELECT run_id, 'tag', 'x', NULL, '2026-01-01' FROM run")
            assert store.rows("SELECT count(tag), count(*) FROM run") == [(0, 3)]
        assert store.rows("SELECT count(tag), count(*) FROM run") == [(3, 3)]


def test_views_of_this_connection_come_back(story: str, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[factor]]\nkeys = ["env.NCCL_*"]\nclass = "noise"\n')
    with open_store(story) as store:
        factors.lay_over(store, own)
        views, plain = temporary(store), answers(store)
        with snapshot.taken(store):
            assert answers(store) == plain
        assert (temporary(store), answers(store)) == (views, plain)


def test_each_is_made_from_those_before_it() -> None:
    for place, name in enumerate(snapshot.VIEWS):
        later = set(snapshot.VIEWS[place + 1 :])
        assert not snapshot._names(name) & later, name


def test_only_a_query_of_verdicts_or_levels_needs_any() -> None:
    assert snapshot.needed("SELECT * FROM decode_window JOIN run USING (run_id)") == []
    assert snapshot.needed("FROM break_even") == [
        name for name in snapshot.VIEWS if name not in ("level", "factor_norm")
    ]
    assert "factor_value" not in snapshot.needed("FROM Level WHERE run_id = 'x'")
    assert {item.name for item in schema.definitions()} >= set(snapshot.VIEWS)


def test_windows_that_nobody_summed_up_are_told_of(
    story: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(snapshot, "SLOW", 1)
    with open_store(story) as store, snapshot.taken(store):
        pass
    assert caplog.messages == []
    with open_store(story, read_only=False) as store:
        ((windows,),) = store.rows("SELECT sum(windows) FROM run")
        store.rows("UPDATE raw_summary SET method = 'of another release'")
    with open_store(story) as store, snapshot.taken(store):
        pass
    (said,) = caplog.messages
    assert f"the {windows} decode windows of 3 runs have no sums" in said
    assert f"`speclog --store {story} init`" in said
