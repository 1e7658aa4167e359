"""The scripts for a lent GPU machine, with stand-ins for SGLang and nvidia-smi."""

import os
import subprocess
import sys

import pytest
from standin import HERE, Log

SCRIPTS = HERE.parent / "gpu"


def visit(place, script: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{HERE / 'fake' / 'bin'}{os.pathsep}{place.env['PATH']}"
    command = [
        sys.executable,
        str(SCRIPTS / script),
        "--site",
        str(HERE / "fake"),
        "--state",
        "state",
        *words,
    ]
    env = place.env | {"PATH": path, "OUT": "kept"} | env
    return subprocess.run(command, cwd=place.path, env=env, capture_output=True, text=True, timeout=300)


def test_the_order_of_the_visits(place):
    done = visit(place, "launch_visit.py", "--dry-run")
    arms = [line.split("+")[0] + line[-3:] for line in done.stdout.splitlines()[1:]]
    assert arms == [
        *("llama8b-baseline.r1", "llama8b-eagle3-5x6.r1", "llama8b-eagle3-2x3.r1"),
        *("llama8b-eagle3-2x3.r2", "llama8b-eagle3-5x6.r2", "llama8b-baseline.r2"),
    ]
    done = visit(place, "factorial.py", "--dry-run")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("+")]
    assert lines[:4] == [
        "llama8b-baseline+tp2.r1",
        "llama8b-baseline+tp2+nccl-pcie-ll.r1",
        "llama8b-eagle3-5x6+tp2.r1",
        "llama8b-eagle3-5x6+tp2+nccl-pcie-ll.r1",
    ]
    assert len(lines) == 8 + 6


@pytest.mark.slow
def test_a_visit_that_runs_out_of_time_goes_on_at_the_next(place):
    first = visit(place, "launch_visit.py", "--limit", "64", FAKE_WINDOW_S="1")
    kept = place.path / "kept"
    logs = sorted((kept / "launch").glob("*.log"))
    assert 0 < len(logs) < 6, first.stderr
    second = visit(place, "launch_visit.py")
    assert second.returncode == 0, second.stderr
    logs = [Log(path.read_bytes()) for path in sorted((kept / "launch").glob("*.log"))]
    done = [log.manifest["arm"] for log in logs if log.end["exit_code"] == 0]
    assert sorted(done) == sorted(
        2 * [f"llama8b-{a}+hopper-kit" for a in ("baseline", "eagle3-5x6", "eagle3-2x3")]
    )
    assert (kept / "machine.txt").read_text().startswith("$ nvidia-smi")
    for log in logs:
        assert log.manifest["env"]["SGLANG_SIMULATE_ACC_LEN"] == "2.1"
        assert [gpu["name"] for gpu in log.manifest["gpus"]] == ["NVIDIA H200"] * 2


@pytest.mark.slow
def test_the_factorial_has_its_four_cells_and_the_sweep(place):
    done = visit(place, "factorial.py", NCCL_NVLS_ENABLE="0")
    assert done.returncode == 0, done.stderr
    logs = [Log(path.read_bytes()) for path in (place.path / "kept").glob("*/*.log")]
    assert len(logs) == 8 + 6
    for log in logs:
        tuned = log.manifest["arm"].endswith("nccl-pcie-ll")
        assert log.manifest["env"]["NCCL_NVLS_ENABLE"] == "0"
        assert log.manifest["env"]["EAGLE3_PROFILE"] == "1" and log.manifest["plugins"] == ["speclog_eagle3"]
        assert ("NCCL_ALGO" in log.manifest["env"]) == tuned
        assert "--disable-custom-all-reduce" in log.manifest["argv"]
    assert (place.path / "kept" / "sweep" / "evidence.toml").is_file()
