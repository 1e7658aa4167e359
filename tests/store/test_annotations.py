"""What people vouch for: the last word counts, whatever the clocks, and one taken back leaves the log's."""

from datetime import timedelta

import pytest
from made_runs import frames

from speclog.annotations import contradictions, parse, record
from speclog.errors import UsageError
from speclog.store import Store, open_store

AHEAD = timedelta(hours=1)
"""How far ahead the clock of whoever annotated first was."""


def say(store: Store, *words: str) -> list[str]:
    """Vouch for the one run of a store; what its log says against it."""
    ids = [run_id for (run_id,) in store.rows("SELECT run_id FROM run")]
    entries = parse(words)
    against = contradictions(store, ids, entries)
    record(store, ids, entries, author="me")
    return against


def test_the_last_word_counts_in_one_command_and_whatever_the_clocks(target: str) -> None:
    with open_store(target, read_only=False) as store:
        store.append(frames("a"))
        say(store, "tag=one", "tag=two")
        assert store.rows("SELECT tag FROM run") == [("two",)]
        store.rows("UPDATE raw_annotation SET annotated_at = annotated_at + ?", [AHEAD])
        say(store, "tag=three")
        assert store.rows("SELECT tag FROM run") == [("three",)]


@pytest.mark.parametrize(
    ("key", "view"), [("arg.tp_size", "server_arg"), ("fact.driver", "fact"), ("env.NCCL_ALGO", "env_var")]
)
def test_what_is_taken_back_leaves_what_the_log_says(target: str, key: str, view: str) -> None:
    name = key.partition(".")[2]
    said = f"SELECT value, source FROM {view} WHERE name = '{name}'"
    with open_store(target, read_only=False) as store:
        store.append(frames("a"))
        before = store.rows(said)
        say(store, f"{key}=8", "machine=m1")
        assert store.rows(said) == [("8", "annotation")]
        assert say(store, f"{key}=", "machine=") == []
        assert store.rows(said) == before
        assert store.rows("SELECT * FROM annotation") == []


def test_a_variable_vouched_to_be_unset_is_something_said(target: str) -> None:
    with open_store(target, read_only=False) as store:
        store.append(frames("a"))
        say(store, "env.FOO=(unset)")
        assert store.rows("SELECT value, source FROM env_var WHERE name = 'FOO'") == [(None, "annotation")]


@pytest.mark.parametrize("word", ["fact.driver=unknown", "machine=?", "workload=N/A", "fact.topology=[N/A]"])
def test_nobody_vouches_for_the_unknown(word: str) -> None:
    with pytest.raises(UsageError, match="vouches for nothing"):
        parse([word])
    assert parse([f"{word.partition('=')[0]}="])  # takes back what was said
