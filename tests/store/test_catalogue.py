"""Catalogues: TOML that ships with speclog, as views."""

import tomllib
from pathlib import Path

import pytest

from speclog.store import catalogue, open_store, schema
from speclog.store.catalogue import create_view

TOML = """
[[thing]]
name = "it's; DROP VIEW run"
weight = 1.5
tags = ["a", "b"]
on = true

[[thing]]
name = "plain"
weight = 2
match = { glob = "NCCL_*" }
"""


def test_every_kind_of_value_arrives(target: str) -> None:
    with open_store(target, read_only=False) as store:
        store.script(create_view("catalogue_thing", tomllib.loads(TOML)["thing"]))
        names, rows = store.result("SELECT * FROM catalogue_thing ORDER BY place")
    assert names == ["place", "name", "weight", "tags", "on", "match"]
    assert rows == [
        (1, "it's; DROP VIEW run", "1.5", ["a", "b"], True, None),
        (2, "plain", "2", None, None, '{"glob": "NCCL_*"}'),
    ]


def test_a_changed_catalogue_reaches_writers_at_once_and_readers_as_an_overlay(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "things.toml"
    shipped = catalogue.files()  # other views need these
    monkeypatch.setattr(catalogue, "files", lambda: [*shipped, path])
    path.write_text('[[thing]]\nname = "one"\n')
    schema.definitions.cache_clear()
    try:
        with open_store(target) as store:  # read-only: the store itself has no such view
            assert store.rows("SELECT name FROM catalogue_thing") == [("one",)]
        with open_store(target, read_only=False) as store:
            assert store.rows("SELECT name FROM catalogue_thing") == [("one",)]
        path.write_text('[[thing]]\nname = "two"\n')
        schema.definitions.cache_clear()
        with open_store(target, read_only=False) as store:
            assert store.rows("SELECT name FROM catalogue_thing") == [("two",)]
    finally:
        schema.definitions.cache_clear()
