"""A session from end to end with the stand-in: manifest, markers, sidecars, exit codes, reasons."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from standin import processes_of


def test_a_session_leaves_a_log_that_proves_itself(place):
    done = place.launch("plain", NCCL_PROTO="LL", HF_TOKEN="hf_abcdefghijklmnopqrst", HOMEGROWN="x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["out/plain.r1.log"]
    log = place.log()
    manifest = log.manifest
    assert set(manifest) == {
        *(
            "session",
            "profile",
            "overlays",
            "arm",
            "repeat",
            "argv",
            "env",
            "env_prefixes",
            "versions",
            "gpus",
        ),
        *(
            "topology",
            "other_gpu_processes",
            "plugins",
            "host_hash",
            "git_commit",
            "started_at",
            "utc_offset_s",
        ),
        *("node_rank", "evidence", "workload", "model_config"),
    }
    assert re.fullmatch("[0-9a-f]{32}", manifest["session"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", manifest["started_at"])
    assert (manifest["profile"], manifest["arm"], manifest["repeat"]) == ("plain", "plain", 1)
    assert manifest["env"]["NCCL_PROTO"] == "LL"
    assert manifest["env"]["HF_TOKEN"] == "<redacted>"
    assert "HOMEGROWN" not in manifest["env"] and "NCCL_" in manifest["env_prefixes"]
    assert manifest["versions"]["sglang"] == "0.5.14"
    assert manifest["model_config"]["hidden_size"] == 128
    assert manifest["workload"]["num_prompts"] == [1, 2]
    assert "hf_abcdef" not in log.data.decode()
    assert log.end["exit_code"] == 0 and log.end["reason"] == "done"


def test_workload_markers_stand_around_their_windows(place):
    assert place.launch("plain").returncode == 0
    log = place.log()
    told = log.told("WORKLOAD")
    assert [(t["event"], t["step"], t["kind"], t["batch_size"]) for t in told] == [
        *[(event, "warmup", "warmup", 1) for event in ("begin", "end")],
        *[(event, "warmup", "warmup", 2) for event in ("begin", "end")],
        *[(event, "bs1", "measure", 1) for event in ("begin", "end")],
        *[(event, "bs2", "measure", 2) for event in ("begin", "end")],
    ]
    inside = None
    running = []
    for line in log.lines:
        if line.startswith("SPECLOG_WORKLOAD"):
            marker = json.loads(line.partition(" v=1 ")[2])
            inside = marker["batch_size"] if marker["event"] == "begin" else None
        elif found := re.search(r"Decode batch, #running-req: (\d+)", line):
            running.append((inside, int(found[1])))
    assert len(running) == 12 and all(step == seen for step, seen in running)


def test_results_lie_beside_the_log_without_secrets(place):
    assert place.launch("plain").returncode == 0
    out = place.path / "out"
    results = [json.loads(line) for line in (out / "plain.r1.bench.jsonl").read_text().splitlines()]
    assert [(r["tag"], r["max_concurrency"]) for r in results] == [("bs1", 1), ("bs2", 2)]
    assert "Serving Benchmark Result" in (out / "plain.r1.bench.txt").read_text()
    assert json.loads((out / "plain.r1.server_info.json").read_text())["version"] == "0.5.14"
    assert "sk-abcdef" not in "".join(p.read_text() for p in out.iterdir())
    assert not list(out.glob("*.part"))


def test_a_secret_is_not_taken_from_the_command_line(place):
    done = place.launch("plain", "--set", "api_key=open-sesame-key")
    assert done.returncode == 2
    assert "--set 'api_key={env:NAME}'" in done.stderr and "sesame" not in done.stderr
    done = place.launch("plain", "--set", "api_key={env:MY_KEY}")
    assert done.returncode == 2 and "MY_KEY is not set in this shell" in done.stderr
    done = place.run("launch", "plain", "--set", "api_key={env:MY_KEY}", "--print", MY_KEY="open-sesame-key")
    assert '--api-key "$MY_KEY"' in done.stdout and "sesame" not in done.stdout


def test_an_api_key_reaches_the_server_and_no_file_of_ours(place):
    done = place.launch(
        "plain", "--set", "api_key={env:MY_KEY}", MY_KEY="open-sesame-key", FAKE_RECORD="r.json"
    )
    assert done.returncode == 0, done.stderr
    assert "open-sesame-key" in (place.path / "r.json").read_text()
    assert "secrets" in done.stderr and "SGLang prints its arguments" in done.stderr
    log = place.log("plain,api_key=_env_MY_KEY_.r1")
    assert "open-sesame-key" not in log.lines[0] and log.end["exit_code"] == 0
    ours = [p for p in (place.path / "out").iterdir() if p.suffix != ".log"]
    assert len(ours) == 4 and not any("open-sesame-key" in p.read_text() + p.name for p in ours)


@pytest.mark.parametrize(
    ("env", "code", "says"),
    [
        ({"FAKE_DIE": "boot"}, 52, "exit code 1: ValueError: the stand-in was told to die in boot"),
        ({"FAKE_DIE": "oom"}, 52, "lower mem_fraction_static or cuda_graph_max_bs"),
        ({"FAKE_DIE": "serve"}, 53, "RuntimeError: the stand-in was told to die"),
        (
            {"FAKE_BENCH": "fail"},
            53,
            "bench_serving failed: ValueError: told to fail half-way",
        ),
        ({"FAKE_BENCH": "short"}, 54, "bench_serving finished 0 of 1 requests"),
    ],
)
def test_the_exit_code_and_one_line_say_what_failed(place, env, code, says):
    done = place.launch("plain", **env)
    assert done.returncode == code, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("speclog: error: ") and says in last
    assert "Traceback" not in done.stderr
    log = place.log()
    assert log.manifest["profile"] == "plain"
    assert log.end["exit_code"] == code and says.split(": ")[-1] in log.end["reason"]
    assert place.state()[0]["state"] == "failed"
    assert processes_of(str(place.path / "cache")) == []


@pytest.mark.slow
def test_a_proxy_of_the_shell_is_not_between_client_and_server(place):
    done = place.launch("plain", http_proxy="http://127.0.0.1:9", no_proxy="")
    assert done.returncode == 0, done.stderr


def test_a_server_that_is_never_ready(place):
    done = place.launch("plain", "--set", "launch.boot_timeout_s=2", FAKE_BOOT_S="60")
    assert done.returncode == 52
    assert "not ready after 2 s" in done.stderr.splitlines()[-1]
    assert processes_of(str(place.path / "cache")) == []


@pytest.mark.slow
def test_a_benchmark_that_hangs(place):
    done = place.launch("plain", "--set", "launch.step_timeout_s=2", FAKE_BENCH="hang")
    assert done.returncode == 53
    assert "took more than 2 s" in done.stderr.splitlines()[-1]
    assert processes_of(str(place.path / "cache")) == []


@pytest.mark.slow
@pytest.mark.parametrize("env", [{"FAKE_DEAF": "1"}, {"FAKE_ORPHAN": "1"}, {"FAKE_RANKS": "3"}])
def test_a_stubborn_server_leaves_nothing(place, env):
    done = place.launch("plain", "--set", "launch.stop_grace_s=1", **env)
    assert done.returncode == 0, done.stderr
    assert processes_of(str(place.path / "cache")) == []


def test_long_lines_of_many_ranks_are_never_torn(place):
    assert place.launch("plain", FAKE_RANKS="4").returncode == 0
    lines = [line for line in place.log().lines if " TP" in line]
    assert len(lines) == 4 * 60
    for line in lines:
        assert re.search(r"(^|0/1)\[2026-01-01 00:00:00 TP(\d)\] line \d+ \2{20000} end$", line), line[:80]


def test_further_nodes_serve_until_the_end(place):
    done = place.launch("plain", "--node-rank", "1", FAKE_DIE="boot")
    assert done.returncode == 2
    assert "--node-rank" in done.stderr  # the stand-in's parser lacks it, as an SGLang without nodes would


def test_nothing_of_speclog_is_on_the_servers_path(place):
    record = place.path / "record.json"
    assert place.launch("plain", FAKE_RECORD=str(record)).returncode == 0
    told = json.loads(record.read_text())
    assert told["env"]["PYTHONPATH"] == place.env["PYTHONPATH"]
    assert told["argv"][:2] == ["--model-path", str(place.path / "cache/speclog/models/nano/target")]
    assert Path(told["argv"][1], "tokenizer.json").is_file()


def test_a_benchmark_that_fails_half_way_keeps_what_was_measured(place):
    done = place.launch("plain", "--set", "workload.waves=2", FAKE_BENCH="late")
    assert done.returncode == 54
    out = place.path / "out"
    stem = "plain,workload.waves=2.r1"
    results = (out / f"{stem}.bench.jsonl").read_text().splitlines()
    assert [json.loads(r)["max_concurrency"] for r in results] == [1]
    log = place.log(stem)
    assert [(t["event"], t["step"]) for t in log.told("WORKLOAD")][-4:] == [
        *(("begin", "bs1"), ("end", "bs1"), ("begin", "bs2"), ("end", "bs2"))
    ]
    assert "ValueError: told to fail late" in log.end["reason"]


def test_a_log_that_cannot_grow(place):
    """A file-size limit stands in for a full disk: the writes of server and launcher fail in the same way."""
    words = " ".join(place.command("launch", "plain", "--out", "out", "--no-ingest"))
    command = ["bash", "-c", f"ulimit -f 8; exec {words}"]
    env = place.env | {"FAKE_RANKS": "1"}
    done = subprocess.run(command, cwd=place.path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 57, done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "speclog: error: out/plain.r1.log: cannot write: File too large"
    )
    assert place.log().manifest["profile"] == "plain"
    assert place.state()[0]["state"] == "failed"
    assert processes_of(str(place.path / "cache")) == []
