"""Preflight and doctor: every finding names what mends it; nothing is changed."""

import json
import os
import socket

import pytest
from standin import HERE

from speclog.launch import checks, machine
from speclog.launch.interpreter import Answer
from speclog.launch.profile import load


@pytest.fixture
def gpus(monkeypatch):
    """Two cards by the stand-in nvidia-smi; the variables it knows may be set."""
    monkeypatch.setenv("PATH", f"{HERE / 'fake' / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def look(**env: str) -> machine.Machine:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        return machine.look({})

    return look


def found(rows) -> dict[str, checks.Check]:
    return {check.check: check for check in rows}


def test_what_the_machine_is(gpus):
    here = gpus()
    assert here.gpus[0].recorded() == {
        "index": 0,
        "name": "NVIDIA H200",
        "uuid_hash": machine.digest("GPU-aaaa-0"),
        "power_limit_w": 700.0,
        "clocks_sm_mhz": 345.0,
        "clocks_max_sm_mhz": 1980.0,
        "memory_mib": 143771.0,
    }
    assert (here.driver, here.other_gpu_processes, len(here.gpus)) == ("580.95.05", 0, 2)
    assert here.topology.startswith("GPU0") and "\x1b" not in here.topology


def test_an_old_driver_tells_less(gpus):
    here = gpus(FAKE_OLD="1")
    assert [(g.name, g.power_limit_w) for g in here.gpus] == [("NVIDIA H200", None)] * 2
    assert here.driver == "580.95.05"


def test_only_visible_gpus_count(gpus):
    gpus()
    assert [g.index for g in machine.look({"CUDA_VISIBLE_DEVICES": "1"}).gpus] == [1]
    assert [g.index for g in machine.look({"CUDA_VISIBLE_DEVICES": "GPU-aaaa-0"}).gpus] == [0]
    assert machine.look({"CUDA_VISIBLE_DEVICES": ""}).gpus == []


def test_without_nvidia_smi_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.look({}) == machine.Machine(None, None, None, None)


def test_a_busy_gpu_fails_the_preflight(gpus):
    rows = found(checks.gpus(gpus(FAKE_BUSY="1"), 2))
    assert rows["gpus idle"].status == "fail"
    assert rows["gpus idle"].found == "1 other processes; GPU 0 holds 70000 MiB, GPU 1 holds 70000 MiB"


def test_too_few_gpus_and_capped_ones(gpus):
    rows = found(checks.gpus(gpus(FAKE_CAPPED="1", FAKE_ODD="1"), 8))
    assert (rows["gpus"].status, rows["gpus"].found[:13]) == ("fail", "2 of 8 needed")
    assert rows["gpu 0 power cap"].mend == "sudo nvidia-smi -i 0 -pl 700"
    assert rows["gpu 1 persistence"].mend == "sudo nvidia-smi -i 1 -pm 1"
    assert rows["gpus alike"].status == "warn"


@pytest.mark.usefixtures("gpus")
def test_no_visible_gpu_is_not_told_to_use_none():
    row = found(checks.gpus(machine.look({"CUDA_VISIBLE_DEVICES": ""}), 1))["gpus"]
    assert (row.status, row.found, row.mend) == ("fail", "0 of 1 needed", "widen CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize(("link", "status"), [("NV18", "ok"), ("SYS", "warn")])
def test_links(gpus, link, status):
    here = gpus(FAKE_LINK=link)
    rows = found(checks.topology(here, load("kimi-k25-tp8-baseline")))
    assert rows["links"].status == status
    tuned = found(checks.topology(here, load("kimi-k25-tp8-baseline+nccl-pcie-ll")))
    assert tuned["links"].status == "ok"


def test_tuning_that_was_measured_elsewhere_is_stale(gpus):
    profile = load("kimi-k25-tp8-baseline+nccl-pcie-ll")
    answer = Answer("p", "3.11", "0.5.14", "2.11", "13.0", "2.28.9", [], [], [])
    (stale,) = checks.staleness(profile, answer, gpus())
    assert "nccl 2.27.5 then, 2.28.9 now" in stale.found and "driver" not in stale.found
    assert (
        stale.mend
        == "measure again: speclog launch kimi-k25-tp8-baseline --sweep with=none,nccl-pcie-ll --repeat 3"
    )
    assert list(checks.staleness(profile, None, machine.Machine(None, None, None, None))) == []


def test_tuning_this_shell_lacks():
    profile = load("kimi-k25-tp8-baseline+nccl-pcie-ll")
    rows = found(checks.tuning(profile, {"NCCL_PROTO": "LL", "NCCL_ALGO": "Tree"}))
    assert rows["NCCL_PROTO"].status == "ok"
    assert rows["NCCL_ALGO"].found.startswith("Tree in this shell, Ring in kimi")
    assert rows["NCCL_NTHREADS"].mend.startswith("export NCCL_NTHREADS=512")


def test_tuning_shows_no_secret_of_shell_or_profile(profile_file):
    profile = load(
        profile_file(
            'extends = "llama8b-baseline"\n[env]\nHF_TOKEN = "abc1"\nNCCL_A = "{env:B}"\n'
            'NCCL_C = "hf_abcdefghijklmnopqrst"\nNCCL_D = "it is"\n'
        )
    )
    shell = {"HF_TOKEN": "abc2", "NCCL_C": "hf_zyxwvutsrqponmlkjihg"}
    rows = found(checks.tuning(profile, shell))
    assert rows["HF_TOKEN"].found == "<redacted> in this shell, <redacted> in p"
    assert rows["HF_TOKEN"].mend.startswith("export HF_TOKEN as p has it")
    assert rows["NCCL_D"].mend.startswith("export NCCL_D='it is'")
    assert "NCCL_A" not in rows
    told = str(rows)
    assert not any(word in told for word in ("abc1", "abc2", "hf_abc", "hf_zyx"))


def test_a_model_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))

    def status(path: str, *more: str) -> checks.Check:
        return next(checks.models(load("llama8b-baseline", (), [f"models.target={path}", *more])))

    assert status("/none").status == "fail" and "models.target" in status("/none").mend
    assert status("org/name").status == "warn"
    assert status("org/name", "HF_HUB_OFFLINE=1").status == "fail"
    (tmp_path / "hf" / "hub" / "models--org--name").mkdir(parents=True)
    assert status("org/name", "HF_HUB_OFFLINE=1").status == "ok"
    assert status(str(tmp_path)).found.endswith("has no config.json")


