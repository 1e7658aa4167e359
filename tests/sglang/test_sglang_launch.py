"""`speclog launch` with a real SGLang 0.5.14 on a CPU: plain and EAGLE-3, interleaved, ingested, killed.

Needs SPECLOG_SGLANG_PYTHON (the interpreter of an environment made by `make test-sglang`). Times mean nothing
here; the lines, the life cycle, the argument parser and the processes are SGLang's own.
"""

import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.sglang]

ROOT = Path(__file__).resolve().parents[2]
SMALL = """
about = "as little work as shows everything"
[server]
decode_log_interval = 3
[workload]
output_len = 40
waves = 1
warmup_output_len = 4
[launch]
boot_timeout_s = 900
"""
PAIR = ("tiny-cpu-baseline", "tiny-cpu-eagle3")


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter that has SGLang."""
    path = os.environ.get("SPECLOG_SGLANG_PYTHON", "")
    if not path:
        pytest.skip("SPECLOG_SGLANG_PYTHON is not set: no SGLang to run")
    return path


@pytest.fixture(scope="module")
def env(tmp_path_factory) -> dict[str, str]:
    """This environment without tuning; the cache's path in it tells its processes from others."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SGLANG_", "SPECLOG_", "EAGLE3_"))}
    return kept | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


def speclog(*words: str) -> list[str]:
    return [sys.executable, "-m", "speclog", *words]


def run(words: list[str], env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True, timeout=3600)


def told(log: Path, head: str) -> list[dict]:
    found = [
        line
        for line in log.read_text(errors="replace").splitlines()
        if line.startswith(f"SPECLOG_{head} v=1 ")
    ]
    return [json.loads(line.partition(" v=1 ")[2]) for line in found]


def living(env: dict[str, str]) -> list[str]:
    """Command lines of processes of this test's servers that still live."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                ours = env["XDG_CACHE_HOME"].encode() in (entry / "environ").read_bytes()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found += [command] if ours and state != "Z" else []
    return found


def nothing_lives(env: dict[str, str], patience_s: float = 60) -> None:
    deadline = time.monotonic() + patience_s
    while living(env) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert living(env) == []


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[str, str]:
    """The overlay every session here has, as options."""
    path = tmp_path_factory.mktemp("overlay") / "small.toml"
    path.write_text(SMALL)
    return "--with", str(path)


@pytest.fixture(scope="module")
def campaign(python, env, small, tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Both arms twice, interleaved, benchmarked, ingested."""
    place = tmp_path_factory.mktemp("campaign")
    words = (
        "--store",
        "s.duckdb",
        "launch",
        *PAIR,
        *small,
        "--repeat",
        "2",
        "--python",
        python,
        "--out",
        "out",
    )
    return place, run(speclog(*words), env, place)


def logs(place: Path) -> list[Path]:
    state = json.loads((place / "out" / "campaign.json").read_text())
    return [place / "out" / run["log"] for run in state["runs"]]


def test_both_arms_run_twice_there_and_back(campaign, env):
    place, done = campaign
    assert done.returncode == 0, done.stderr
    order = [(PAIR[0], 1), (PAIR[1], 1), (PAIR[1], 2), (PAIR[0], 2)]
    assert [path.name for path in logs(place)] == [f"{arm}+small.r{repeat}.log" for arm, repeat in order]
    started = [told(path, "MANIFEST")[0]["started_at"] for path in logs(place)]
    assert started == sorted(started)
    assert all(told(path, "END")[0]["exit_code"] == 0 for path in logs(place))
    nothing_lives(env)


def test_the_log_is_sglangs_own_between_our_lines(campaign):
    place, _ = campaign
    for path in logs(place):
        text = path.read_text()
        assert text.startswith("SPECLOG_MANIFEST v=1 {")
        for mark in (
            "server_args=ServerArgs(",
            "Load weight end.",
            "The server is fired up",
            "Decode batch, ",
        ):
            assert mark in text
        assert text.splitlines()[-1].startswith("SPECLOG_END v=1 {")
        speculative = "eagle3" in path.name
        assert ("accept len: " in text) == speculative
        inside = re.findall(
            r'"event": "begin", "step": "bs1".*?"event": "end", "step": "bs1"', text, re.DOTALL
        )
        assert len(inside) == 1 and inside[0].count("Decode batch, ") >= 3


def test_arms_and_repeats_differ_in_what_they_should(campaign):
    place, _ = campaign
    manifests = [told(path, "MANIFEST")[0] for path in logs(place)]
    assert len({m["session"] for m in manifests}) == 4
    for key in (
        "env",
        "env_prefixes",
        "versions",
        "gpus",
        "plugins",
        "host_hash",
        "workload",
        "model_config",
    ):
        assert all(m[key] == manifests[0][key] for m in manifests), key
    assert manifests[0]["versions"]["sglang"] == "0.5.14"
    assert manifests[0]["env"]["SGLANG_SIMULATE_ACC_LEN"] == "2.1"
    args = [
        set(re.findall(r"(\w+)=('[^']*'|[\w.]+)", path.read_text().split("server_args=")[1].split("\n")[0]))
        for path in logs(place)
    ]
    changed = {name for name, _ in args[0] ^ args[1]}
    assert {n for n in changed if not n.startswith("speculative_")} <= {
        "port",
        "nccl_port",
        "max_running_requests",
    }


