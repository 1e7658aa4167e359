"""Stores of every kind: the same answers, files that other DuckDBs open, S3, roles, quiet credentials."""

import math
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fleet_helpers import Postgres, speclog

from speclog import resources
from speclog.store import Store, open_store, schema

# `make test-fleet` makes both: the newest DuckDB, and the oldest one pyproject.toml allows.
NEWEST = os.environ.get("SPECLOG_FLEET_NEWEST", "")
OLDEST = os.environ.get("SPECLOG_FLEET_OLDEST", "")
COUNT = """
import duckdb, json, sys
con = duckdb.connect(sys.argv[1], read_only=True)
con.execute("SET enable_progress_bar = false")
print(json.dumps([con.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] for view in sys.argv[2:]]))
"""


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, example_logs: Path) -> Path:
    """A file store with the example logs and an annotation; and its export."""
    folder = tmp_path_factory.mktemp("filled")
    target = str(folder / "s.duckdb")
    speclog(target, "ingest", str(example_logs)).check_returncode()
    with open_store(target, read_only=False) as store:
        store.rows("INSERT INTO raw_annotation SELECT run_id, 'tag', 'x', NULL, '2026-11-01' FROM run")
    speclog(target, "export", "--parquet", str(folder / "out")).check_returncode()
    return folder


@pytest.fixture(scope="session")
def runs(filled: Path) -> int:
    """How many runs the example logs are."""
    with open_store(str(filled / "s.duckdb")) as store:
        found = int(store.rows("SELECT count(*) FROM run")[0][0])
    assert found > 1
    return found


def windowed(store: Store) -> int:
    """How many runs the raw decode windows of a store are of."""
    return int(store.rows("SELECT count(DISTINCT run_id) FROM raw_decode_window")[0][0])


def rounded(rows: list[tuple[object, ...]]) -> list[str]:
    """Rows as text, floats to nine digits: sums over several files may differ in the last bit."""
    return [repr(tuple(_rounded(value) for value in row)) for row in rows]


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.9g}" if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def test_every_view_gives_the_same_on_every_kind(any_store: str, filled: Path, runs: int) -> None:
    done = speclog(any_store, "import", str(filled / "out"))
    assert done.returncode == 0, done.stderr
    views = [item.name for item in schema.definitions() if item.part in ("views", "catalogue")]
    with open_store(str(filled / "s.duckdb")) as store, open_store(any_store) as other:
        for path in sorted((resources.directory("sql") / "queries").glob("*.sql")):
            sql = path.read_text(encoding="utf-8")
            assert rounded(other.rows(sql)) == rounded(store.rows(sql)), path.name  # in the same order
        for view in views:
            names, expected = store.result(f"SELECT * FROM {view}")
            assert other.result(f"SELECT * FROM {view}")[0] == names, view
            assert sorted(rounded(other.rows(f"SELECT * FROM {view}"))) == sorted(rounded(expected)), view
        assert len(other.rows("FROM run")) == runs


def test_the_commands_print_the_same_on_every_kind(any_store: str, filled: Path) -> None:
    speclog(any_store, "import", str(filled / "out")).check_returncode()
    for arguments in (("runs", "--json"), ("query", "windows-left-out", "--json")):
        assert speclog(any_store, *arguments).stdout == speclog(str(filled / "s.duckdb"), *arguments).stdout


def test_upkeep_works_on_every_kind(any_store: str, filled: Path, runs: int) -> None:
    speclog(any_store, "import", str(filled / "out")).check_returncode()
    with open_store(any_store) as store:
        before = windowed(store)
    assert "1 runs removed" in speclog(any_store, "runs", "rm", "base").stderr
    assert "1 runs restored" in speclog(any_store, "runs", "restore", "base").stderr
    assert "1 runs removed" in speclog(any_store, "runs", "rm", "base").stderr
    done = speclog(any_store, "gc", "--older-than", "0s")
    assert "1 removed runs" in done.stderr, done.stderr
    with open_store(any_store) as store:
        assert store.rows("SELECT count(*) FROM run") == [(runs - 1,)]
        assert windowed(store) == before - 1


