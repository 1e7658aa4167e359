"""The profiler's own cost: the fit, the order of the blocks, and the switch at run time."""

import functools
import json
import os
import random

import pytest

from speclog.profiler.control import Control
from speclog.profiler.overhead import ARMS, Block, Trial, estimate, student, without_spikes

from . import conftest
from .test_shapes import BOOT

serve = functools.partial(conftest.serve, spawn=False)


def blocks(cost_ms, *, slope=0.0022, noise=0.0, seed=1, quads=10, drift=0.0):
    """Blocks in the trial's order, with a round that grows with its context and a machine that drifts."""
    generator = random.Random(seed)
    made = []
    for i in range(4 * quads):
        context = 200 + 105.0 * (i % 7)
        period = 7.4 + slope * context + drift * i + cost_ms * ARMS[i % 4] + generator.gauss(0, noise)
        made.append(Block(ARMS[i % 4], period, context, 50))
    return made


def test_the_cost_is_found_whatever_the_context():
    """Without noise the fit is exact; the raw difference of the arms' means is not."""
    made = blocks(0.05)
    cost = estimate(made)
    assert cost.on_ms - cost.off_ms == pytest.approx(0.05)
    assert cost.percent == pytest.approx(100 * 0.05 / cost.off_ms)
    assert (cost.n_on, cost.n_off) == (1000, 1000)
    raw = sum(b.period_ms for b in made if b.on) / 20 - sum(b.period_ms for b in made if not b.on) / 20
    assert abs(raw - 0.05) > 0.005


def test_a_steady_drift_is_no_cost():
    """On, off, off, on: what drifts evenly falls on both arms alike (on, off, on, off would read 0.13 %)."""
    assert estimate(blocks(0.0, slope=0.0, drift=0.01)).percent == pytest.approx(0.0, abs=0.05)


def test_the_interval_covers_as_often_as_it_says():
    """95 of 100 intervals hold the true cost, give or take what 400 trials can tell."""
    hits = 0
    for seed in range(400):
        made = blocks(0.03, noise=0.1, seed=seed, quads=3)
        cost = estimate(made)
        true = 100 * 0.03 / (cost.off_ms - 0)
        hits += cost.low <= true <= cost.high
    assert 0.92 <= hits / 400 <= 0.98


def test_too_few_blocks_give_no_number():
    """Five blocks, or one arm only, or an arm that is bound to the context: no estimate."""
    assert estimate(blocks(0.05, quads=1)) is None
    assert estimate([Block(True, 7.0, 100.0 * i, 50) for i in range(8)]) is None
    assert estimate([Block(bool(i % 2), 7.0, float(i % 2), 50) for i in range(8)]) is None


def test_student_is_conservative():
    """Between the table's entries the wider one counts."""
    assert student(11) == student(10) == 2.228
    assert student(10**6) == student(120)


def test_a_stall_is_left_out_of_a_block():
    """A round of ten times the usual length is not what the profiler costs."""
    assert without_spikes([7.0, 7.2, 7.1, 70.0]) == pytest.approx(7.1)


def run(trial, bs, rounds, period_s=0.01, start_s=0.0):
    """Enter rounds; the arm of each."""
    arms = []
    for i in range(rounds):
        trial.contexts.append(100 + i)
        arms.append(trial.entry(start_s + i * period_s, bs)[0])
    return arms


def test_blocks_alternate_on_off_off_on():
    """A block is its periods and the two that settle after a switch."""
    arms = run(Trial(10), 1, 60)
    switches = [i for i in range(1, 60) if arms[i] != arms[i - 1]]
    assert arms[0] is True
    assert switches == [12 + 1 - 1, 36]  # on for a block, off for two, on again


def test_a_block_has_one_batch_size_and_no_idle_time():
    """Another batch size begins the block anew; the period across a prefill is nobody's."""
    trial = Trial(10)
    run(trial, 1, 8)
    run(trial, 2, 8)
    assert (trial.turn, len(trial.periods)) == (0, 5)
    trial.interrupt()
    trial.entry(99.0, 2)
    assert len(trial.periods) == 5
    assert max(trial.periods) < 20


