"""How many repeats `speclog plan` asks for when a fair pair is level."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from speclog.analysis.repeats import MOST, needed
from speclog.cli import cli
from speclog.store import open_store
from tests.fairness.build import append_all, baseline, candidate


@pytest.mark.parametrize(
    ("speedup", "half", "n"),
    [(1.02, 0.03, 3), (0.98, 0.03, 3), (1.02, 0.021, 2), (1.001, 0.05, None), (1, 0.1, None)],
)
def test_so_many_that_the_interval_leaves_one_out(speedup: float, half: float, n: int | None) -> None:
    assert needed(speedup, speedup * math.exp(-half), speedup * math.exp(half)) == n


@given(st.floats(0.5, 2), st.floats(0.001, 0.5), st.integers(1, 5))
def test_with_so_many_the_interval_is_narrow_enough(speedup: float, half: float, runs: int) -> None:
    n = needed(speedup, speedup * math.exp(-half), speedup * math.exp(half), runs)
    if n is None:
        assert (
            abs(math.log(speedup)) == 0 or runs * (half / math.log(speedup)) ** 2 > MOST - 1 or runs >= MOST
        )
    else:
        assert max(2, runs + 1) <= n <= MOST
        assert half * math.sqrt(runs / n) <= abs(math.log(speedup)) * (1 + 1e-9)


@pytest.mark.slow
def test_plan_asks_for_repeats_of_a_level_pair(tmp_path: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    level = candidate("level", round_ms=2.1 * 4.8 / 1.01, noise=0.09, windows=12)
    with open_store(target, read_only=False) as store:
        append_all(store, [baseline("base", round_ms=4.8, noise=0.05), level])
    done = CliRunner().invoke(cli, ["--store", target, "plan", "--json"])
    (row,) = json.loads(done.stdout)
    assert row["verdict"] == "fair"
    assert "level so far at batch 1" in row["why"]
    assert row["command"] is None or "times in turn" in row["command"]
    other = str(tmp_path / "u.duckdb")
    with open_store(other, read_only=False) as store:
        append_all(store, [baseline("base", facts={"driver": "570.1"}), candidate("spec")])
    done = CliRunner().invoke(cli, ["--store", other, "plan", "--json"])
    (row,) = json.loads(done.stdout)
    assert row["verdict"] == "unfair"
    assert row["run"] == "Both arms again, alike in what differs now."
    assert "run both arms on driver 570.1" in row["why"]
    with open_store(str(tmp_path / "t.duckdb"), read_only=False) as store:
        append_all(store, [baseline("base", round_ms=4.8), candidate("won", round_ms=7.0)])
    done = CliRunner().invoke(cli, ["--store", str(tmp_path / "t.duckdb"), "plan"])
    assert done.stdout == "nothing is missing: every candidate looked at has a fair pair that is decided\n"
