"""The clock of CUDA events, on a stand-in device: what is read, and that nobody waits for it."""

import functools
import re

import pytest

from . import conftest
from .conftest import HERE
from .test_shapes import BOOT, GAP, ROUND, means

serve = functools.partial(conftest.serve, spawn=False)
DEVICE = (*BOOT, str(HERE / "fake_torch"))


@pytest.mark.parametrize("shape", ["v2", "v1", "v1_04", "multi_layer"])
def test_events_measure_the_device_without_waiting(shape):
    """The stand-in refuses to read an event too early and counts every wait: phases are exact, waits none."""
    output = serve(shape, "1x40", path=DEVICE, EAGLE3_PROFILE_WINDOW=10)
    assert not output.kind("warn"), output.text
    lines = output.kind("spec")
    for line in lines[:3]:
        assert line["mode"] == "events"
        found = means(line)
        parts = {part: found[part] for part in ROUND}
        # A phase whose work waits for its launch (0.1 ms on the host) shows it, in stream time.
        assert parts == pytest.approx(ROUND, abs=0.5)
        assert sum(parts.values()) + found["gap"] == pytest.approx(found["cycle"], abs=0.002)
    steady = means(lines[1])
    if shape in ("v2", "multi_layer"):  # overlapped: the device never waits for the host
        assert steady["cycle"] == pytest.approx(sum(ROUND.values()), abs=0.001)
        assert steady["host"] == pytest.approx(0.5, abs=0.001)
        assert steady["gap"] == 0.0
    else:
        assert steady["gap"] == pytest.approx(GAP, abs=0.2)
    created, waits = map(int, re.search(r"EVENTS created=(\d+) waits=(\d+)", output.text).groups())
    assert waits == 0
    assert created <= 24, "events are taken from a pool: a few rounds' worth, however long the server runs"


def test_baseline_with_events():
    """A decode step on the device: forward and gap."""
    output = serve("baseline", "1x30", path=DEVICE, EAGLE3_PROFILE_WINDOW=10)
    line = output.kind("decode")[1]
    assert means(line) == {"cycle": 11.0, "fwd": 11.0, "gap": 0.0, "host": 0.1}
    assert "waits=0" in output.text


def test_sync_mode_waits_at_every_mark():
    """The host's time is the device's time then; the overlap is gone, so the gap is the host's."""
    output = serve("v2", "1x20", path=DEVICE, EAGLE3_PROFILE_WINDOW=10, EAGLE3_PROFILE_MODE="sync")
    line = output.kind("spec")[1]
    assert line["mode"] == "sync"
    found = means(line)
    assert found["verify"] == pytest.approx(20.1)
    assert found["gap"] == GAP
    assert "waits=0" not in output.text


def test_host_mode_measures_launches():
    """Without the device's clock a phase is the time it took to launch."""
    output = serve("v2", "1x20", path=DEVICE, EAGLE3_PROFILE_WINDOW=10, EAGLE3_PROFILE_MODE="host")
    line = output.kind("spec")[1]
    assert line["mode"] == "host"
    assert means(line)["verify"] == pytest.approx(0.1)


def test_no_event_is_recorded_while_a_graph_is_captured():
    """A recording would spoil the capture; those rounds are left out."""
    output = serve("v2", "1x20", path=DEVICE, EAGLE3_PROFILE_WINDOW=10, FAKE_CAPTURE_ROUNDS="5,12")
    assert not output.kind("warn"), output.text
    assert "SERVED 20 tokens" in output.text
    assert sum(int(line["n"]) for line in output.kind("spec")) == 21 - 2


def test_only_rank_zero_speaks():
    """Other ranks stay silent, and are not even wrapped."""
    assert not serve("v2", "1x5", path=DEVICE, FAKE_TP=2, FAKE_RANK=1).lines
    output = serve("v2", "1x5", path=DEVICE, FAKE_TP=2, FAKE_RANK=0)
    assert output.kind("attach")[0]["rank"] == "0"


def test_all_ranks_compare_themselves(tmp_path):
    """Each rank prints its own lines; rank 0 says how far the others were, without waiting for them."""
    common = {"EAGLE3_PROFILE_WINDOW": 5, "EAGLE3_PROFILE_ALL_RANKS": 1, "FAKE_TP": 2, "path": DEVICE}
    common["EAGLE3_PROFILE_RANKS_DIR"] = tmp_path
    # One process after the other: ranks that run in step would write the same windows.
    second = serve("v2", "1x10", FAKE_RANK=1, FAKE_SLOWER="verify", **common)
    assert {line["rank"] for line in second.kind("spec")} == {"1"}
    assert "skew_ms" not in second.kind("spec")[0]
    first = serve("v2", "1x10", FAKE_RANK=0, **common)
    line = first.kind("spec")[1]
    assert (line["ranks"], line["skew_win"], line["skew_ms"]) == ("2", "1", "4.000")
    assert line["slow_rank"] == "0", (
        "the rank with the shortest forward is the one that the others waited for"
    )
