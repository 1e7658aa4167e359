"""Every shape of worker, in spawned processes, on a clock that makes the right answer exact."""

import pytest

from speclog.profiler import bootstrap_path

from .conftest import serve

BOOT = (bootstrap_path(),)
ROUND = {"draft": 4.0, "vprep": 1.0, "verify": 20.0, "accept": 3.0, "extend": 5.0}
GAP = 2.0


def ms(field):
    """Mean, median and 99th percentile of a time field."""
    return tuple(map(float, field.split("/")))


def means(line):
    """The mean of each phase that a line has a time for."""
    return {key[:-3]: ms(value)[0] for key, value in line.items() if key.endswith("_ms") and value != "na"}


def served(output, tokens):
    """The server did its work as if nobody had looked."""
    assert output.code == 0, output.text
    assert f"SERVED {tokens} tokens" in output.text
    assert len(output.kind("attach")) == 1


FULL = "cycle,draft,verify,extend,target,result"


@pytest.mark.parametrize(
    ("shape", "worker", "draft", "extra"),
    [
        ("v2", "EAGLEWorkerV2", "EagleDraftWorker", 1),
        ("v2_sync", "EAGLEWorkerV2", "EagleDraftWorker", 0),
        ("multi_layer", "MultiLayerEagleWorkerV2", "EagleDraftWorker", 1),
        ("v1", "EAGLEWorker", "none", 0),
        ("v1_04", "EAGLEWorker04", "none", 0),
        ("standalone", "StandaloneWorker", "none", 0),
    ],
)
def test_speculative_workers(shape, worker, draft, extra):
    """All phases, their sum and the counts, for each way a draft-model worker has been built."""
    output = serve(shape, "2x30", path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    served(output, 60)
    attach = output.kind("attach")[0]
    assert (attach["worker"], attach["draft"], attach["hooks"]) == (worker, draft, FULL)
    assert attach["sglang"] == "0.0.fake"
    assert not output.kind("warn")
    lines = output.kind("spec")
    assert [int(line["n"]) for line in lines] == [10, 10, 10] + [1] * extra
    assert [int(line["win"]) for line in lines] == list(range(len(lines)))
    assert sum(int(line["part"]) for line in lines) == extra
    for line in lines[:3]:
        found = means(line)
        assert {part: found[part] for part in ROUND} == ROUND
        assert found["gap"] == GAP
        assert found["cycle"] == sum(ROUND.values()) + GAP
        assert found["fwd"] == found["host"] == sum(ROUND.values())
        assert (line["bs"], line["steps"], line["topk"], line["ndraft"]) == ("2", "3", "1", "4")
        assert line["graph"] == "v10,d10,x0"
        assert line["mode"] == "host"
    # Accepted drafts go 0, 1, 2 in turn, the same for both requests of a round.
    histogram = [sum(int(line["acc_hist"].split(",")[i]) for line in lines) for i in range(4)]
    rounds = 30 + extra
    assert histogram == [2 * len(range(i, rounds, 3)) for i in range(3)] + [0]
    assert sum(histogram) == sum(int(line["reqs"]) for line in lines) == 2 * rounds
    assert lines[0]["acc_hist"] == "8,6,6,0"
    assert float(lines[0]["acc_len"]) == pytest.approx(1 + (6 + 2 * 6) / 20)


@pytest.mark.parametrize("shape", ["v2", "v1_04", "baseline", "baseline_04", "baseline_04_overlap"])
def test_context_comes_from_the_requests(shape):
    """`seq` is all requests' tokens before the round, prompt and output, without looking at the device."""
    output = serve(shape, "2x20", spawn=False, path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    first, second = (output.kind("spec") or output.kind("decode"))[:2]
    # 16 prompt tokens and one from the prefill, then one more a round: 17 to 26, then 27 to 36; two requests.
    assert (int(first["seq"]), int(second["seq"])) == (2 * 21.5, 2 * 31.5)


@pytest.mark.parametrize(
    ("shape", "extra"), [("baseline", 1), ("baseline_04", 0), ("baseline_04_overlap", 1)]
)
def test_baseline_on_the_same_clock(shape, extra):
    """A plain decode step is a round too: forward and gap make the cycle."""
    output = serve(shape, "1x20,3x10", path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    served(output, 50)
    attach = output.kind("attach")[0]
    assert (attach["worker"], attach["draft"], attach["hooks"]) == ("none", "none", "cycle,result")
    lines = output.kind("decode")
    assert [(int(line["bs"]), int(line["n"])) for line in lines] == (
        [(1, 10), (1, 10), *[(1, 1)] * extra, (3, 10), *[(3, 1)] * extra]
    )
    for line in lines[:2]:
        assert means(line) == {"cycle": 13.0, "fwd": 11.0, "gap": 2.0, "host": 11.0}
        assert (line["steps"], line["topk"], line["ndraft"], line["graph"]) == ("0", "0", "0", "v10")
        assert "acc_hist" not in line
        assert "verify_ms" not in line
    assert not output.kind("spec")


def test_the_reextend_inside_verify_is_part_of_accept():
    """The v2 worker of 0.5.3 re-extends inside `verify`: a missing hook is said, and no phase is invented."""
    output = serve("v2_053", "1x20", path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    served(output, 20)
    assert output.kind("warn") == [{"msg": "partial_hooks", "detail": "'missing=extend'"}]
    line = output.kind("spec")[0]
    found = means(line)
    assert line["extend_ms"] == "na"
    assert found["accept"] == ROUND["accept"] + ROUND["extend"]
    assert found["draft"] + found["vprep"] + found["verify"] + found["accept"] + GAP == found["cycle"]
    assert line["acc_hist"] == "4,3,3,0"


def test_a_worker_without_draft_and_verify_gives_pre_verify_post():
    """NGRAM and its kin: the target's forward splits the round in three."""
    output = serve("ngram", "1x20", path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    served(output, 20)
    assert output.kind("attach")[0]["hooks"] == "cycle,target,result"
    assert output.kind("warn") == [{"msg": "partial_hooks", "detail": "'missing=draft,verify,extend'"}]
    line = output.kind("spec")[0]
    found = means(line)
    assert found == {
        "cycle": 30.0, "pre": 5.0, "verify": 20.0, "post": 3.0, "fwd": 28.0, "gap": 2.0, "host": 28.0
    }  # fmt: skip
    assert [line[f"{part}_ms"] for part in ("draft", "vprep", "accept", "extend")] == ["na"] * 4
    assert line["acc_hist"] == "4,3,3,0"
    assert line["graph"] == "v0"


def test_an_unknown_worker_gives_the_round_and_no_more():
    """Nothing to hook but the entry: the round's time is right, all else is `na`."""
    output = serve("unknown", "1x20", path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    served(output, 20)
    line = output.kind("spec")[0]
    assert means(line) == {"cycle": 22.0, "fwd": 20.0, "gap": 2.0, "host": 20.0}
    assert (line["acc_len"], line["acc_hist"], line["reqs"], line["graph"]) == ("na",) * 4


def test_adaptive_steps_have_windows_of_their_own():
    """Steps that change inside a round's entry are taken as at its verification; 0 steps do not draft."""
    output = serve("adaptive", "1x30", path=BOOT, EAGLE3_PROFILE_WINDOW=100)
    served(output, 30)
    lines = {line["steps"]: line for line in output.kind("spec")}
    assert {steps: line["n"] for steps, line in lines.items()} == {"3": "11", "0": "10", "1": "10"}
    assert lines["0"]["draft_ms"] == "na"
    assert means(lines["0"])["cycle"] == sum(ROUND.values()) - ROUND["draft"] + GAP
    assert lines["0"]["acc_hist"] == "10"
    assert means(lines["1"])["draft"] == ROUND["draft"]
    assert (lines["3"]["ndraft"], lines["1"]["ndraft"]) == ("4", "2")


@pytest.mark.parametrize("shape", ["v2", "v1", "baseline"])
def test_a_prefill_between_rounds_breaks_the_cycle(shape):
    """The round before a prefill has no successor, so neither its gap nor its cycle contains the prefill."""
    output = serve(shape, "1x10p10", spawn=False, path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    served(output, 20)
    first, second = (output.kind("spec") + output.kind("decode"))[:2]
    assert (first["ncycle"], first["n"]) == ("9", "10")
    assert ms(first["gap_ms"]) == ms(second["gap_ms"]) == (GAP, GAP, GAP)


def test_the_engine_idling_is_no_gap():
    """After the last request of a wave the engine waits half a second for the next."""
    output = serve("v2", "1x10,1x10,1x10", spawn=False, path=BOOT, EAGLE3_PROFILE_WINDOW=100)
    served(output, 30)
    lines = output.kind("spec")
    assert [(line["n"], line["part"], line["ncycle"]) for line in lines] == [("11", "1", "10")] * 3
    assert {line["gap_ms"] for line in lines} == {"2.000/2.000/2.000"}
    assert [line["dur_s"] for line in lines] == ["0.383"] * 3  # 10 cycles of 35 ms and a round of 33


def test_batch_sizes_do_not_mix():
    """One window per batch size, whatever order they come in."""
    output = serve("v1", "1x10,4x10,1x10", spawn=False, path=BOOT, EAGLE3_PROFILE_WINDOW=10)
    lines = output.kind("spec")
    assert [(line["bs"], line["n"], line["reqs"]) for line in lines] == [
        ("1", "10", "10"),
        ("4", "10", "40"),
        ("1", "10", "10"),
    ]
    assert lines[1]["graph"] == "v10,d0,x0"  # the draft's graphs were captured for at most two requests


def test_idle_data_parallel_ranks_are_no_rounds():
    """Under DP attention a rank without requests calls the entry too; and a replica says which one it is."""
    output = serve("v2", "1x10", path=BOOT, FAKE_IDLE_BETWEEN=1, FAKE_DP=2, EAGLE3_PROFILE_WINDOW=5)
    served(output, 10)
    lines = output.kind("spec")
    assert sum(int(line["n"]) for line in lines) == 11
    assert {line["cycle_ms"] for line in lines} == {"na"}
    assert {line["dp"] for line in lines} == {"1"}


def test_pipeline_stages_have_no_cycle():
    """Micro-batches interleave, so entry to entry is no round; the phases stand."""
    output = serve("v2", "1x10", spawn=False, path=BOOT, FAKE_PP=2, EAGLE3_PROFILE_WINDOW=10)
    served(output, 10)
    assert output.kind("warn")[0]["msg"] == "pipeline_parallel"
    line = output.kind("spec")[0]
    assert (line["cycle_ms"], line["gap_ms"]) == ("na", "na")
    assert means(line)["verify"] == ROUND["verify"]


def test_an_error_in_a_callback_ends_the_profiler_only():
    """One line, no more lines after it, the wrappers gone, all tokens served."""
    output = serve("broken", "1x60", path=BOOT, EAGLE3_PROFILE_WINDOW=5)
    served(output, 60)
    warnings = [line for line in output.kind("warn") if line["msg"] != "partial_hooks"]
    assert len(warnings) == 1
    assert warnings[0]["msg"] == "callback_failed"
    assert warnings[0]["err"] == "RuntimeError"
    assert "who_is_asking?" in warnings[0]["detail"]
    assert output.lines[-1][0] == "warn"
    assert 1 <= len(output.kind("spec")) < 12


def test_an_error_while_attaching_is_one_line():
    """A worker that cannot be looked at is not profiled."""
    output = serve("hostile", "1x10", path=BOOT)
    assert output.code == 0
    assert "SERVED 10 tokens" in output.text
    assert output.lines == [("warn", {"msg": "attach_failed", "err": "RuntimeError", "detail": "'no_entry'"})]
