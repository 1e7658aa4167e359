"""What the GPU visit computes, on logs of an earlier one."""

import pytest

from .profiler_visit import MIX, ORDER, costs, phases


def test_phases_and_cycles_of_a_real_log(shared):
    """Forward and gap make the cycle, and the cycle is the round time of the plain lines at equal context."""
    found = phases(shared / "logs" / "h200-llama8b" / "profiled-base.log")
    assert found["worst_sum_error_percent"] < 0.5
    assert found["windows"] > 10
    assert found["decode_lines"] > 10
    assert abs(found["cycle_against_log_percent"]) < 1.0


def test_phases_of_a_speculative_log(shared):
    """Five phases and the gap make the cycle (that build took phases and cycle from different rounds)."""
    found = phases(shared / "logs" / "h200-llama8b" / "profiled-eagle3-s5-a2.1.log")
    assert found["median_sum_error_percent"] < 0.5
    assert found["decode_lines"] > 10


def test_the_cost_is_a_ratio_within_a_quad():
    """Machines drift between quads, so each quad is its own comparison; half a quad is none."""
    blocks = [
        {"quad": quad, "kind": "base", "arm": arm, "part": 0, "tok_s": 200 * (0.99 if arm == "on" else 1)}
        for quad in (0, 1, 2)
        for arm in ORDER
    ]
    found = costs(blocks[:-1])
    key = f"base at_once={MIX[0][0]} prompt={MIX[0][1]}"
    assert found[key]["percent"] == [pytest.approx(-1.0), pytest.approx(-1.0)]
