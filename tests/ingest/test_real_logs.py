"""The measured truth of the shared logs: clean windows, medians, sessions, ends."""

from pathlib import Path

import pytest

from speclog.ingest.api import ingest_paths
from speclog.store import Store, open_store

pytestmark = pytest.mark.slow  # each opens a store of its own

# log: (batch size, clean windows, accept length, round ms), from the README beside the logs.
CLEAN = {
    "base": [(1, 46, 1.0, 4.819), (8, 11, 1.0, 4.92)],
    "base-repeat": [(1, 46, 1.0, 4.817), (8, 11, 1.0, 4.92)],
    "base-nograph": [(1, 46, 1.0, 19.14), (8, 11, 1.0, 18.35)],
    "eagle3-s5-a1.4": [(1, 32, 1.408, 7.438), (8, 7, 1.416, 8.405)],
    "eagle3-s5-a1.6": [(1, 27, 1.609, 7.482), (8, 4, 1.625, 8.351)],
    "eagle3-s5-a2.1": [(1, 20, 2.100, 7.414), (8, 4, 2.100, 8.327)],
    "eagle3-s5-a3.0": [(1, 12, 3.000, 7.454), (8, 2, 3.000, 8.40)],
    "eagle3-s2-a2.1": [(1, 20, 2.100, 6.628), (8, 4, 2.100, 7.375)],
    "eagle3-s5-a2.1-nograph": [(1, 20, 2.100, 37.6), (8, 4, 2.100, 44.4)],
}


@pytest.fixture(scope="module")
def h200(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:  # type: ignore[misc]
    """A store with the H200 logs, each read twice: the second time changes nothing."""
    target = str(tmp_path_factory.mktemp("h200") / "s.duckdb")
    first = ingest_paths([shared / "logs" / "h200-llama8b"], store_target=target)
    again = ingest_paths([shared / "logs" / "h200-llama8b"], store_target=target)
    assert {s.status for s in first} == {"ingested"}
    assert {s.status for s in again} == {"unchanged"}
    with open_store(target) as store:
        yield store


@pytest.mark.parametrize("name", CLEAN)
def test_clean_windows(h200: Store, name: str) -> None:
    sql = """SELECT running_req, count(*), avg(tau), median(round_ms) FROM decode_window
             WHERE run = ? AND excluded IS NULL AND running_req IN (1, 8) GROUP BY 1 ORDER BY 1"""
    found = h200.rows(sql, [name])
    assert [(b, n) for b, n, _, _ in found] == [(b, n) for b, n, _, _ in CLEAN[name]]
    for (_, _, tau, ms), (_, _, known_tau, known_ms) in zip(found, CLEAN[name], strict=True):
        assert tau == pytest.approx(known_tau, rel=0.002)
        assert ms == pytest.approx(known_ms, rel=0.003)


def test_runs(h200: Store) -> None:
    assert h200.rows(
        "SELECT count(*), count(*) FILTER (served), count(*) FILTER (end_reason = 'shutdown') FROM run"
    ) == [(15, 14, 14)]
    assert h200.rows("SELECT served, end_reason, version_min, version_max, windows FROM run WHERE name = ?", [
        "base-killed-at-boot"
    ]) == [(False, "killed", "0.5.14", "0.5.15", 0)]  # fmt: skip
    assert h200.rows("SELECT DISTINCT version, version_source FROM run WHERE served ORDER BY 2") == [
        ("0.5.14", "profile"),
        ("0.5.14", "server_info"),
    ]


def test_profile_lines_of_both_builds(h200: Store) -> None:
    sql = """SELECT run_name, kind, count(*), min(bs), max(bs), count(part),
                    bool_and(graph_rounds <= n)
             FROM (SELECT p.*, r.name AS run_name FROM profile_window AS p JOIN run AS r USING (run_id))
             GROUP BY ALL ORDER BY 1"""
    found = {row[0]: row[1:] for row in h200.rows(sql)}
    assert found["profiled-base"][:2] == ("decode", 59)
    assert found["profiled-eagle3-s5-a2.1"][:2] == ("spec", 35)
    assert found["profiled-eagle3-s2-a2.1"][:5] == ("spec", 14, 1.0, 8.0, 0)  # the older build prints no part
    assert all(row[-1] for row in found.values())


def test_accept_histogram_agrees_with_accept_length(h200: Store) -> None:
    sql = "SELECT acc_len, acc_hist, reqs FROM profile_window WHERE kind = 'spec'"
    checked = h200.rows(sql)
    for acc_len, hist, reqs in checked:
        assert sum(hist) == reqs
        assert 1 + sum(i * n for i, n in enumerate(hist)) / reqs == pytest.approx(acc_len, abs=1e-3)
    assert len(checked) == 35 + 14 + 39


def test_client_doubts(h200: Store) -> None:
    sql = "SELECT max_concurrency, output_tok_s, len(doubts) FROM bench_result ORDER BY output_tok_s"
    found = h200.rows(sql)
    assert [(c, round(t)) for c, t, _ in found] == [(1, 206), (1, 274), (8, 1527), (8, 1715)]
    assert all(n >= 1 for _, _, n in found)


def test_facts(h200: Store) -> None:
    sql = """SELECT f.name, f.value FROM fact AS f JOIN run AS r USING (run_id) WHERE r.name = ? ORDER BY 1"""
    assert dict(h200.rows(sql, ["profiled-eagle3-s5-a2.1"])) == {
        "context_len": "8192",
        "graph.decode_bs": "[1,2,3,4,5,6,7,8]",
        "graph.enabled": "true",
        "kv_tokens": "526883",
        "max_running_requests": "48",
        "model.class": "LlamaForCausalLM",
        "overlap_scheduler": "on",
        "profiling": "events",
        "weight.draft_gb": "2.14",
        "weight.target_gb": "14.98",
        "cached_prefix_share": "0.0",
    }
    assert dict(h200.rows(sql, ["base-nograph"]))["graph.enabled"] == "false"


def test_pipeline_stages_print_twice_and_count_once(shared: Path, tmp_path: Path) -> None:
    log = shared / "logs" / "rtxpro6000-kimi" / "sglang-tp4pp2-v2.log"
    target = str(tmp_path / "s.duckdb")
    summary = ingest_paths([log], store_target=target)[0]
    assert (summary.windows, summary.prefills) == (243, 97)
    with open_store(target) as store:
        assert store.rows("SELECT DISTINCT pp_rank, tp_rank FROM decode_window") == [(0, 0)]
        assert store.rows("SELECT value FROM fact WHERE name = 'duplicate_rank_lines'") == [("340",)]


def test_traceback_is_one_event(shared: Path, tmp_path: Path) -> None:
    log = shared / "logs" / "rtxpro6000-kimi" / "sglang-k2-nvfp4.log"
    target = str(tmp_path / "s.duckdb")
    ingest_paths([log], store_target=target)
    with open_store(target) as store:
        sql = """SELECT count(*), min(line_end - line_no), bool_and(message LIKE '%OutOfResources%')
                 FROM event WHERE kind = ?"""
        count, shortest, whole = store.rows(sql, ["traceback"])[0]
        assert (count, whole) == (8, True)
        assert shortest > 40
        assert store.rows("SELECT end_reason, served, windows FROM run") == [("crash", True, 2)]
