"""The main job on real logs, through the command line: ingest, then what the store and the report say."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from speclog.store import Store, open_store

pytestmark = pytest.mark.slow

# ../shared/logs/README.md: (windows, accept length, round ms, tok/s) at batch sizes 1 and 8.
TRUTH = {
    "base": ((46, 1.0, 4.819, 207.5), (11, 1.0, 4.92, 1625)),
    "base-repeat": ((46, 1.0, 4.817, 207.5), (11, 1.0, 4.92, 1625)),
    "base-nograph": ((46, 1.0, 19.14, 52.2), (11, 1.0, 18.35, 436)),
    "eagle3-s5-a1.4": ((32, 1.408, 7.438, 187.0), (7, 1.416, 8.405, 1322)),
    "eagle3-s5-a1.6": ((27, 1.609, 7.482, 214.6), (4, 1.625, 8.351, 1582)),
    "eagle3-s5-a2.1": ((20, 2.100, 7.414, 284.2), (4, 2.100, 8.327, 2018)),
    "eagle3-s5-a3.0": ((12, 3.000, 7.454, 402.5), (2, 3.0, 8.40, 2857)),
    "eagle3-s2-a2.1": ((20, 2.100, 6.628, 317.3), (4, 2.1, 7.375, 2278)),
    "eagle3-s5-a2.1-nograph": ((20, 2.1, 37.6, 56.3), (4, 2.1, 44.4, 382)),
}
FIVE_STEPS = [name for name in TRUTH if name.startswith("eagle3-s5") and "nograph" not in name]
NCCL = {"NCCL_PROTO", "NCCL_ALGO", "NCCL_P2P_LEVEL", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_NTHREADS"}


def speclog(store: Path, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "speclog", "--store", str(store), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd, env=env)


def rows(store: Store, sql: str, *params: object) -> list[dict[str, Any]]:
    columns, found = store.result(sql, params)
    return [dict(zip(columns, row, strict=True)) for row in found]


@pytest.fixture(scope="module")
def h200(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("h200")
    done = speclog(folder / "s.duckdb", "ingest", str(shared / "logs" / "h200-llama8b"), cwd=folder)
    assert done.returncode in (0, 3), done.stderr  # 3: one session of the folder never served
    with open_store(str(folder / "s.duckdb")) as store:
        yield store


@pytest.fixture(scope="module")
def story_path(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    done = speclog(folder / "s.duckdb", "ingest", str(example_logs / "kimi-k25-story"), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "s.duckdb"


@pytest.fixture(scope="module")
def story(story_path: Path) -> Iterator[Store]:
    with open_store(str(story_path)) as store:
        yield store


@pytest.mark.parametrize("name", list(TRUTH))
def test_clean_windows_and_medians_are_the_known_ones(h200: Store, name: str) -> None:
    for batch_size, (n, tau, round_ms, tok_s) in zip((1, 8), TRUTH[name], strict=True):
        (level,) = rows(
            h200,
            "SELECT * FROM level WHERE run = ? AND batch_size = ? AND run_id IS NOT NULL",
            name,
            batch_size,
        )
        assert level["n_clean"] == n
        assert level["round_ms"] == pytest.approx(round_ms, rel=0.003)
        assert level["tau"] == pytest.approx(tau, abs=0.006)
        assert level["tok_s"] == pytest.approx(tok_s, rel=0.01)


@pytest.mark.parametrize("name", FIVE_STEPS)
def test_break_even_at_400_tokens(h200: Store, name: str) -> None:
    fits = {
        row["run"]: row["fit_a_ms"] + row["fit_c_ms_per_token"] * 400
        for row in rows(
            h200, "SELECT * FROM level WHERE batch_size = 1 AND run IN ('base', 'base-repeat', ?)", name
        )
    }
    base = median([fits["base"], fits["base-repeat"]])
    assert 1.51 < fits[name] / base < 1.56


def pair(store: Store, candidate: str, baseline: str) -> dict[str, Any]:
    (found,) = rows(
        store,
        "SELECT * FROM break_even WHERE candidate_name = ? AND baseline_name = ? AND batch_size = 1",
        candidate,
        baseline,
    )
    return found


def test_the_baseline_without_graphs_is_unfair(h200: Store) -> None:
    naive = pair(h200, "eagle3-s5-a2.1", "base-nograph")
    assert naive["verdict"] == "unfair"
    assert naive["naive_speedup"] == pytest.approx(5.4, abs=0.1)
    fair = pair(h200, "eagle3-s5-a2.1", "base")
    assert fair["verdict"] == "unproven"  # no log records the environment
    assert fair["speedup"] == pytest.approx(1.37, abs=0.02)


def test_the_story_names_six_variables(story: Store) -> None:
    for baseline in ("baseline-remembered", "baseline-retuned"):
        assert pair(story, "eagle3-5x6-untuned", baseline)["verdict"] == "unfair"
        differing = rows(
            story,
            "SELECT f.name FROM comparison_factor AS f JOIN comparison AS c USING (candidate, baseline) "
            "WHERE c.candidate_name = 'eagle3-5x6-untuned' AND c.baseline_name = ? "
            "AND f.class = 'environment' AND f.differs",
            baseline,
        )
        assert {row["name"].removeprefix("env.") for row in differing} == NCCL


def test_the_story_in_numbers(story: Store) -> None:
    remembered = pair(story, "eagle3-5x6-untuned", "baseline-remembered")
    assert remembered["tau_star"] == pytest.approx(2.69, abs=0.02)
    assert pair(story, "eagle3-5x6-untuned", "baseline-retuned")["tau_star"] == pytest.approx(2.65, abs=0.02)
    fair = pair(story, "eagle3-5x6-untuned", "baseline-fresh")
    assert fair["verdict"] == "fair"
    assert fair["tau_star"] == pytest.approx(1.88, abs=0.02)
    assert fair["speedup"] == pytest.approx(1.13, abs=0.01)


def test_the_report_ends_with_its_path_and_chooses_the_fair_baseline(
    story_path: Path, tmp_path: Path
) -> None:
    done = speclog(story_path, "report", "--vs", "baseline", "--out-dir", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.splitlines()[-1])
    html = page.read_text(encoding="utf-8")
    assert "baseline-fresh" in html
    assert "SYNTHETIC" in html.upper()
    assert all(name in html for name in NCCL)


def test_ingesting_again_changes_nothing(story_path: Path, example_logs: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(story_path, tmp_path / "copy.duckdb"))

    def counts() -> list[tuple[Any, ...]]:
        with open_store(str(copy)) as store:
            return store.rows(
                "SELECT (SELECT count(*) FROM raw_ingest), (SELECT count(*) FROM raw_decode_window), "
                "(SELECT count(*) FROM raw_event)"
            )

    before = counts()
    done = speclog(copy, "ingest", str(example_logs / "kimi-k25-story"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert counts() == before


def test_json_of_the_views_has_the_verdict(story_path: Path, tmp_path: Path) -> None:
    done = speclog(story_path, "sql", "SELECT * FROM comparison", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert {row["verdict"] for row in found} <= {"fair", "unfair", "unproven"}
    assert found
