"""What an engine's error says to a user, and which are worth a retry."""

import duckdb
import pytest

from speclog.store import open_store, problems

# As DuckLake 1.0 on PostgreSQL 15 says it; the statement holds what was in the log.
REFUSED = (
    "TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\n"
    'Failed to flush changes into DuckLake: Failed to execute query "INSERT INTO "public".ducklake_snapshot '
    "VALUES (2, NOW());INSERT INTO t VALUES ('{text}');\": ERROR:  {reason}\n"
)


def error(reason: str, text: str = "x") -> duckdb.Error:
    return duckdb.TransactionException(REFUSED.format(reason=reason, text=text))


def test_the_catalog_s_own_reason_is_in_the_one_line() -> None:
    said = str(problems.translate(error("permission denied for table ducklake_snapshot"), "here"))
    assert said == (
        "here: TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction: "
        "permission denied for table ducklake_snapshot"
    )


@pytest.mark.parametrize("reason", ["Permission denied", "Read-only file system"])
def test_a_directory_that_cannot_be_written_is_no_other_writer(reason: str) -> None:
    """The file may be writable where its directory, into which its log goes, is not: seen at COMMIT."""
    met = duckdb.TransactionException(
        f'TransactionContext Error: Failed to commit: Cannot open file "/ro/s.duckdb.wal": {reason}'
    )
    assert not problems.is_conflict(met)
    said = str(problems.translate(met, "/ro/s.duckdb"))
    assert "conflict" not in said
    assert said.endswith(f"{reason}; check the permissions of the file and its directory")


@pytest.mark.parametrize(
    ("reason", "conflict", "lost"),
    [
        ('duplicate key value violates unique constraint "ducklake_snapshot_pkey"', True, False),
        ("could not serialize access due to concurrent update", True, False),
        (
            'relation "ducklake_metadata" already exists',
            True,
            False,
        ),  # another host made the catalog's tables
        ("permission denied for table ducklake_snapshot", False, False),
        ("could not extend file: No space left on device", False, False),
        ("terminating connection due to administrator command", True, True),
    ],
)
@pytest.mark.parametrize(
    "text", ["x", "permission denied", "No space left on device", "Connection refused", '"a": b\n": c']
)
def test_what_a_log_says_is_not_taken_for_the_engine_s_word(
    reason: str, conflict: bool, lost: bool, text: str
) -> None:
    assert problems.is_conflict(error(reason, text)) is conflict
    assert problems.is_lost(error(reason, text)) is lost
    assert ("disk is full" in str(problems.translate(error(reason, text), "here"))) is ("No space" in reason)


def test_a_slow_query_draws_nothing_on_stdout(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    slow = "SELECT sum(hash(a.range + b.range)) FROM range(20000) a, range(5000) b"
    connection = duckdb.connect()
    connection.execute("SET progress_bar_time = 1")
    connection.execute(slow).fetchall()
    drawn = capfd.readouterr().out
    with open_store(target) as store:
        store.rows("SET progress_bar_time = 1")
        store.rows(slow)
    assert capfd.readouterr().out == ""
    assert "%" in drawn, "DuckDB no longer draws: this test shows nothing"
