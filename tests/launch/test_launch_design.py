"""Order of sessions, resuming, and what a sweep says."""

import json
import subprocess
import time

import pytest
from standin import Place

from speclog.errors import UsageError
from speclog.launch import ranking
from speclog.launch.design import Request, arms, schedule


def stems(request: Request) -> list[str]:
    return [run.stem for run in schedule(request)]


def test_interleaved_repeats_run_there_and_back():
    request = Request(("llama8b-baseline", "llama8b-eagle3-5x6"), repeat=3)
    assert [s.replace("llama8b-", "") for s in stems(request)] == [
        *("baseline.r1", "eagle3-5x6.r1", "eagle3-5x6.r2", "baseline.r2", "baseline.r3", "eagle3-5x6.r3")
    ]


def test_repeats_in_blocks():
    request = Request(("llama8b-baseline", "llama8b-eagle3-5x6"), repeat=2, interleave=False)
    assert [s.replace("llama8b-", "") for s in stems(request)] == [
        *("baseline.r1", "baseline.r2", "eagle3-5x6.r1", "eagle3-5x6.r2")
    ]


def test_without_a_number_each_profile_has_its_own_repeats():
    assert len(stems(Request(("llama8b-baseline",)))) == 2
    assert len(stems(Request(("llama8b-baseline", "kimi-k25-tp8-baseline")))) == 5


def test_a_sweep_varies_one_thing_and_a_matrix_all():
    base = {"profiles": ("llama8b-baseline",), "sweeps": ("NCCL_PROTO=LL,Simple", "tp_size=1,2")}
    alone = [arm.arm.removeprefix("llama8b-baseline ") for arm in arms(Request(**base))]
    assert alone == ["NCCL_PROTO=LL", "NCCL_PROTO=Simple", "tp_size=1", "tp_size=2"]
    together = [
        (arm.env.get("NCCL_PROTO"), arm.server["tp_size"]) for arm in arms(Request(**base, matrix=True))
    ]
    assert together == [("LL", 1), ("LL", 2), ("Simple", 1), ("Simple", 2)]


def test_a_sweep_over_overlays_makes_the_two_by_two():
    request = Request(
        ("llama8b-baseline", "llama8b-eagle3-5x6"), sweeps=("with=none,nccl-pcie-ll",), repeat=1
    )
    assert stems(request) == [
        "llama8b-baseline.r1",
        "llama8b-baseline+nccl-pcie-ll.r1",
        "llama8b-eagle3-5x6.r1",
        "llama8b-eagle3-5x6+nccl-pcie-ll.r1",
    ]


@pytest.mark.parametrize("sweep", ["NCCL_PROTO", "NCCL_PROTO=LL", "NCCL_PROTO=,"])
def test_a_sweep_needs_values(sweep):
    with pytest.raises(UsageError, match="two values or more"):
        arms(Request(("llama8b-baseline",), sweeps=(sweep,)))


