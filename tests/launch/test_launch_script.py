"""``--print``: the script runs as it is and does what ``speclog launch`` does."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from standin import Log, processes_of

from speclog.launch import script
from speclog.launch.profile import load
from speclog.resources import directory

WRAPPERS = {
    "kimi-k25-tp8-baseline.sh": ("kimi-k25-tp8-baseline", ["nccl-pcie-ll"]),
    "kimi-k25-tp8-eagle3-5x6.sh": ("kimi-k25-tp8-eagle3-5x6", ["nccl-pcie-ll"]),
}


def printed(place, *words: str) -> str:
    done = place.run("launch", *words, "--print")
    assert done.returncode == 0, done.stderr
    (place.path / "run.sh").write_text(done.stdout)
    return done.stdout


def run_script(place, **env: str) -> subprocess.CompletedProcess[str]:
    (place.path / "sh").mkdir(exist_ok=True)
    env = place.env | {"PYTHON": sys.executable, "LOG": "sh/run.log"} | env
    return subprocess.run(
        ["bash", "run.sh"],
        cwd=place.path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def normal(told: dict) -> dict:
    """What a server was started with, without the port and without what every process has of its own."""
    argv = list(told["argv"])
    at = argv.index("--port")
    del argv[at : at + 2]
    own = {"_", "SHLVL", "PWD", "OLDPWD", "LOG", "PYTHON", "FAKE_RECORD", "XPC_FLAGS"}
    return {"argv": sorted(argv), "env": {k: v for k, v in told["env"].items() if k not in own}}


def test_script_and_launch_give_the_server_the_same_arguments_and_environment(place):
    record = {"FAKE_RECORD": str(place.path / "a.json"), "NCCL_STRAY": "1"}
    words = ("spec", "--set", "NCCL_PROTO=LL", "--set", "NCCL_NAME=a b$c'd", "--set", "NCCL_STRAY=unset")
    assert place.launch(*words, **record).returncode == 0
    printed(place, *words)
    done = run_script(place, **(record | {"FAKE_RECORD": str(place.path / "b.json")}))
    assert done.returncode == 0, done.stderr
    first, second = (normal(json.loads((place.path / name).read_text())) for name in ("a.json", "b.json"))
    assert first == second
    assert first["env"]["NCCL_NAME"] == "a b$c'd" and "NCCL_STRAY" not in first["env"]


@pytest.mark.slow
def test_a_script_isolates_and_runs_the_interpreter_that_was_asked_for(place):
    """The stray of the shell goes, the profile's own stays, as under ``launch --isolate``."""
    stray = {"NCCL_STRAY": "a b", "OMP_NUM_THREADS": "3", "UNRELATED": "stays"}
    words = ("plain", "--set", "NCCL_PROTO=LL", "--isolate")
    assert place.launch(*words, FAKE_RECORD=str(place.path / "a.json"), **stray).returncode == 0
    text = printed(place, *words, "--python", sys.executable)
    assert f"PYTHON=${{PYTHON:-{sys.executable}}}" in text
    assert (
        f"# Made by: speclog launch plain --set NCCL_PROTO=LL --python {sys.executable} --isolate --print"
        in text
    )
    done = run_script(place, FAKE_RECORD=str(place.path / "b.json"), **stray)
    assert done.returncode == 0, done.stderr
    first, second = (normal(json.loads((place.path / name).read_text())) for name in ("a.json", "b.json"))
    assert first == second
    assert first["env"]["UNRELATED"] == "stays" and first["env"]["NCCL_PROTO"] == "LL"
    assert not {"NCCL_STRAY", "OMP_NUM_THREADS"} & first["env"].keys()


