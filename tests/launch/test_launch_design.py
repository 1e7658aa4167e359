"""Order of sessions, resuming, and what a sweep says."""

import json

import pytest

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