def test_doctor_without_a_profile(place):
    done = place.run("doctor", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["check"]: row for row in json.loads(done.stdout)}
    assert rows["sglang"]["found"] == "0.5.14" and rows["polars"]["status"] == "ok"
    assert set(rows["sglang"]) == {"check", "status", "found", "mend"}


def test_doctor_against_a_profile(place):
    done = place.run("doctor", "plain", "--set", "NCCL_PROTO=LL", "--set", "tp_size=2")
    assert done.returncode == 0, done.stderr
    assert "NCCL_PROTO" in done.stdout and "unset in this shell, LL in plain NCCL_PROTO=LL" in done.stdout
    broken = place.run("doctor", "plain", "--set", "max_total_tokens=2")
    assert broken.returncode == 1
    assert "unrecognized arguments: --max-total-tokens 2" in broken.stdout


def test_doctor_where_sglang_is_not(place):
    done = place.run("doctor", PYTHONPATH=str(HERE.parents[1]))
    assert done.returncode == 0 and "no SGLang in" in done.stdout


BAD = {
    "no such profile": (("plian",), {}, 2, "no profile 'plian'; did you mean 'plain'?"),
    "no interpreter": (("plain", "--python", "/none/python"), {}, 50, "no Python interpreter '/none/python'"),
    "sglang missing": (("plain",), {"PYTHONPATH": str(HERE.parents[1])}, 50, "no SGLang in"),
    "wrong version": (
        ("plain", "--set", "launch.sglang=>=0.6"),
        {},
        2,
        "made for SGLang >=0.6, here is 0.5.14",
    ),
    "argument it lacks": (
        ("plain", "--set", "max_total_tokens=4"),
        {},
        2,
        "SGLang 0.5.14 does not take these server arguments: unrecognized arguments: --max-total-tokens 4",
    ),
    "model missing": (("plain", "--set", "model_path=/none"), {}, 50, "model_path: /none is not there"),
    "gpu missing": (
        ("plain", "--set", "device=cuda"),
        {"PATH": "/usr/bin:/bin"},
        50,
        "nvidia-smi does not answer",
    ),
    "gpu busy": (
        ("plain", "--set", "device=cuda"),
        {"FAKE_BUSY": "1", "PATH": f"{HERE / 'fake' / 'bin'}:/usr/bin:/bin"},
        50,
        "gpus idle: 1 other processes",
    ),
    "no such port": (
        ("plain", "--set", "port=99999"),
        {},
        2,
        "port must be 1 to 65535 (0: any free one), not 99999",
    ),
    "log folder not writable": (("plain", "--out", "/proc/nowhere"), {}, 50, "/proc/nowhere"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_with_the_reason(place, case):
    words, env, code, says = BAD[case]
    out = () if "--out" in words else ("--out", "out")
    done = place.run("launch", *words, *out, "--no-ingest", **env)
    assert done.returncode == code, done.stderr
    assert says in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert not list(place.path.glob("out/*.log"))


def test_the_list_has_the_others_where_one_cannot_be_used(place):
    (place.path / "launch" / "half.toml").write_text('extends = "plain"\n[server]\ntp_sise = 2\n')
    (place.path / "launch" / "overlays" / "torn.toml").write_text("[env\n")
    done = place.run("launch", "--list")
    assert done.returncode == 0, done.stderr
    lines = dict(line.removeprefix("--with ").split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["plain"] == "the stand-in"
    assert lines["half"].startswith("cannot be used: launch/half.toml:3: no server argument 'tp_sise'")
    assert lines["torn"].startswith("cannot be used: launch/overlays/torn.toml: not TOML")
    assert "tiny-cpu-baseline" in lines and "nccl-pcie-ll" in lines


def test_a_taken_port(place):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = place.launch("plain", "--set", f"port={port}")
    assert done.returncode == 50
    assert f"port: {port} is taken -> --set port=0" in done.stderr.splitlines()[-1]