def test_the_cost_is_measured_in_a_running_server():
    """The stand-in's rounds take the same time in both arms, so the cost is nothing, at both batch sizes."""
    output = serve("v2", "1x200,2x200", path=BOOT, EAGLE3_PROFILE_AB=1, EAGLE3_PROFILE_AB_BLOCK=10)
    lines = output.kind("ab")
    assert {line["bs"] for line in lines} == {"1", "2"}
    last = lines[-1]
    assert (last["n_on"], last["n_off"]) == ("80", "80")
    assert last["period_on_ms"] == last["period_off_ms"] == "35.0000"
    assert float(last["overhead_pct"]) == 0.0
    assert last["ci95_pct"].count(",") == 1
    profiled = sum(int(line["n"]) for line in output.kind("spec"))
    assert 150 < profiled < 260, "about half of the 402 rounds"


def test_a_cost_that_is_there_is_found():
    """The stand-in makes profiled rounds 0.7 ms longer: 2 % of 35 ms."""
    output = serve(
        "v2", "1x200", path=BOOT, EAGLE3_PROFILE_AB=1, EAGLE3_PROFILE_AB_BLOCK=10, FAKE_COST_MS="0.7"
    )
    last = output.kind("ab")[-1]
    assert float(last["period_on_ms"]) - float(last["period_off_ms"]) == pytest.approx(0.7, abs=0.01)
    assert float(last["overhead_pct"]) == pytest.approx(2.0, abs=0.05)


def test_the_control_file_switches(tmp_path):
    """The word counts from the next look on; a wrong word, or no file, changes nothing."""
    file = tmp_path / "control"
    control = Control(str(file), "on", 5)
    assert control.round() == "on"
    for n, (word, state) in enumerate([("off\n", "off"), ("sideways", "off"), ("AB", "ab"), ("on", "on")]):
        file.write_text(word)
        os.utime(file, ns=(n + 1, n + 1))
        assert [control.round() for _ in range(5)][-1] == state
    file.unlink()
    assert [control.round() for _ in range(5)][-1] == "on"
    file.write_bytes(b"\xff\xfe")
    assert [control.round() for _ in range(5)][-1] == "on"


def test_a_server_that_starts_switched_off(tmp_path):
    """Attached, but no round is recorded."""
    file = tmp_path / "control"
    file.write_text("off")
    output = serve("v2", "1x50", path=BOOT, EAGLE3_PROFILE_CTL=file, EAGLE3_PROFILE_WINDOW=10)
    assert len(output.kind("attach")) == 1
    assert not output.kind("spec")
    assert "SERVED 50 tokens" in output.text


def test_the_journal_has_every_round_and_is_rotated(tmp_path):
    """One JSON object a round; beyond its size the file is kept once under another name."""
    file = tmp_path / "rounds.jsonl"
    output = serve(
        "v2",
        "2x100",
        path=BOOT,
        EAGLE3_PROFILE_WINDOW=10,
        EAGLE3_PROFILE_JSONL=file,
        EAGLE3_PROFILE_JSONL_MB=0.02,
    )
    assert not output.kind("warn")
    old, new = tmp_path / "rounds.jsonl.1", file
    assert 20_000 <= old.stat().st_size < 25_000
    rounds = [json.loads(line) for path in (old, new) for line in path.read_text().splitlines()]
    assert len(rounds) == 101
    assert rounds[4]["accepted"] == [1, 1]
    assert (rounds[4]["seq"], rounds[4]["bs"], rounds[4]["win"]) == (2 * 21, 2, 0)
    assert rounds[4]["verify_ms"] == 20.0
    assert [r["win"] for r in rounds[9:11]] == [0, 1]


def test_a_journal_that_cannot_be_written_is_said(tmp_path):
    """The lines come out without it."""
    output = serve("v2", "1x5", path=BOOT, EAGLE3_PROFILE_JSONL=tmp_path / "missing" / "rounds.jsonl")
    assert output.kind("warn")[0]["msg"] == "no_journal"
    assert output.kind("spec")
