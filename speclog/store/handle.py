"""An open store: rows, frames, and appends that happen once or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from speclog.errors import StoreError, UsageError
from speclog.store import engine, guard, problems, schema, summaries, template
from speclog.store.rows import Rows
from speclog.store.target import Target, parse_target

if TYPE_CHECKING:
    import duckdb
    import polars as pl

T = TypeVar("T")


class _ArrowStream:
    """A polars frame that DuckDB scans through the Arrow C stream: no pyarrow needed."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


class Store:
    """An open store: query it, append to it. Obtain one from `open_store`."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, target: Target, lock_timeout: float, *, read_only: bool
    ) -> None:
        self._connection = connection
        self._parsed = target
        self._lock_timeout = lock_timeout
        self._read_only = read_only
        self._sandboxed = False
        self._in_transaction = False
        self._identity = self._file_identity()
        self.target = str(target)
        self._holding = False
        self._to_sum_up: set[str] | None = None
        self.prepared = ""
        """What opening it did, in words: created, migrated, views refreshed ..."""

    @property
    def is_lake(self) -> bool:
        """Whether the store is a DuckLake (several writers, Parquet) and not one file."""
        return self._parsed.is_lake

    def rows(self, sql: str, params: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query. Raises UsageError when the SQL is wrong."""
        return self.result(sql, params)[1]

    def result(
        self, sql: str, params: Sequence[object] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return (column names, rows) of one statement.

        Raises UsageError when the SQL is wrong (or, in a sandbox, not a plain query), StoreError when the
        store fails.
        """
        self._inspect(sql)
        with self._translated():
            names, rows = self._patiently(lambda: self._fetch(sql, params))
        if rows is None:
            # DuckDB 1.5 needs pytz to hand a time with a zone to Python; polars does not.
            return names, self.frame(sql, params).rows()
        return names, rows

    def _fetch(
        self, sql: str, params: Sequence[object] | None
    ) -> tuple[list[str], list[tuple[Any, ...]] | None]:
        import duckdb

        cursor = self._connection.execute(sql, params)
        names = [column[0] for column in cursor.description or []]
        try:
            return names, cursor.fetchall()
        except duckdb.InvalidInputException as error:
            if "pytz" not in str(error):
                raise
        return names, None

    def _patiently(self, work: Callable[[], T]) -> T:
        """Do ``work``; outside a transaction on a lake, again when it trips over another writer's commit.

        Even a query can: DuckLake reads its catalog in several steps.
        """
        if not self.is_lake or self._in_transaction:
            return work()

        def again(error: BaseException) -> bool:
            replaceable = problems.is_lost(error) and not (self._sandboxed or self._holding)
            if replaceable:
                self._reconnect()
            return problems.is_conflict(error) or replaceable

        return engine.retry(work, timeout=self._lock_timeout, again=again)

    def frame(self, sql: str, params: Sequence[object] | None = None) -> pl.DataFrame:
        """Return a query's result as a polars frame (columns as in the query).

        An INTERVAL becomes a Duration (a month counts 30 days), a HUGEINT (``sum`` of integers) an Int64, or
        a Float64 when it does not fit. Raises UsageError when the SQL is wrong or two columns share a name.
        """
        self._inspect(sql)
        with self._translated():
            return self._patiently(lambda: self._frame(sql, params))

    def _frame(self, sql: str, params: Sequence[object] | None) -> pl.DataFrame:
        import polars as pl

        relation: Any = self._connection.sql(sql, params=params)
        if relation is None:
            return pl.DataFrame()
        names, types = list(relation.columns), [str(kind) for kind in relation.types]
        if len(set(names)) < len(names):
            raise UsageError("SQL: two columns of the result share a name; name them with AS")
        if any("INTERVAL" in kind for kind in types):
            # polars cannot take one; Python can, but on DuckDB 1.5 not beside a time with a zone.
            rows = relation.project(", ".join(map(_without_zone, names, types))).fetchall()
            return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
        frame = pl.DataFrame(relation)
        huge = [name for name, kind in zip(names, types, strict=True) if kind in ("HUGEINT", "UHUGEINT")]
        return frame.with_columns(_whole_number(frame[name]) for name in huge)

    def script(self, sql: str) -> None:
        """Run several statements and throw their results away. Raises as `rows` does."""
        self._inspect(sql)
        with self._translated():
            self._connection.execute(sql)

    def known(self, run_id: str, sha256: str, parser_version: int) -> str | None:
        """Whether the store shows this very session as this parser, or a newer one, reads it.

        A host with an older speclog leaves alone what a newer one has read; else two would take turns.
        Returns None when it was never read so, or when another content of the run was read since: reading it
        again then makes it current again. Else 'complete', or 'removed' when someone has removed the run
        since (``speclog runs rm``; ``speclog runs restore`` brings it back).
        """
        found = self.rows(
            "SELECT status, sha256 = ? AND parser_version >= ? AS same FROM raw_ingest WHERE run_id = ? "
            "ORDER BY ingested_at DESC, ingest_id DESC",
            [sha256, parser_version, run_id],
        )
        if not any(same for _, same in found):
            return None
        status, newest_is_same = found[0]
        return str(status) if newest_is_same or status == "removed" else None

    def append(self, frames: Mapping[str, pl.DataFrame | Rows], *, sum_up: bool = True) -> None:
        """Append frames to raw tables in one transaction: all rows or none.

        ``frames`` maps table name to rows; a column the frame lacks becomes NULL. On a lake the transaction
        is tried again when it meets another writer's, or when the catalog's server restarts, until the lock
        timeout; with a ``raw_ingest`` row among the frames it is never written twice.
        ``sum_up`` as in `insert`.
        Raises StoreError when the store is full, gone or unreachable; then nothing of it was written.
        """

        def write() -> None:
            self.insert(frames, sum_up=sum_up)

        if "raw_ingest" not in frames:
            self.transaction(write)
            return
        ids = _frame(frames["raw_ingest"])["ingest_id"].unique().to_list()
        self.transaction(write, committed=lambda: self.holds(ids))

    def transaction(self, work: Callable[[], T], *, committed: Callable[[], bool] | None = None) -> T | None:
        """Run ``work`` in a transaction; on a lake, again until it does not meet another writer's.

        ``committed`` tells whether an attempt whose COMMIT was cut off arrived after all (`never` for work
        that changes nothing when it is done twice); without it such an attempt is an error. Returns work's
        result (None when ``committed`` said it had arrived).
        """
        import duckdb

        unsure = False

        def attempt() -> T | None:
            nonlocal unsure
            if unsure:
                self._reconnect()
                if committed is not None and committed():
                    return None
                unsure = False
            try:
                return self._once(work)
            except (duckdb.Error, StoreError) as error:
                # `work` may have used this object's own methods, which translate what they meet.
                cause = error.__cause__ if isinstance(error, StoreError) else error
                if not isinstance(cause, duckdb.Error):
                    raise
                unsure = problems.is_lost(cause)
                raise cause from None if cause is not error else cause.__cause__

        def again(error: BaseException) -> bool:
            return self.is_lake and (
                problems.is_conflict(error) or (problems.is_lost(error) and committed is not None)
            )

        with self._translated():
            self._check_still_there()
            done = engine.retry(attempt, timeout=self._lock_timeout, again=again)
            self._check_still_there()
            return done

    def maintain(self, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement of upkeep outside a transaction, again while it meets other writers."""
        with self._translated():
            return engine.retry(
                lambda: self._connection.execute(sql).fetchall(),
                timeout=self._lock_timeout,
                again=problems.is_conflict,
            )

    def size(self) -> int | None:
        """Bytes on disk: the file and its log, or a lake's live Parquet."""
        if self.is_lake:
            rows = self.rows(f"SELECT sum(file_size_bytes) FROM ducklake_table_info('{engine.LAKE}')")
            return int(rows[0][0] or 0)
        log = self._parsed.path.with_name(self._parsed.path.name + ".wal")
        return sum(path.stat().st_size for path in (self._parsed.path, log) if path.is_file())

    def _once(self, work: Callable[[], T]) -> T:
        import duckdb

        self._connection.execute("BEGIN")
        self._in_transaction = True
        try:
            done = work()
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self._connection.execute("ROLLBACK")
            raise
        finally:
            self._in_transaction = False
        return done

    def insert(self, frames: Mapping[str, pl.DataFrame | Rows], *, sum_up: bool = True) -> None:
        """Append frames within `transaction`: for rows too many to hold until all are read.

        ``raw_ingest`` among them ends an ingest: all its rows are there, and unless ``sum_up`` is false (more
        will come soon) its runs are summed up (`summaries`).
        """
        for table, rows in frames.items():
            same = rows.same if isinstance(rows, Rows) else {}
            self._insert(table, _frame(rows) if table != "raw_ingest" else self._as_newest(rows), same)
        if sum_up and "raw_ingest" in frames:
            run_ids = _frame(frames["raw_ingest"])["run_id"].unique().to_list()
            windows = _frame(frames["raw_decode_window"]).height if "raw_decode_window" in frames else 0
            if self._to_sum_up is None or windows > summaries.AT_ONCE:
                summaries.write(self, run_ids, limit=summaries.AT_ONCE)
            else:
                self._to_sum_up.update(run_ids)

    def _as_newest(self, rows: pl.DataFrame | Rows) -> pl.DataFrame:
        """Rows of raw_ingest, each later than what the store has of its run.

        Views show the newest: a clock that runs behind the one that wrote before must not hide what arrives.
        """
        import polars as pl

        frame = _frame(rows)
        sql = "SELECT run_id, max(ingested_at) FROM raw_ingest WHERE run_id IN (SELECT unnest(?)) GROUP BY 1"
        had = self._connection.execute(sql, [frame["run_id"].unique().to_list()]).fetchall()
        if not had:
            return frame
        newest = pl.DataFrame(had, schema={"run_id": pl.String, "newest": pl.Datetime("us")}, orient="row")
        least = pl.col("newest") + pl.duration(microseconds=1)
        later = pl.max_horizontal("ingested_at", least).alias("ingested_at")
        return frame.join(newest, on="run_id", how="left").with_columns(later).drop("newest")

    def _insert(self, table: str, frame: pl.DataFrame, same: Mapping[str, object]) -> None:
        if frame.is_empty():
            return
        stream = _ArrowStream(_with_typed_nulls(frame))  # noqa: F841 - DuckDB finds it by name
        # Names of tables and columns come from this package's code, never from a log.
        shared = "".join(f'? AS "{name}", ' for name in same)
        self._connection.execute(
            f'INSERT INTO "{table}" BY NAME SELECT {shared}* FROM stream', list(same.values())
        )

    def holds(self, ingest_ids: Sequence[str]) -> bool:
        """Whether the store has these ingests, each with all its rows."""
        sql = "SELECT count(DISTINCT ingest_id) FROM raw_ingest WHERE list_contains(?, ingest_id)"
        rows = self._connection.execute(sql, [list(ingest_ids)]).fetchall()
        return int(rows[0][0]) == len(set(ingest_ids))

    def _reconnect(self) -> None:
        import duckdb

        with contextlib.suppress(duckdb.Error):
            self._connection.close()
        self._connection = engine.connect(
            self._parsed, read_only=self._read_only, create=False, lock_timeout=self._lock_timeout
        )

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Queries that share temporary tables: a lake's connection that is lost meanwhile is not replaced.

        The tables would be lost with it; the query fails with StoreError instead.
        """
        before, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = before

    @contextmanager
    def summing_up_once(self) -> Iterator[None]:
        """For several small appends: their runs are summed up together, at the end of the block."""
        self._to_sum_up = set()
        yield
        runs, self._to_sum_up = sorted(self._to_sum_up), None
        if runs:
            self.transaction(lambda: summaries.write(self, runs), committed=engine.never)

    def _file_identity(self) -> tuple[int, int] | None:
        if self.is_lake:
            return None
        with contextlib.suppress(OSError):
            found = self._parsed.path.stat()
            return found.st_dev, found.st_ino
        return None

    def _check_still_there(self) -> None:
        """A file that was deleted or replaced while open takes writes into nowhere: say so."""
        if self._identity != self._file_identity():
            raise StoreError(
                f"{self.target}: the store was deleted or replaced while it was open; what was being written "
                "is not kept: run the command again"
            )

    def enter_sandbox(self) -> None:
        """From here on take only plain queries, and let none of them reach a file outside the store."""
        guard.lock(self._connection, engine.data_path(self._connection) if self.is_lake else None)
        self._sandboxed = True

    def _inspect(self, sql: str) -> None:
        if self._sandboxed:
            guard.check(self._connection, sql)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise problems.translate(error, self.target) from error

    def close(self) -> None:
        """Close the connection and with it the lock; a lake's may be kept for the next opening."""
        engine.release(
            self._connection, self._parsed, read_only=self._read_only, reusable=not self._sandboxed
        )


def _frame(rows: pl.DataFrame | Rows) -> pl.DataFrame:
    return rows.frame if isinstance(rows, Rows) else rows


def _with_typed_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """DuckDB 2 refuses Arrow's type for a column of nothing but nulls; any other type will do."""
    import polars as pl

    typed = {pl.Null(): pl.String(), pl.List(pl.Null): pl.List(pl.String)}
    return frame.with_columns(
        pl.col(name).cast(typed[kind]) for name, kind in frame.schema.items() if kind in typed
    )


def _without_zone(name: str, kind: str) -> str:
    column = '"{}"'.format(name.replace('"', '""'))
    return f"CAST({column} AS TIMESTAMP) AS {column}" if kind == "TIMESTAMP WITH TIME ZONE" else column


def _whole_number(column: pl.Series) -> pl.Series:
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == column.null_count() else column.cast(pl.Float64)


@contextmanager
def open_store(
    target: str,
    *,
    read_only: bool = True,
    create: bool = True,
    lock_timeout: float = 20.0,
) -> Iterator[Store]:
    """Open a store, install or refresh its schema when writing, and close it at the end of the block.

    ``target`` is what ``--store`` takes: a path (optionally ``duckdb:path``), ``ducklake:postgres:...`` or
    ``ducklake:sqlite:FILE``. A missing store is created when writing, unless not to ``create``, and is a
    StoreError otherwise. Waits up to ``lock_timeout`` seconds for another process's lock.
    """
    parsed = parse_target(target)
    create = create and not read_only
    with _no_os_error(parsed):
        made = create and not parsed.is_lake and template.provide(parsed.path, schema.digest(), _make_empty)
    with _opened(parsed, read_only, create, lock_timeout) as store:
        if made:
            store.prepared = schema.CREATED
        yield store


def is_busy(target: str) -> bool:
    """Whether another process holds the lock of a store just now, so that opening it would wait."""
    parsed = parse_target(target)
    return not parsed.is_lake and parsed.path.is_file() and engine.is_locked(parsed.path, unknown=False)


def _make_empty(path: Path) -> None:
    with _opened(Target("file", str(path)), read_only=False, create=True, lock_timeout=0):
        pass


@contextmanager
def _no_os_error(parsed: Target) -> Iterator[None]:
    """While a store is looked for, what the machine refuses is a StoreError, and so is a directory."""
    try:
        if not parsed.is_lake and parsed.path.is_dir():
            raise StoreError(
                f"{parsed}: a directory; --store takes a file in it, such as {parsed.path / 'speclog.duckdb'}"
            )
        yield
    except OSError as error:
        raise StoreError(
            f"{parsed}: cannot be reached: {error.strerror or error}; check --store and its permissions"
        ) from error


@contextmanager
def _opened(parsed: Target, read_only: bool, create: bool, lock_timeout: float) -> Iterator[Store]:
    with _no_os_error(parsed):
        connection = engine.connect(parsed, read_only=read_only, create=create, lock_timeout=lock_timeout)
    store = Store(connection, parsed, lock_timeout, read_only=read_only)
    try:
        store.prepared = schema.prepare(store, writable=not read_only)
        yield store
    finally:
        store.close()
