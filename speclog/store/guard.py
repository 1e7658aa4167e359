"""SQL that a person typed: one query, and nothing outside the store is read or written.

Three walls, because none holds alone: on DuckDB 1.5 a connection without external access still writes the
store's own ``.wal`` with COPY and any file with ``enable_logging``.

1. The statement is a single SELECT (or EXPLAIN of one); nothing that writes, attaches, loads or configures.
2. Every function in FROM is on a list of harmless ones; functions with effects are refused anywhere.
3. ``enable_external_access`` is off (a lake's own data directory excepted) and the configuration is locked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from speclog.errors import UsageError
from speclog.store import problems
from speclog.store.engine import quote

if TYPE_CHECKING:
    import duckdb

_EXPLAIN = re.compile(r"^\s*EXPLAIN(\s+ANALYZE|\s*\([^)]*\))*\s+", re.IGNORECASE)
_TABLE_FUNCTIONS = frozenset(
    {
        "range",
        "generate_series",
        "unnest",
        "repeat",
        "json_each",
        "json_tree",
        "query_table",
        "summary",
        "pragma_table_info",
        "pragma_version",
        "duckdb_columns",
        "duckdb_constraints",
        "duckdb_databases",
        "duckdb_functions",
        "duckdb_keywords",
        "duckdb_schemas",
        "duckdb_settings",
        "duckdb_tables",
        "duckdb_types",
        "duckdb_views",
        "pg_timezone_names",
        "ducklake_snapshots",
        "ducklake_table_info",
    }
)
_EFFECTS = frozenset({"write_log", "nextval", "setseed", "getenv"})
_WHAT_TO_DO = "`speclog sql` only runs queries; `speclog export` writes files"


def lock(connection: duckdb.DuckDBPyConnection, data_path: str | None) -> None:
    """Take from a connection, for good, every way out of the store (``data_path``: a lake's Parquet)."""
    if data_path is not None:
        connection.execute(f"SET allowed_directories = [{quote(data_path)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise UsageError unless ``sql`` is one query without effects."""
    text = _one_query(connection, sql)
    for kind, name in _functions(_tree(connection, text)):
        is_outside = kind == "table" and name not in _TABLE_FUNCTIONS and not _is_macro(connection, name)
        if is_outside or name in _EFFECTS:
            raise UsageError(f"SQL: {name}() is not allowed here; {_WHAT_TO_DO}")


def _one_query(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    import duckdb

    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise UsageError(f"SQL: {problems.first_line(error)}") from error
    if len(statements) != 1:
        raise UsageError(f"SQL: one statement at a time, not {len(statements)}")
    kind = statements[0].type.name
    if kind == "EXPLAIN" and _EXPLAIN.match(sql):
        return _one_query(connection, _EXPLAIN.sub("", sql, count=1))
    if kind != "SELECT":
        raise UsageError(f"SQL: {kind} is not allowed here; {_WHAT_TO_DO}")
    return statements[0].query


def _tree(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    """The parse tree of a query, as the engine itself sees it."""
    rows = connection.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchall()
    tree = json.loads(rows[0][0])
    if tree.get("error"):
        raise UsageError(f"SQL: {tree.get('error_message', 'not a query')}; {_WHAT_TO_DO}")
    return tree


def _functions(node: object) -> Iterator[tuple[str, str]]:
    """Yield ('table' or 'scalar', lower-case name) of every function called in a parse tree."""
    if isinstance(node, list):
        for item in node:
            yield from _functions(item)
    elif isinstance(node, dict):
        called = node.get("function")
        if node.get("type") == "TABLE_FUNCTION" and isinstance(called, dict):
            yield "table", str(called.get("function_name", "")).lower()
        if "function_name" in node:
            yield "scalar", str(node["function_name"]).lower()
        for item in node.values():
            yield from _functions(item)


def _is_macro(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether the store itself defines this table macro (what it calls came with speclog)."""
    sql = (
        "SELECT 1 FROM duckdb_functions() WHERE function_name = ? AND function_type = 'table_macro' "
        "AND NOT internal LIMIT 1"
    )
    return bool(connection.execute(sql, [name]).fetchall())
