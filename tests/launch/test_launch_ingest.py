"""What a launched log says is what the store knows: the contract between launch and ingest."""

import json
import os

import pytest
from standin import HERE


@pytest.fixture
def ask(place):
    def run(sql: str) -> list[dict]:
        done = place.run("--store", "s.duckdb", "sql", sql, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def launch(place, *words: str, **env: str) -> None:
    done = place.run("--store", "s.duckdb", "launch", *words, "--out", "out", "--no-report", **env)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_both_arms_of_a_campaign_are_in_the_store(place, ask):
    launch(place, "plain", "spec", "--repeat", "2", "--set", "NCCL_PROTO=LL")
    runs = ask("SELECT profile, repeat, end_reason, version, arm FROM raw_run ORDER BY started_at, name")
    assert sorted((r["profile"], r["repeat"]) for r in runs) == [
        ("plain", 1),
        ("plain", 2),
        ("spec", 1),
        ("spec", 2),
    ]
    assert {r["end_reason"] for r in runs} == {"shutdown"} and {r["version"] for r in runs} == {"0.5.14"}
    assert ask("SELECT DISTINCT value FROM raw_env_var WHERE name = 'NCCL_PROTO'") == [{"value": "LL"}]
    assert ask("SELECT count(*) AS n FROM raw_env_scan WHERE prefix = 'NCCL_'") == [{"n": 4}]
    steps = ask("SELECT step, warmup, count(*) AS n FROM raw_decode_window GROUP BY ALL ORDER BY ALL")
    assert [(s["step"], s["warmup"]) for s in steps] == [("bs1", False), ("bs2", False), ("warmup", True)]
    assert ask("SELECT count(*) AS n FROM raw_bench_result WHERE tag IN ('bs1', 'bs2')")[0]["n"] >= 8


@pytest.mark.slow
def test_a_store_that_cannot_be_made_is_found_before_the_sessions_run(place):
    words = ("--store", "nowhere/s.duckdb", "launch", "plain", "--out")
    refused = place.run(*words, "out")
    assert refused.returncode == 50 and not (place.path / "out").exists()
    assert "store: nowhere/s.duckdb cannot be made: the logs could not be ingested" in refused.stderr
    assert place.run(*words, "later", "--no-ingest").returncode == 0


@pytest.mark.slow
def test_logs_that_were_not_ingested_are_no_success(place):
    (place.path / "s.duckdb").write_text("this is no store")
    done = place.run("--store", "s.duckdb", "launch", "plain", "spec", "--out", "out")
    assert done.returncode == 4
    assert done.stdout.split() == ["out/plain.r1.log", "out/spec.r1.log"]
    assert done.stderr.splitlines()[-1] == (
        "speclog: error: not all logs were ingested, for the reason above; "
        "later: speclog --store s.duckdb ingest out"
    )
    assert (place.path / "s.duckdb").read_text() == "this is no store"


@pytest.mark.slow
def test_a_machine_without_gpus_is_known_to_have_none(place, ask):
    launch(place, "plain", PATH="/usr/bin:/bin")
    facts = {r["name"]: r["value"] for r in ask("SELECT name, value FROM raw_fact WHERE source = 'manifest'")}
    assert (facts["gpu.count"], facts["gpu.name"], facts["driver"]) == ("0", "none", "none")


@pytest.mark.slow
def test_the_gpus_of_a_machine_are_facts(place, ask):
    path = f"{HERE / 'fake' / 'bin'}{os.pathsep}{place.env['PATH']}"
    launch(place, "plain", "--set", "device=cuda", PATH=path)
    facts = {r["name"]: r["value"] for r in ask("SELECT name, value FROM raw_fact WHERE source = 'manifest'")}
    assert (facts["gpu.count"], facts["gpu.name"], facts["driver"]) == ("2", "NVIDIA H200", "580.95.05")
    assert float(facts["gpu.power_limit_w"]) == 700.0 and "NV18" in facts["topology"]
    assert facts["gpu.other_processes"] == "0"