def test_the_workload_was_measured(campaign):
    place, _ = campaign
    for path in logs(place):
        (result,) = [json.loads(x) for x in path.with_suffix(".bench.jsonl").read_text().splitlines()]
        assert (result["completed"], result["max_concurrency"], result["tag"]) == (1, 1, "bs1")
        assert result["total_output_tokens"] == 40
        info = json.loads(path.with_suffix(".server_info.json").read_text())
        assert info["version"] == "0.5.14"
        assert "Serving Benchmark Result" in path.with_suffix(".bench.txt").read_text()


def query(place: Path, env: dict[str, str], sql: str) -> list[dict]:
    done = run(speclog("--store", "s.duckdb", "sql", sql, "--format", "json"), env, place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_store_has_all_four_runs_with_their_environment_and_steps(campaign, env):
    place, _ = campaign
    runs = query(
        place, env, "SELECT run_id, profile, repeat, end_reason, version FROM raw_run ORDER BY started_at"
    )
    assert [(r["profile"], r["repeat"]) for r in runs] == [
        (PAIR[0], 1),
        (PAIR[1], 1),
        (PAIR[1], 2),
        (PAIR[0], 2),
    ]
    assert {r["version"] for r in runs} == {"0.5.14"}
    assert {r["end_reason"] for r in runs} == {"shutdown"}
    known = query(place, env, "SELECT DISTINCT value FROM raw_env_var WHERE name = 'TRITON_INTERPRET'")
    assert known == [{"value": "1"}]
    windows = query(
        place,
        env,
        "SELECT r.profile, w.step, count(*) AS n, avg(w.accept_len) AS tau FROM raw_decode_window w "
        "JOIN raw_run r USING (ingest_id) WHERE w.step = 'bs1' GROUP BY ALL ORDER BY ALL",
    )
    assert [w["profile"] for w in windows] == list(PAIR)
    assert windows[0]["n"] >= 20 and windows[0]["tau"] is None
    assert windows[1]["n"] >= 8 and windows[1]["tau"] == pytest.approx(2.1, abs=0.25)


@pytest.mark.skipif(
    importlib.util.find_spec("speclog.commands.report") is None, reason="no report command yet"
)
def test_the_report_is_written_and_named_last(campaign):
    place, done = campaign
    page = place / done.stdout.splitlines()[-1]
    assert page.is_file() and page.suffix == ".html"


def test_sglangs_own_parser_refuses_before_the_launch(python, env, tmp_path):
    words = (
        "launch",
        PAIR[0],
        "--python",
        python,
        "--set",
        "launch.check_names=false",
        "--set",
        "spekulative_steps=2",
    )
    done = run(speclog(*words, "--out", "out"), env, tmp_path)
    assert done.returncode == 2
    assert "SGLang 0.5.14 does not take these server arguments: unrecognized arguments:" in done.stderr
    assert not list(tmp_path.glob("out/*.log"))


def test_a_printed_script_starts_the_same_server(campaign, python, env, small, tmp_path):
    place, _ = campaign
    printed = run(speclog("launch", PAIR[1], *small, "--print"), env, tmp_path)
    (tmp_path / "run.sh").write_text(printed.stdout)
    done = run(["bash", "run.sh"], env | {"PYTHON": python, "LOG": "run.log", "PORT": "28123"}, tmp_path)
    assert done.returncode == 0, done.stderr
    scripted, launched = ((path).read_text() for path in (tmp_path / "run.log", logs(place)[1]))

    def server_args(text: str) -> str:
        line = next(line for line in text.splitlines() if "server_args=" in line).partition("server_args=")[2]
        return re.sub(r"(port|nccl_port)=\w+", r"\1=", line)

    assert server_args(scripted) == server_args(launched)
    first, second = (json.loads(text.splitlines()[0].partition(" v=1 ")[2]) for text in (scripted, launched))
    assert first["env"] == second["env"] and first["workload"] == second["workload"]
    assert '"exit_code": 0' in scripted.splitlines()[-1]
    nothing_lives(env)


@pytest.mark.parametrize("attempt", range(5))
def test_killed_at_a_random_moment(python, env, small, tmp_path, attempt):
    """By SIGKILL, SIGINT, SIGTERM, SIGHUP: no orphan, the log ingestible, the manifest intact."""
    chance = random.Random(attempt)
    how = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL][attempt]
    words = speclog("launch", PAIR[attempt % 2], *small, "--python", python, "--out", "out", "--no-ingest")
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(words, env=env, cwd=tmp_path, stdout=said, stderr=said)
        while not (began := list(tmp_path.glob("out/*.log"))) and process.poll() is None:
            time.sleep(0.1)
        time.sleep(chance.uniform(1.0, 60.0))
        process.send_signal(how)
        process.wait(timeout=120)
    nothing_lives(env)
    (log,) = began
    assert told(log, "MANIFEST")[0]["profile"] == PAIR[attempt % 2]
    end = told(log, "END")
    assert len(end) == 1 and log.read_text().splitlines()[-1].startswith("SPECLOG_END")
    assert end[0]["exit_code"] in (137, 128 + how, 0)
    done = run(speclog("--store", "k.duckdb", "ingest", str(log)), env, tmp_path)
    assert done.returncode == 0, done.stderr
    (kept,) = query_in(tmp_path / "k.duckdb", env, "SELECT profile, count(*) AS n FROM raw_run GROUP BY 1")
    assert kept == {"profile": PAIR[attempt % 2], "n": 1}


def query_in(store: Path, env: dict[str, str], sql: str) -> list[dict]:
    done = run(speclog("--store", str(store), "sql", sql, "--format", "json"), env, store.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
