"""Stores of every schema there has been, as SQL scripts in ``schemas/``: how they are made and read.

``python tests/store/old_schemas.py NAME`` writes ``schemas/NAME.sql`` from the tables of this checkout, with
the rows of an example log in them. NAME is the schema's version with four digits, and a word when tables were
only added (``0001-levels``). Scripts of a version that was released are never written again: whoever changes
a table makes a new one, and ``sql/migrations/NNNN_what.sql`` if a store needs more than missing tables.
"""

import sys
import tempfile
from datetime import datetime
from pathlib import Path

import duckdb

FOLDER = Path(__file__).resolve().parent / "schemas"
LOG = Path(__file__).resolve().parents[2] / "examples" / "logs" / "h200-llama8b" / "eagle3-s5-a2.1.log"
CUT = {"raw_server_arg": 20, "raw_event": 5}
"""Tables of which a few rows are enough."""


def names() -> list[str]:
    """The scripts, oldest first."""
    return sorted(path.stem for path in FOLDER.glob("*.sql"))


def build(name: str, path: Path) -> None:
    """Make the store that a script describes (raw tables and rows; an old store's views are not needed)."""
    connection = duckdb.connect(str(path), config={"storage_compatibility_version": "v1.2.0"})
    connection.execute((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    connection.close()


def literal(value: object) -> str:
    """A value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str | datetime):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)


def script(path: Path) -> str:
    """The tables of a store and some rows of each, as SQL."""
    connection = duckdb.connect(str(path), read_only=True)
    tables = connection.execute(
        "SELECT table_name, sql FROM duckdb_tables() WHERE starts_with(table_name, 'raw_') ORDER BY ALL"
    ).fetchall()
    lines = []
    for table, sql in tables:
        lines.append(sql)
        limit = f" LIMIT {CUT[table]}" if table in CUT else ""
        order = "ALL" if table != "raw_meta" else "key"
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order}{limit}").fetchall():
            if table != "raw_meta" or row[0] in ("schema_version", "speclog_version"):
                lines.append(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});")
    connection.close()
    return "\n".join(lines) + "\n"


def main(name: str) -> None:
    from speclog.ingest.api import ingest_paths

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "s.duckdb"
        ingest_paths([LOG], store_target=str(target))
        (FOLDER / f"{name}.sql").write_text(script(target), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