@pytest.mark.slow
def test_the_scripts_log_is_like_a_launched_one(place):
    assert place.launch("plain").returncode == 0
    printed(place, "plain")
    done = run_script(place)
    assert done.returncode == 0, done.stderr
    launched, scripted = place.log(), Log((place.path / "sh" / "run.log").read_bytes())
    assert scripted.end["exit_code"] == 0 and scripted.end["reason"] == "done"
    same = (
        "profile",
        "overlays",
        "arm",
        "env",
        "env_prefixes",
        "versions",
        "workload",
        "model_config",
        "gpus",
    )
    assert {k: scripted.manifest[k] for k in same} == {k: launched.manifest[k] for k in same}
    steps = [
        [(t["event"], t["step"], t["kind"], t["batch_size"]) for t in log.told("WORKLOAD")]
        for log in (launched, scripted)
    ]
    assert steps[0] == steps[1] and len(steps[0]) == 8
    results = (place.path / "sh" / "run.bench.jsonl").read_text().splitlines()
    assert [json.loads(r)["max_concurrency"] for r in results] == [1, 2]
    assert json.loads((place.path / "sh" / "run.server_info.json").read_text())["version"] == "0.5.14"
    assert "Decode batch" in done.stdout  # the console sees the log
    assert processes_of(str(place.path / "cache")) == []


@pytest.mark.slow
@pytest.mark.parametrize(("env", "code"), [({"FAKE_DIE": "boot"}, 52), ({"FAKE_BENCH": "fail"}, 53)])
def test_a_failing_script_says_so_and_leaves_nothing(place, env, code):
    printed(place, "plain")
    done = run_script(place, **env)
    assert done.returncode == code
    log = Log((place.path / "sh" / "run.log").read_bytes())
    assert log.manifest["profile"] == "plain" and log.end["exit_code"] == code
    assert processes_of(str(place.path / "cache")) == []
    assert run_script(place).returncode == 50  # a log is never overwritten


@pytest.mark.slow
def test_a_script_that_cannot_write_its_manifest_says_why(place):
    printed(place, "plain")
    next(place.path.rglob("plain.toml")).unlink()
    done = run_script(place)
    assert done.returncode == 0
    assert "no profile" in done.stderr and "has no manifest, for the reason above" in done.stderr
    assert "SPECLOG_MANIFEST" not in (place.path / "sh" / "run.log").read_text()


@pytest.mark.slow
def test_an_interrupted_script_stops_its_server(place):
    printed(place, "plain")
    (place.path / "sh").mkdir()
    env = place.env | {"PYTHON": sys.executable, "LOG": "sh/run.log", "FAKE_WINDOW_S": "5"}
    process = subprocess.Popen(["bash", "run.sh"], cwd=place.path, env=env, stdout=subprocess.DEVNULL)
    log = place.path / "sh" / "run.log"
    while not (log.is_file() and "SPECLOG_WORKLOAD" in log.read_text()):
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 143
    assert Log(log.read_bytes()).end["reason"] == "stopped by SIGTERM"
    assert processes_of(str(place.path / "cache")) == []


@pytest.mark.parametrize(("file", "arm"), WRAPPERS.items())
def test_the_wrappers_in_launch_are_what_the_profiles_print(file, arm):
    assert (directory("launch") / file).read_text() == script.write(load(*arm))


@pytest.mark.parametrize("file", WRAPPERS)
def test_the_wrappers_are_shell(file):
    path = directory("launch") / file
    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", path]).returncode == 0
    assert not re.search(r"@[A-Z_]+@", path.read_text())
    if shutil.which("shellcheck"):
        assert subprocess.run(["shellcheck", "-S", "warning", path]).returncode == 0


def test_one_script_is_one_arm(place):
    done = place.run("launch", "plain", "spec", "--print")
    assert done.returncode == 2 and "writes the script of one arm, not of 2" in done.stderr


def test_profiles_and_overlays_that_are_files_are_named_so_that_a_script_finds_them(tmp_path, monkeypatch):
    """The script asks for the manifest again, from whatever folder it runs in."""
    (tmp_path / "mine.toml").write_text('extends = "tiny-cpu-baseline"\nabout = "x"\n')
    (tmp_path / "small.toml").write_text("[workload]\nnum_prompts = 1\n")
    monkeypatch.chdir(tmp_path)
    profile = load("mine.toml", ["small.toml"], ["NCCL_PROTO=LL"])
    expected = f"{tmp_path}/mine.toml --with {tmp_path}/small.toml --set NCCL_PROTO=LL"
    assert f"speclog.launch.note {expected} -- " in script.write(profile)
    assert profile.arm == "mine+small NCCL_PROTO=LL"
    monkeypatch.chdir("/")
    assert load(profile.words[0], [profile.words[2]], [profile.words[4]]).env == profile.env
