"""Keys and passwords that a server prints among its arguments do not get into the store."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sglang_lines import decode, prefill, start

from speclog.store import open_store

ARGS = (
    "server_args=ServerArgs(model_path='m', tp_size=1, api_key='sk-geheim', admin_api_key=None, "
    "ssl_keyfile_password='geheim2', max_total_tokens=4096, disable_cuda_graph=False)"
)


def assert_clean(store: str) -> None:
    with open_store(store) as opened:
        for (table,) in opened.rows("SELECT table_name FROM duckdb_tables()"):
            sql = f"SELECT count(*) FROM {table} AS t WHERE contains(CAST(t AS VARCHAR), 'geheim')"
            assert opened.rows(sql) == [(0,)], table
    assert b"geheim" not in Path(store).read_bytes()


def test_secrets_among_the_arguments_are_redacted(ingest: Callable[..., Any], store: str) -> None:
    (found,) = ingest("\n".join([start(args=ARGS), prefill(1), decode(2)]) + "\n")
    assert found.status == "ingested"
    with open_store(store) as opened:
        rows = dict(opened.rows("SELECT name, value FROM server_arg"))
    assert rows["api_key"] == rows["ssl_keyfile_password"] == '"<redacted>"'
    assert rows["admin_api_key"] == "null"  # none was set: that is no secret
    assert rows["max_total_tokens"] == "4096"
    assert_clean(store)


def test_secrets_in_server_info_are_redacted(ingest: Callable[..., Any], store: str, tmp_path: Path) -> None:
    info = {"model_path": "m", "version": "0.5.9", "api_key": "sk-geheim", "tp_size": 1}
    (tmp_path / "a.server_info.json").write_text(json.dumps(info))
    ingest("\n".join([prefill(1), decode(2)]) + "\n")
    with open_store(store) as opened:
        assert opened.rows("SELECT value FROM server_arg WHERE name = 'api_key'") == [('"<redacted>"',)]
    assert_clean(store)