def test_an_older_copy_replaces_no_run_on_any_kind(
    any_store: str, tmp_path: Path, example_logs: Path
) -> None:
    log = next(path for path in sorted(example_logs.rglob("*.log")) if "Decode batch" in path.read_text())
    lines = log.read_text().splitlines(keepends=True)
    decodes = [n for n, line in enumerate(lines) if "Decode batch" in line]
    half = tmp_path / "half.log"
    half.write_text("".join(lines[: decodes[len(decodes) // 2]]))
    count = "SELECT count(*) FROM decode_window"
    speclog(any_store, "ingest", str(log)).check_returncode()
    with open_store(any_store) as store:
        before = store.rows(count)
    done = speclog(any_store, "ingest", str(half))
    assert "older copy: the store has" in done.stdout, done.stdout + done.stderr
    speclog(any_store, "gc", "--older-than", "0s").check_returncode()
    assert "unchanged" in speclog(any_store, "ingest", str(log)).stdout
    with open_store(any_store) as store:
        assert store.rows(count) == before
        assert store.rows("SELECT count(DISTINCT ingest_id) FROM raw_decode_window") == [(1,)]


def test_typed_sql_stays_inside_every_kind(any_store: str, filled: Path, runs: int, tmp_path: Path) -> None:
    speclog(any_store, "import", str(filled / "out")).check_returncode()
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,geheim\n")
    assert f" {runs} " in speclog(any_store, "sql", "SELECT count(*) AS n FROM run").stdout
    for sql in (
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"COPY (SELECT 1) TO '{tmp_path}/lake/out.csv'",
        f"FROM read_text('{secret}')",
        f"FROM '{secret}'",
        "FROM postgres_query('__ducklake_metadata_lake', 'SELECT 1')",
        "FROM sqlite_query('__ducklake_metadata_lake', 'SELECT 1')",
        "CALL postgres_execute('__ducklake_metadata_lake', 'SELECT 1')",
        "DELETE FROM raw_run",
        "FROM __ducklake_metadata_lake.ducklake_metadata, read_text('/etc/passwd')",
        "CALL ducklake_expire_snapshots('lake', older_than => now())",
        "SELECT count(*) FROM ducklake_delete_orphaned_files('lake', cleanup_all => true)",
    ):
        done = speclog(any_store, "sql", sql)
        assert done.returncode == 2, (sql, done.stdout, done.stderr)
        assert "geheim" not in done.stdout + done.stderr
    assert not list(tmp_path.rglob("out.csv"))


def test_a_file_opens_in_the_packaged_cli(filled: Path) -> None:
    cli = Path(sys.executable).parent / "duckdb"
    if not cli.exists():
        pytest.skip("the duckdb CLI (pip install duckdb-cli): `make test-fleet` installs it")
    command = [str(cli), "-readonly", "-csv", "-noheader", str(filled / "s.duckdb")]
    sql = "SELECT count(*), sum(windows) FROM run"
    done = subprocess.run([*command, sql], capture_output=True, text=True, timeout=60)
    with open_store(str(filled / "s.duckdb")) as store:
        assert done.stdout.strip() == ",".join(map(str, store.rows(sql)[0])), done.stderr
    views = [item.name for item in schema.definitions() if item.part == "views"]
    every = "; ".join(f"SELECT count(*) FROM {view}" for view in views)
    done = subprocess.run([*command, every], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    inside = subprocess.run(
        [str(cli), "-csv", "-noheader", "-init", "open.sql", "-c", sql],
        cwd=filled / "out", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and ",".join(map(str, _one(filled, sql))) in inside.stdout, inside.stderr


def _one(filled: Path, sql: str) -> tuple[object, ...]:
    with open_store(str(filled / "s.duckdb")) as store:
        return tuple(store.rows(sql)[0])


def test_s3(
    postgres: Postgres, counter: Iterator[int], s3: dict[str, str], filled: Path, tmp_path: Path,
    log_maker: Callable[..., list[Path]], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    database = f"lake{next(counter)}"
    postgres.create(database)
    target = f"ducklake:postgres:{postgres.dsn(database)}"
    made = speclog(target, "init", "--data-path", f"s3://lake/{database}", env=s3)
    assert made.returncode == 0, made.stderr
    log_maker(tmp_path / "logs", 5)
    for done in (
        speclog(target, "ingest", str(tmp_path / "logs"), env=s3),
        speclog(target, "import", str(filled / "out"), env=s3),
        speclog(target, "sql", "SELECT count(*) AS n, sum(windows) FROM run", env=s3),
        speclog(target, "gc", "--older-than", "0s", env=s3),
        speclog(target, "sql", "SELECT count(*) FROM decode_window WHERE round_ms > 0", env=s3),
    ):
        assert done.returncode == 0, done.stderr
        assert s3["AWS_SECRET_ACCESS_KEY"] not in done.stdout + done.stderr
    # An unreachable server, and no key: an error that names no secret.
    for wrong in ({**s3, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, {}):
        done = speclog(target, "sql", "SELECT sum(round_ms) FROM decode_window", env=wrong, lock_timeout="1")
        assert done.returncode in (2, 4)
        assert "Traceback" not in done.stderr
        assert s3["AWS_SECRET_ACCESS_KEY"] not in done.stderr


def test_passwords_come_from_the_usual_places_and_go_nowhere(
    postgres: Postgres, lake: str, tmp_path: Path
) -> None:
    database = lake.split("dbname=")[1].split()[0]
    postgres.sql(database, "ALTER ROLE speclog PASSWORD 'hunter2-hunter2'")
    env = {"PGPASSWORD": "hunter2-hunter2"}
    for arguments in (
        ("runs",),
        ("sql", "SELECT * FROM duckdb_databases()"),
        ("sql", "FROM duckdb_settings()"),
    ):
        done = speclog(lake, *arguments, env=env)
        assert done.returncode == 0, done.stderr
        assert "hunter2-hunter2" not in done.stdout + done.stderr
    done = speclog(f"{lake} password=hunter2-hunter2", "runs")
    assert done.returncode == 2
    assert "hunter2" not in done.stderr
    gone = speclog(lake.replace("host=127.0.0.1", "host=nowhere.invalid"), "runs", env=env, lock_timeout="1")
    assert gone.returncode == 4
    assert "hunter2" not in gone.stderr


def test_a_reader_role_reads_and_cannot_write(
    postgres: Postgres,
    lake: str,
    filled: Path,
    runs: int,
    tmp_path: Path,
    log_maker: Callable[..., list[Path]],
) -> None:
    speclog(lake, "import", str(filled / "out")).check_returncode()
    database = lake.split("dbname=")[1].split()[0]
    dba = "CREATE ROLE dba SUPERUSER; SET ROLE dba; "  # not the role that writes
    postgres.sql(database, dba + (Path(__file__).parent / "reader_role.sql").read_text())
    reader = lake.replace("user=speclog", "user=analyst")
    assert f" {runs} " in speclog(reader, "sql", "SELECT count(*) AS n FROM run").stdout
    (path,) = log_maker(tmp_path / "logs", 1)
    done = speclog(reader, "ingest", str(path), lock_timeout="2")
    assert done.returncode == 4, (done.returncode, done.stderr)
    assert "permission denied" in done.stderr
    with open_store(
        lake, read_only=False
    ) as store:  # a table of a later release; its first rows lie in the catalog
        store.script("CREATE TABLE later (a INTEGER); INSERT INTO later VALUES (7)")
    assert " 7 " in speclog(reader, "sql", "SELECT a FROM later").stdout
    with open_store(lake) as store:
        assert store.rows("SELECT count(*) FROM run") == [(runs,)]


def test_backup_and_restore_of_catalog_and_data(
    postgres: Postgres, counter: Iterator[int], lake: str, filled: Path, tmp_path: Path
) -> None:
    """What docs/fleet.md tells: dump the catalog first, then copy the Parquet; both back at the same path."""
    speclog(lake, "import", str(filled / "out")).check_returncode()
    database = lake.split("dbname=")[1].split()[0]
    dump, copy = tmp_path / "catalog.dump", tmp_path / "copy"
    at = ["-h", "127.0.0.1", "-p", str(postgres.port), "-U", "speclog"]
    subprocess.run([postgres.bin / "pg_dump", *at, "-Fc", "-f", dump, database], check=True)
    shutil.copytree(tmp_path / "lake", copy)
    before = speclog(lake, "runs", "--json").stdout
    shutil.rmtree(tmp_path / "lake")
    other = f"lake{next(counter)}"
    postgres.create(other)
    subprocess.run([postgres.bin / "pg_restore", *at, "-d", other, dump], check=True)
    shutil.copytree(copy, tmp_path / "lake")
    assert speclog(lake.replace(f"dbname={database} ", f"dbname={other} "), "runs", "--json").stdout == before


def test_the_ten_lines_of_the_manual(
    postgres: Postgres, root: Path, tmp_path: Path, example_logs: Path
) -> None:
    """docs/fleet.md, line by line: only names of hosts and places are ours; what is installed stays."""
    text = (root / "docs" / "fleet.md").read_text(encoding="utf-8")
    block = text.split("## Two hosts in ten lines", 1)[1].split("```sh\n", 1)[1].split("```", 1)[0]
    lines = [line for line in block.splitlines() if not line.startswith(("#", "pip install"))]
    assert len(lines) == 6 and sum("speclog " in line for line in lines) >= 3
    postgres.sql("postgres", "CREATE ROLE writer LOGIN")  # one without rights of its own, as at most sites
    (tmp_path / "logs").mkdir()
    for name in ("base.log", "eagle3-s5-a2.1.log"):
        shutil.copy(example_logs / "h200-llama8b" / name, tmp_path / "logs")
    ours = {
        "db.example": "127.0.0.1", "user=speclog'": f"user=writer port={postgres.port}'",
        "-O speclog": "-O writer",
        "createdb -h": f"createdb -U speclog -p {postgres.port} -h", "createdb": f"{postgres.bin}/createdb",
        "/mnt/share/speclog": f"{tmp_path}/share", "/var/log/sglang/": f"{tmp_path}/logs",
        "dbname=lake": "dbname=manual", " lake": " manual", "--vs baseline": "--vs baseline --format json",
    }  # fmt: skip
    script = "\n".join(lines)
    for theirs, own in ours.items():
        script = script.replace(theirs, own)
    head = f'set -e\nspeclog() {{ "{sys.executable}" -m speclog "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", head + script], capture_output=True, text=True, timeout=300, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "eagle3-s5-a2.1" in done.stdout + (tmp_path / "reports" / "all-vs-baseline.json").read_text()
    dsn = postgres.dsn("manual").replace("user=speclog", "user=writer")
    assert speclog(f"ducklake:postgres:{dsn}", "gc").returncode == 0
    with open_store(f"ducklake:postgres:{dsn}") as store:
        assert store.rows("SELECT count(*) FROM run") == [(2,)]


@pytest.mark.parametrize("writer", ["this", "newest"])
def test_a_file_opens_in_every_supported_duckdb(writer: str, example_logs: Path, tmp_path: Path) -> None:
    if not (NEWEST and OLDEST):
        pytest.skip("needs the environments with the newest and the oldest DuckDB: `make test-fleet`")
    target = str(tmp_path / "s.duckdb")
    python = {"this": sys.executable, "newest": NEWEST}[writer]
    command = [python, "-m", "speclog", "--store", target, "ingest", str(example_logs)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
    header = Path(target).read_bytes()[:20]
    assert struct.unpack("<Q", header[12:20])[0] <= 65
    views = [item.name for item in schema.definitions() if item.part in ("views", "catalogue")]
    answers = [
        subprocess.run([reader, "-c", COUNT, target, *views], capture_output=True, text=True, timeout=120)
        for reader in (sys.executable, NEWEST, OLDEST)
    ]
    assert [answer.stderr for answer in answers] == ["", "", ""]
    assert len({answer.stdout for answer in answers}) == 1