def test_two_files_of_one_name_are_not_one_arm(tmp_path):
    for folder, steps in (("a", 2), ("b", 5), ("c", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "eagle.toml").write_text(
            f'extends = "llama8b-eagle3-5x6"\n[server]\nspeculative_num_steps = {steps}\n'
        )
    a, b, c = (str(tmp_path / folder / "eagle.toml") for folder in "abc")
    with pytest.raises(UsageError, match="two arms are called 'eagle' and are not alike") as error:
        arms(Request((a, b)))
    assert a in str(error.value) and b in str(error.value)
    assert len(arms(Request((a, c, a)))) == 1


def test_log_names_are_safe_and_short():
    long = "models.target=/data/" + "x" * 200
    (run,) = schedule(Request(("llama8b-baseline",), sets=(long,), repeat=1))
    assert len(run.stem) < 120 and "/" not in run.stem


@pytest.mark.slow
def test_a_stopped_campaign_goes_on_where_it_was(place):
    done = place.launch("plain", "spec", "--repeat", "2", "--fail-fast", FAKE_DIE="boot")
    assert done.returncode == 52 and [run["state"] for run in place.state()].count("planned") == 3
    broken = place.log().data
    again = place.launch("plain")
    assert again.returncode == 2 and "go on with it by --resume out" in again.stderr
    done = place.run("launch", "--resume", "out", "--no-ingest")
    assert done.returncode == 0, done.stderr
    assert [run["state"] for run in place.state()] == ["done"] * 4
    assert [run["log"] for run in place.state()] == [
        "plain.r1.try2.log",
        "spec.r1.log",
        "spec.r2.log",
        "plain.r2.log",
    ]
    assert place.log().data == broken  # what an earlier attempt left stays
    assert [place.log(s).manifest["repeat"] for s in ("plain.r2", "spec.r1", "spec.r2")] == [2, 1, 2]
    nothing = place.run("launch", "--resume", "out", "--no-ingest")
    assert nothing.returncode == 0 and nothing.stdout == ""


def test_a_campaign_whose_profile_changed_is_another_one(place):
    assert place.launch("plain").returncode == 0
    profile = place.path / "launch" / "plain.toml"
    profile.write_text(profile.read_text() + 'sglang = ">=0.5"\n')
    done = place.run("launch", "--resume", "out")
    assert done.returncode == 2 and "a profile has changed since this campaign began" in done.stderr


@pytest.mark.slow
def test_a_campaign_goes_on_only_as_it_began(place):
    """The shell it was begun in had tuning exported by hand; the one it is resumed in has not."""
    begun = {"NCCL_BUFFSIZE": "16777216", "NCCL_PROTO": "LL", "HF_TOKEN": "hf_" + "a" * 20}
    place.launch("plain", "--repeat", "2", "--set", "NCCL_PROTO=LL", "--fail-fast", FAKE_DIE="boot", **begun)
    before = place.state()
    lost = place.run("launch", "--resume", "out", "--no-ingest")
    assert lost.returncode == 50
    assert "fail: NCCL_BUFFSIZE: 16777216 when this campaign began, unset now" in lost.stderr
    assert "NCCL_PROTO" not in lost.stderr  # the arm sets it, whatever the shell has
    assert "HF_TOKEN" not in lost.stderr
    assert place.state() == before
    text = (place.path / "out" / "campaign.json").read_text()
    assert "hf_aaaa" not in text and '"HF_TOKEN": "<redacted>"' in text
    assert place.run("launch", "--resume", "out", "--no-ingest", NCCL_BUFFSIZE="16777216").returncode == 0
    assert [run["state"] for run in place.state()] == ["done"] * 2
    assert (
        place.run("launch", "--resume", "out", "--no-ingest").returncode == 0
    )  # nothing is left to be unlike


def test_another_version_is_another_campaign():
    from speclog.launch.continuity import moved

    then = {"env": {}, "versions": {"sglang": "0.5.14", "nccl": "2.27.5", "driver": None}}
    now = {"env": {}, "versions": {"sglang": "0.5.15", "nccl": None, "driver": "580.95.05"}}
    assert list(moved(then, now, [])) == [("sglang", "0.5.14 when this campaign began, 0.5.15 now")]
    assert list(moved({}, now, [])) == []  # begun by a speclog that did not keep it


def test_resume_takes_no_other_request(place):
    for words in (["plain"], ["--repeat", "3"], ["--print"], ["--out", "x"], ["--set", "NCCL_PROTO=LL"]):
        done = place.run("launch", "--resume", "out", *words)
        assert done.returncode == 2 and "--resume goes on with what its campaign" in done.stderr, words


@pytest.mark.parametrize("words", [("--repeat", "0"), ("--repeat", "-1"), ("--node-rank", "-1")])
def test_numbers_that_make_no_session_are_refused(place, words):
    done = place.launch("plain", *words)
    assert done.returncode == 2 and "is not in the range" in done.stderr
    assert not (place.path / "out").exists()


@pytest.mark.slow
def test_a_campaign_that_never_began_leaves_its_folder_free(place):
    refused = place.launch("plain", "--set", "mem_fraction_static=0.5", "--set", "model_path=/nowhere")
    assert refused.returncode == 50 and not (place.path / "out").exists()
    assert place.launch("plain").returncode == 0
    left = place.run("launch", "--resume", "out", "--dry-run")
    assert (left.returncode, left.stdout) == (0, "")


@pytest.mark.slow
def test_resumed_elsewhere_it_says_where_it_was_begun(place):
    assert place.launch("plain").returncode == 0
    (place.path / "away").mkdir()
    away = Place(place.path / "away", place.env)
    done = away.run("launch", "--resume", "../out")
    assert done.returncode == 2 and f"begun in {place.path}: resume it there" in done.stderr


@pytest.mark.slow
def test_a_time_limit_is_no_failed_session(place):
    done = place.launch("plain", "--repeat", "2", "--time-limit", "600", FAKE_BOOT_S="0")
    assert done.returncode == 0
    limited = place.run(
        "launch", "plain", "--out", "late", "--repeat", "2", "--no-ingest", "--time-limit", "0.4"
    )
    assert limited.returncode == 142, limited.stderr
    assert "failed" not in limited.stderr
    assert limited.stderr.splitlines()[-1] == "speclog: error: time limit reached"


@pytest.mark.slow
def test_one_campaign_is_run_by_one_launch(place):
    first = subprocess.Popen(
        place.command("launch", "plain", "--out", "out", "--no-ingest"),
        cwd=place.path,
        env=place.env | {"FAKE_WINDOW_S": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (place.path / "out" / "plain.r1.log").exists():
        time.sleep(0.05)
    second = place.run("launch", "--resume", "out", "--no-ingest")
    assert second.returncode == 2 and "another speclog launch is running this campaign" in second.stderr
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert [run["state"] for run in place.state()] == ["done"]
    assert not list((place.path / "out").glob("*try2*"))


def test_a_failed_session_names_its_log(place):
    done = place.launch("plain", FAKE_DIE="boot")
    assert done.returncode == 52
    assert "; log: out/plain.r1.log" in done.stderr


def test_a_broken_state_file(place):
    assert place.run("launch", "--resume", "nowhere").returncode == 3
    (place.path / "out").mkdir()
    (place.path / "out" / "campaign.json").write_text('{"request": {}}')
    done = place.run("launch", "--resume", "out")
    assert done.returncode == 3 and "not the state of a campaign" in done.stderr


def test_one_failed_session_does_not_stop_the_others(place):
    (place.path / "launch" / "dead.toml").write_text('extends = "plain"\n[env]\nFAKE_DIE = "boot"\n')
    done = place.launch("dead", "plain")
    assert done.returncode == 52
    assert (
        "1 of 2 sessions failed; the first: the server ended with exit code 1" in done.stderr.splitlines()[-1]
    )
    assert [run["state"] for run in place.state()] == ["failed", "done"]
    assert done.stdout.split() == ["out/plain.r1.log"]


@pytest.mark.slow
def test_a_sweep_leaves_a_ranking_and_evidence(place):
    done = place.launch("plain", "--sweep", "FAKE_BONUS=0,50,100", "--repeat", "2")
    assert done.returncode == 0, done.stderr
    told = json.loads((place.path / "out" / "sweep.json").read_text())
    assert [(p["arm"], p["batch_size"], p["output_tok_s"]) for p in told["places"]] == [
        *[(f"plain FAKE_BONUS={bonus}", 1, 200.0 + bonus) for bonus in (100, 50, 0)],
        *[(f"plain FAKE_BONUS={bonus}", 2, 400.0 + bonus) for bonus in (100, 50, 0)],
    ]
    assert told["setting"] == {"torch": "2.9.0", "sglang": "0.5.14"}
    ranked = [line.split() for line in done.stderr.splitlines() if " bs=" in line]
    assert [(line[0] == "*", line[-1]) for line in ranked] == [
        (bonus == 100, f"FAKE_BONUS={bonus}") for _ in (1, 2) for bonus in (100, 50, 0)
    ]  # the best is marked as such, not as no different from itself
    (place.path / "launch" / "overlays" / "best.toml").write_text(
        (place.path / "out/evidence.toml").read_text()
    )
    shown = place.run("launch", "plain", "--with", "best", "--print")
    assert "export FAKE_BONUS=100" in shown.stdout
    assert "better than every other" in (place.path / "out/evidence.toml").read_text()


def test_ranking_claims_a_difference_only_where_the_interval_excludes_zero():
    clear = ranking.rank({("p", "a", 1): [100.0, 101.0, 99.0], ("p", "b", 1): [80.0, 81.0, 79.0]})
    assert [(p.arm, p.differs_from_best) for p in clear] == [("a", False), ("b", True)]
    noisy = ranking.rank({("p", "a", 1): [100.0, 60.0], ("p", "b", 1): [79.0, 80.0]})
    assert [(p.arm, p.differs_from_best) for p in noisy] == [("a", False), ("b", False)]
    single = ranking.rank({("p", "a", 1): [100.0], ("p", "b", 1): [80.0]})
    assert [(p.interval_tok_s, p.differs_from_best) for p in single][1] == (None, None)
