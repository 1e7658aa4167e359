"""What the fleet tests run against: a real PostgreSQL, an S3 server, stores of every kind, and logs to read.

`make test-fleet` runs them in an environment of their own ([lake] pins DuckDB) with SPECLOG_FLEET=1;
elsewhere they skip. PostgreSQL comes from the distribution and is started here, on a free port, in a
directory of its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fleet_helpers import Postgres, as_postgres, end_all, free_port, postgres_bin, speclog, wait_until

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests to `make test-fleet`."""
    if os.environ.get("SPECLOG_FLEET"):
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="fleet tests: run them with `make test-fleet`"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server, for the whole session."""
    found = postgres_bin()
    if found is None:
        pytest.skip("no PostgreSQL here (initdb) and it cannot be installed")
    # Not below pytest's own directory, which is closed to the user postgres.
    root = Path(tempfile.mkdtemp(prefix="speclog-pg-"))
    if os.geteuid() == 0:
        shutil.chown(root, "postgres")
    init = [str(found / "initdb"), "-D", str(root / "data"), "-A", "trust", "-U", "speclog"]
    subprocess.run([*as_postgres(), *init], check=True, stdout=subprocess.DEVNULL, cwd="/")
    server = Postgres(found, root, free_port())
    server.start()
    yield server
    with contextlib.suppress(subprocess.CalledProcessError):
        server.stop("immediate")
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    """Each test ends what it started."""
    yield
    end_all()


@pytest.fixture(scope="session")
def counter() -> Iterator[int]:
    """Numbers for names."""
    return iter(range(1_000_000))


@pytest.fixture
def lake(postgres: Postgres, tmp_path: Path, counter: Iterator[int]) -> str:
    """A new, empty lake on PostgreSQL."""
    database = f"lake{next(counter)}"
    postgres.create(database)
    target = f"ducklake:postgres:{postgres.dsn(database)}"
    speclog(target, "init", "--data-path", str(tmp_path / "lake")).check_returncode()
    return target


@pytest.fixture(params=["file", "sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new store of each kind."""
    if request.param == "postgres":
        return str(request.getfixturevalue("lake"))
    target = {"file": f"{tmp_path}/s.duckdb", "sqlite": f"ducklake:sqlite:{tmp_path}/s.sqlite"}[request.param]
    speclog(target, "init").check_returncode()
    return target


@pytest.fixture(params=["file", "postgres"])
def shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new store of the two kinds that several processes write."""
    if request.param == "postgres":
        return str(request.getfixturevalue("lake"))
    target = f"{tmp_path}/s.duckdb"
    speclog(target, "init").check_returncode()
    return target


@pytest.fixture(scope="session")
def log_maker(root: Path) -> Callable[..., list[Path]]:
    """Make logs of different sessions out of a real one."""
    source = root / "examples" / "logs" / "h200-llama8b" / "eagle3-s5-a2.1.log"
    text = source.read_text(encoding="utf-8")
    head, mark, rest = text.partition("random_seed=")
    number = len(rest) - len(rest.lstrip("0123456789"))
    assert mark
    decode = [line for line in text.splitlines(keepends=True) if "Decode batch" in line]

    def make(folder: Path, count: int, *, first: int = 0, more_windows: int = 0) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"log-{first + n:05d}.log" for n in range(count)]
        extra = "".join(decode[n % len(decode)] for n in range(more_windows))
        for n, path in enumerate(paths, start=first):
            path.write_text(f"{head}{mark}{1000 + n}{rest[number:]}{extra}", encoding="utf-8")
        return paths

    return make


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An S3 server with the bucket `lake`; gives the environment that reaches it."""
    boto3 = pytest.importorskip("boto3", reason="boto3 and moto: `make test-fleet` installs them")
    pytest.importorskip("moto", reason="boto3 and moto: `make test-fleet` installs them")
    port = free_port()
    log = (tmp_path_factory.mktemp("s3") / "log").open("w")
    command = [str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=log, stderr=log)
    env = {
        "AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST",
        "AWS_SECRET_ACCESS_KEY": "very-secret-value-of-a-key",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    client = boto3.client(
        "s3", endpoint_url=env["AWS_ENDPOINT_URL"], region_name="us-east-1",
        aws_access_key_id="x", aws_secret_access_key="y",
    )  # fmt: skip

    def up() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        return False

    wait_until(up)
    client.create_bucket(Bucket="lake")
    yield env
    server.terminate()
    server.wait()
    log.close()
