"""Real SGLang 0.5.14 on the CPU: plain decoding and the EAGLE-3 v2 worker, through both ways in."""

import re

import pytest

import speclog.profiler

from .conftest import ROOT, Output
from .sglang_server import Server
from .test_shapes import means

pytestmark = [pytest.mark.slow, pytest.mark.sglang]
BOOT = speclog.profiler.bootstrap_path()
# A window waits for its ten rounds however slow the machine is: EAGLE-3 runs through an interpreter here.
PATIENT = {"EAGLE3_PROFILE_WINDOW": "10", "EAGLE3_PROFILE_FLUSH_S": "900"}
PHASES = ("draft", "vprep", "verify", "accept", "extend")
DECODE = re.compile(r"Decode batch.*?#running-req: (\d+).*?gen throughput \(token/s\): ([\d.]+)")
ACCEPT = re.compile(r"Decode batch.*?accept len: ([\d.]+)")


def profile(server):
    """The profiler's lines so far; the last line may be half written."""
    text = server.text()
    return Output(text[: text.rfind("\n") + 1], 0)


def parts(lines):
    """Requests times rounds in windows of plain decoding."""
    return sum(int(line["n"]) * int(line["bs"]) for line in lines)


def verified(lines):
    """Requests times rounds in windows of speculative decoding."""
    return sum(int(line["reqs"]) for line in lines)


@pytest.mark.parametrize("way", ["plugin", "both"])
def test_plain_decoding(way, tmp_path, plugin):
    """Every decode step of every request is a round, at the context that the request had."""
    path = [plugin, ROOT] if way == "plugin" else [BOOT, plugin]
    with Server("baseline", tmp_path, path, **PATIENT) as server:
        server.generate(51)
        server.generate(21, at_once=2)
        server.wait_for(lambda: parts(profile(server).kind("decode")) >= 50 + 2 * 20)
    output = profile(server)
    assert not output.kind("warn")
    (attach,) = output.kind("attach")
    assert attach["sglang"] == "0.5.14"
    assert (attach["worker"], attach["hooks"]) == ("none", "cycle,result")
    lines = output.kind("decode")
    # The first token comes from the prefill, and each further one from one request's part of a round.
    assert parts(lines) == 50 + 2 * 20
    single = [line for line in lines if line["bs"] == "1"][:5]
    assert [int(line["n"]) for line in single] == [10] * 5
    # Contexts of 5 to 14 tokens (4 of the prompt, 1 of the prefill), then 15 to 24, and so on.
    assert [int(line["seq"]) for line in single] == pytest.approx([9.5 + 10 * i for i in range(5)], abs=0.5)
    for line in single:
        found = means(line)
        assert found["fwd"] + found["gap"] == pytest.approx(found["cycle"], abs=0.002)
        assert line["graph"] == "v0"


def test_eagle3(tmp_path):
    """All hooks; the histogram is SGLang's own, request by request; phases and gap are the cycle."""
    with Server("eagle3", tmp_path, [BOOT], **PATIENT) as server:
        requests = server.generate(66)
        requests += server.generate(20, at_once=2)
        expected = sum(request["spec_verify_ct"] for request in requests)
        server.wait_for(lambda: verified(profile(server).kind("spec")) >= expected)
    output = profile(server)
    assert not output.kind("warn")
    (attach,) = output.kind("attach")
    assert attach["sglang"] == "0.5.14"
    assert (attach["worker"], attach["draft"]) == ("EAGLEWorkerV2", "EagleDraftWorker")
    assert attach["hooks"] == "cycle,draft,verify,extend,target,result"
    lines = output.kind("spec")

    histogram = [sum(int(line["acc_hist"].split(",")[i]) for line in lines) for i in range(4)]
    theirs = [0] * 4
    for request in requests:
        for accepted, rounds in enumerate(request["spec_correct_drafts_histogram"]):
            theirs[accepted] += rounds
    assert histogram == theirs
    assert sum(histogram) == verified(lines) == expected

    single = [line for line in lines if line["bs"] == "1" and line["n"] == "10"]
    logged = [float(length) for length in ACCEPT.findall(server.text())]
    ours = [round(float(line["acc_len"]), 2) for line in single[:2]]
    assert ours == pytest.approx(logged[:2], abs=0.005), "the same ten rounds in SGLang's own line"
    for line in single:
        found = means(line)
        assert (line["steps"], line["topk"], line["ndraft"]) == ("3", "1", "4")
        assert all(found[phase] > 0 for phase in PHASES)
        assert sum(found[phase] for phase in PHASES) + found["gap"] == pytest.approx(
            found["cycle"], abs=0.005
        )
    assert float(single[0]["seq"]) > 4

    # The round time of the plain lines, batch size x accept length / throughput, over the second ten rounds.
    running, throughput = DECODE.findall(server.text())[1]
    from_log = float(running) * logged[1] / float(throughput) * 1e3
    assert means(single[1])["cycle"] == pytest.approx(from_log, rel=0.15)
