"""The store as Parquet, partitioned by date and model: out for anything that reads Parquet, and back in.

Layout of an export::

    DIR/export.json   schema version and rows of each table
    DIR/open.sql      every view over the files: cd DIR && duckdb -init open.sql
    DIR/raw_decode_window/date=2026-11-29/model=.../*.parquet
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speclog import __version__
from speclog.errors import InputError, SpeclogError, UsageError
from speclog.store import arrivals, schema
from speclog.store.engine import quote

if TYPE_CHECKING:
    from speclog.store.handle import Store

FORMAT = 1
_META = "export.json"
_NOT_EXPORTED = "raw_meta"  # facts about the store itself

# One row a run that is exported, with the names of its partition; a model's name becomes a plain file name.
_RUNS = """
CREATE OR REPLACE TEMP TABLE exported AS
SELECT run_id, ingest_id,
    coalesce(strftime(started_at, '%Y-%m-%d'), 'unknown') AS date,
    left(coalesce(nullif(trim(plain, '-'), ''), 'unknown'), 100) AS model
FROM (SELECT *, regexp_replace(model, '[^A-Za-z0-9._-]+', '-', 'g') AS plain FROM run)
"""


def tables() -> list[str]:
    """The raw tables that an export holds."""
    names = [item.name for item in schema.definitions() if item.part == "tables"]
    return [name for name in names if name != _NOT_EXPORTED]


def export(
    store: Store, directory: Path, *, run_ids: Sequence[str] | None = None, overwrite: bool = False
) -> int:
    """Write the runs that the views show (or only ``run_ids``) to ``directory``; return how many.

    The export appears whole or not at all; what else lies in the directory stays. Raises UsageError when it
    is in use and holds no older export that may be overwritten.
    """
    _check_free(directory, overwrite)
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / f".partial-{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        count = _write(store, partial, run_ids)
        _replace(partial, directory)
    except BaseException:
        if made:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return count


def _check_free(directory: Path, overwrite: bool) -> None:
    if not directory.exists() or (directory.is_dir() and not any(map(_counts, directory.iterdir()))):
        return
    if not (directory / _META).is_file():
        raise UsageError(f"{directory}: exists and is not an export of speclog; name a new directory")
    if not overwrite:
        raise UsageError(f"{directory}: holds an export already; replace it with --overwrite")


def _counts(entry: Path) -> bool:
    """Whether an entry makes a directory one that is in use; what a killed export left does not."""
    return not entry.name.startswith(".partial-")


def _replace(partial: Path, directory: Path) -> None:
    """Put an export in the place of an older one, within the directory.

    It may be where the caller stands, a link, or a mounted disk: itself it cannot be replaced. What says that
    this is an export goes first and comes last.
    """
    old = partial / "old"
    old.mkdir()
    names = [_META, "open.sql", *tables()]
    for name in names:
        if (directory / name).exists():
            (directory / name).rename(old / name)
    for name in reversed(names):
        (partial / name).rename(directory / name)


def _write(store: Store, directory: Path, run_ids: Sequence[str] | None) -> int:
    store.script(_RUNS)
    if run_ids is not None:
        store.rows("DELETE FROM exported WHERE NOT list_contains(?, run_id)", [list(run_ids)])
    rows = {table: _write_table(store, table, directory / table) for table in tables()}
    meta = {
        "format": FORMAT,
        "schema_version": schema.SCHEMA_VERSION,
        "speclog_version": __version__,
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": rows,
    }
    (directory / "open.sql").write_text(_open_sql(), encoding="utf-8")
    (directory / _META).write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
    return int(store.rows("SELECT count(*) FROM exported")[0][0])


def _write_table(store: Store, table: str, directory: Path) -> int:
    """Write one table; an empty one becomes a file without rows, so that its columns are known."""
    by = {"raw_annotation": "t.run_id = e.run_id", "raw_ingest": _CURRENT_ROW}.get(table, _SAME_INGEST)
    chosen = f"FROM {table} AS t JOIN exported AS e ON {by}"
    count = int(store.rows(f"SELECT count(*) {chosen}")[0][0])
    select = f"SELECT t.*, e.date, e.model {chosen}" if count else f"SELECT t.* {chosen}"
    path, parts = (directory, ", PARTITION_BY (date, model)") if count else (directory / "empty.parquet", "")
    path.parent.mkdir(exist_ok=True)
    store.script(f"COPY ({select}) TO {quote(str(path))} (FORMAT parquet, COMPRESSION zstd{parts})")
    return count


_SAME_INGEST = "t.ingest_id = e.ingest_id"
_CURRENT_ROW = (
    "t.ingest_id = e.ingest_id AND t.ingested_at = "
    "(SELECT c.ingested_at FROM current_ingest AS c WHERE c.ingest_id = e.ingest_id)"
)


def _open_sql() -> str:
    head = "-- Views of speclog over this export: cd here, then `duckdb -init open.sql`.\n"
    raw = "".join(
        f"CREATE OR REPLACE VIEW {table} AS SELECT * "
        f"FROM read_parquet('{table}/**/*.parquet', hive_partitioning = false);\n"
        for table in tables()
    )
    return head + raw + "\n".join(item.sql for item in schema.definitions() if item.part != "tables")


@dataclass(frozen=True)
class Imported:
    """What an import did."""

    runs: int
    already_there: int
    rows: int
    notes: Sequence[str] = ()
    """Which of those already there a person may miss, in words."""


def import_(store: Store, directory: Path) -> Imported:
    """Append the runs of an export that the store does not hold yet, all in one transaction.

    Raises InputError when the directory is not an export, is incomplete, or comes from a newer speclog.
    """
    meta = _read_meta(directory)
    try:
        done = store.transaction(lambda: _append(store, directory, meta["rows"]))
    except UsageError as error:
        raise InputError(f"{directory}: not an export of speclog: {error}") from error
    assert done is not None
    return done


def _read_meta(directory: Path) -> dict[str, Any]:
    path = directory / _META
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        version, rows = int(meta["schema_version"]), dict(meta["rows"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not readable as what `speclog export` writes ({error})") from error
    if int(meta.get("format", 0)) > FORMAT or version > schema.SCHEMA_VERSION:
        raise InputError(f"{path}: written by a newer speclog (schema {version}); upgrade speclog")
    if version < schema.SCHEMA_VERSION:
        raise InputError(
            f"{path}: from schema {version}; import it with speclog {meta.get('speclog_version')} into a new "
            "store and open that with this one, which migrates it"
        )
    return {"rows": rows}


def _append(store: Store, directory: Path, expected: dict[str, int]) -> Imported:
    files = {table: _parquet(directory, table, int(expected.get(table, 0))) for table in tables()}
    if not files["raw_ingest"]:
        return Imported(0, 0, 0)
    _check_counts(store, directory, files, expected)
    found = arrivals.look_up(store, _scan(files["raw_ingest"]))
    rows = sum(_append_table(store, table, files[table]) for table in tables() if table not in _TIMED)
    back = arrivals.settle(store, found)
    rows -= sum(_take_back(store, t, back) for t in tables() if back and t not in ("raw_annotation", *_TIMED))
    rows += sum(_append_table(store, table, files[table]) for table in _TIMED)
    came = int(store.rows("SELECT count(DISTINCT run_id) FROM arriving")[0][0])
    return Imported(came, found.runs - came, rows, arrivals.left_out(found))


# Tables with the time by which an ingest is shown; they come last, when it is settled.
_TIMED = ("raw_ingest", "raw_summary")


def _take_back(store: Store, table: str, ingest_ids: Sequence[str]) -> int:
    return int(store.rows(f"DELETE FROM {table} WHERE list_contains(?, ingest_id)", [list(ingest_ids)])[0][0])


def _append_table(store: Store, table: str, files: Sequence[Path]) -> int:
    if not files:
        return 0
    source = f"FROM {_scan(files)} AS t"
    if table == "raw_annotation":
        chosen = f"SELECT * {source} EXCEPT SELECT * FROM raw_annotation"
    else:
        replaced = f" REPLACE ({arrivals.shown_at(table)} AS ingested_at)" if table in _TIMED else ""
        chosen = f"SELECT t.*{replaced} {source} JOIN arriving AS e ON e.ingest_id = t.ingest_id"
    count = int(store.rows(f"SELECT count(*) FROM ({chosen})")[0][0])
    store.rows(f"INSERT INTO {table} BY NAME {chosen}")
    return count


def _scan(files: Sequence[Path]) -> str:
    return f"read_parquet([{', '.join(quote(str(path)) for path in files)}], hive_partitioning = false)"


def _parquet(directory: Path, table: str, expected: int) -> list[Path]:
    """The files of one table; those that a link leads out of the export are refused."""
    root = (directory / table).resolve()
    found = sorted(path.resolve() for path in root.rglob("*.parquet"))
    if any(not path.is_relative_to(directory.resolve()) for path in found):
        raise InputError(f"{directory / table}: a link leads out of the export")
    if expected and not found:
        raise InputError(f"{directory / table}: {expected} rows are missing; the export is incomplete")
    return found


def _check_counts(
    store: Store, directory: Path, files: dict[str, list[Path]], expected: dict[str, int]
) -> None:
    for table, paths in files.items():
        try:
            have = store.rows(f"SELECT count(*) FROM {_scan(paths)}")[0][0] if paths else 0
        except SpeclogError as error:
            raise InputError(f"{directory / table}: not readable: {error}") from error
        if have != int(expected.get(table, 0)):
            raise InputError(
                f"{directory / table}: incomplete: {have} rows, {_META} says {expected.get(table, 0)}"
            )
