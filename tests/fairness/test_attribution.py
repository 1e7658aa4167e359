"""Confounders weighed from the runs of a store: cells, pairs, shares, the missing run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from speclog.analysis import attribution, design
from speclog.analysis.attribution import BASELINE, CANDIDATE, WITH, WITHOUT, Attribution
from speclog.analysis.missing import Launched, Wanted, commands
from speclog.analysis.side import Side
from speclog.cli import cli
from speclog.report import report_text
from speclog.store import Store, open_store
from tests.fairness.build import Made, append_all, baseline, candidate

pytestmark = pytest.mark.slow
Stores = Callable[..., Store]
LL, RING = {"NCCL_PROTO": "LL"}, {"NCCL_ALGO": "Ring"}


def explain(
    store: Store, runs: Sequence[Made], which: tuple[Made, Made | None, Made], changed: Made | None = None
) -> Attribution | str:
    records = design.load(store, [run.run_id for run in runs])

    def side(run_ids: Sequence[str]) -> Side:
        sql = "SELECT * FROM decode_window WHERE run_id = ? ORDER BY source_index, line_no"
        return Side([store.frame(sql, [run_id]) for run_id in run_ids], resamples=400)

    spec, fair, naive = (run.run_id if run else None for run in which)
    assert spec is not None and naive is not None
    other = changed.run_id if changed else None
    return attribution.explain(records, side, spec, fair, naive, changed=other)


def ids(*runs: Made) -> tuple[str, ...]:
    return tuple(run.run_id for run in runs)


def test_two_factors_in_every_setting_have_shares_and_the_fourth_cell_an_interaction(
    store_of: Stores,
) -> None:
    base = baseline("base", round_ms=16.0)
    proto = baseline("proto", env=LL, round_ms=16.0 / 1.2)
    ring = baseline("ring", env=RING, round_ms=16.0 / 1.1)
    both = baseline("both", env=LL | RING, round_ms=16.0 / 1.4)
    again = baseline("again", env=LL | RING, args={"port": 9}, round_ms=16.0 / 1.402)
    spec = candidate("spec", round_ms=30.0)
    tuned = candidate("tuned", env=LL | RING, round_ms=30.0 / 1.25)
    other = candidate("other", env=LL | RING, args={"speculative_num_steps": 2}, round_ms=25.0)
    runs = [base, proto, ring, both, again, spec, tuned, other]
    found = explain(store_of(*runs), runs, (spec, base, both))
    assert isinstance(found, Attribution)
    assert found.causes == ("env.NCCL_ALGO", "env.NCCL_PROTO")
    assert found.cells == {
        (BASELINE, WITHOUT): ids(base),
        (BASELINE, WITH): ids(both, again),
        (CANDIDATE, WITHOUT): ids(spec),
        (CANDIDATE, WITH): ids(tuned),
    }
    assert not found.missing
    gains = {arm: one.gain.value for arm, one in found.effects.items() if not isinstance(one, str)}
    assert gains == {BASELINE: pytest.approx(1.401, rel=0.003), CANDIDATE: pytest.approx(1.25, rel=0.003)}
    assert not isinstance(found.interaction, str)
    assert found.interaction.value == pytest.approx(1.25 / 1.401, rel=0.004)
    assert not isinstance(found.acceptance, str)
    assert found.acceptance.equivalent
    assert isinstance(found.adjusted, str)
    assert not isinstance(found.shares, str)
    shares = {share.factors: share.gain.value for share in found.shares}
    product = 1.0
    for value in shares.values():
        product *= value
    assert product == pytest.approx(gains[BASELINE], rel=0.002)
    assert shares["env.NCCL_PROTO",] == pytest.approx((1.2 * 1.4 / 1.1) ** 0.5, rel=0.01)


def test_the_missing_cell_is_named_and_only_an_estimate_stands_in_for_it(store_of: Stores) -> None:
    base, proto = baseline("base", round_ms=16.0), baseline("proto", env=LL, round_ms=12.8)
    both = baseline("both", env=LL | RING, round_ms=11.4)
    spec = candidate("spec", round_ms=30.0)
    runs = [base, proto, both, spec]
    found = explain(store_of(*runs), runs, (spec, base, both))
    assert isinstance(found, Attribution)
    assert found.missing == [(CANDIDATE, WITH)]
    assert found.effects[CANDIDATE] == found.interaction == found.acceptance == attribution.NOBODY
    assert not isinstance(found.adjusted, str)
    assert found.shares == "1 of 4 settings are not measured: NCCL_ALGO alone"


def test_without_a_plain_run_it_is_the_baseline_that_is_missing(store_of: Stores, tmp_path: Path) -> None:
    tuned, spec = baseline("tuned", env=LL, round_ms=12.0), candidate("spec", round_ms=30.0)
    both = candidate("both", env=LL, round_ms=24.0)
    runs = [tuned, spec, both]
    found = explain(store_of(*runs), runs, (spec, None, tuned), both)
    assert isinstance(found, Attribution)
    assert found.missing == [(BASELINE, WITHOUT)]
    assert found.effects[BASELINE] == found.interaction == attribution.NO_BASELINE
    gain = found.effects[CANDIDATE]
    assert not isinstance(gain, str)
    assert gain.gain.value == pytest.approx(1.25, rel=0.003)
    assert not isinstance(found.shares, str)
    assert found.shares[0].gain.value == pytest.approx(1.25, rel=0.003)
    with pytest.raises(ValueError, match="is needed"):
        explain(store_of(*runs), runs, (spec, None, tuned))

    target = str(tmp_path / "plan.duckdb")
    with open_store(target, read_only=False) as store:
        append_all(store, runs)
    done = CliRunner().invoke(cli, ["--store", target, "plan", "--run", "spec", "--json"])
    (row,) = json.loads(done.stdout)
    assert row["run"] == "The run nobody has made: no speculation with the settings of spec."
    assert row["command"] == "unset NCCL_PROTO\n# start the server of the baseline again"
    assert "takes longer than 14.43 (14.42 to 14.44) ms" in row["target"]
    page = report_text(target, vs="baseline", candidates=["spec"], fmt="json")
    section = json.loads(page)["candidates"][0]
    answers = {one["key"]: one for one in section["answers"]}
    assert answers["worth_baseline"]["why_not"] == attribution.NO_BASELINE
    assert answers["worth_candidate"]["value"] == pytest.approx(1.25, rel=0.003)
    assert [cell["arm"] for cell in section["cells"] if not cell["runs"]] == ["baseline"]


def test_factors_that_never_change_alone_are_weighed_together(store_of: Stores) -> None:
    base, both = baseline("base", round_ms=16.0), baseline("both", env=LL | RING, round_ms=11.4)
    spec = candidate("spec")
    found = explain(store_of(base, both, spec), [base, both, spec], (spec, base, both))
    assert isinstance(found, Attribution)
    assert found.shares == "2 factors change together in every run: their worth is known only together"


def test_what_is_not_known_is_not_weighed(store_of: Stores) -> None:
    base, dark = baseline("base"), baseline("dark", env=LL, drop=["fact.torch"])
    spec = candidate("spec")
    found = explain(store_of(base, dark, spec), [base, dark, spec], (spec, base, dark))
    assert found == "not recorded for both baselines: fact.torch"
    alike = baseline("alike")
    found = explain(store_of(base, alike, spec), [base, alike, spec], (spec, base, alike))
    assert found == "the two baselines do not differ in a confounder alone"


def test_differences_are_those_of_the_verdicts(store_of: Stores) -> None:
    """`design` judges in memory what view factor_pair judges in the store."""
    runs = [
        baseline("a"),
        baseline("b", env=LL, args={"port": 3, "novel": 1}),
        baseline("c", facts={"weight.target_gb": 15.02, "torch": "x"}, args={"novel": 2}),
        baseline("d", prefixes=(), drop=["fact.driver"]),
        baseline("e", args={"page_size": 64}, version=None, version_range=("0.5.14", "0.5.15")),
    ]
    store = store_of(*runs)
    records = design.load(store, [run.run_id for run in runs])
    sql = "SELECT name, does FROM factor_pair WHERE candidate = ? AND baseline = ? AND matters"
    for first in runs:
        for second in runs:
            if first is second:
                continue
            listed = store.rows(sql, [first.run_id, second.run_id])
            apart = records.difference(first.run_id, second.run_id)
            assert apart.confounders == {name for name, does in listed if does == "unfair"}
            assert apart.unknown == {name for name, does in listed if does == "unproven"}
            assert not apart.treatment


_AGAIN = "# start the server of the candidate again"


@pytest.mark.parametrize(
    ("wanted", "profile", "lines"),
    [
        (
            [("env.A", "x y", "(unset)"), ("env.B", "(unset)", "1")],
            "p",
            ["export A='x y'", "speclog launch p --set env.B=unset"],
        ),
        ([("env.A", "x y"), ("env.B", "(unset)")], None, ["export A='x y'", "unset B", _AGAIN]),
        (
            [("arg.page_size", "64"), ("arg.revision", "null"), ("fact.graph.enabled", "true")],
            "my p",
            ["speclog launch 'my p' --set page_size=64 --set revision=unset"],
        ),
        (
            [("arg.attention_backend", '"fa3"'), ("measure.graph", "graphs")],
            None,
            [f"{_AGAIN} with attention_backend=fa3"],
        ),
        ([("fact.driver", "580"), ("env.A", "1")], "p", None),
        ([("env.A", None)], "p", None),
        ([("measure.graph", "graphs")], "p", None),
        ([("env.A", "$(rm -rf /)\nx")], "p", ["speclog launch p --set 'env.A=$(rm -rf /)\nx'"]),
    ],
)
def test_commands_of_the_missing_run(
    wanted: list[tuple[str, str | None]], profile: str | None, lines: list[str] | None
) -> None:
    launched = Launched(profile) if profile else None
    assert commands([Wanted(*one) for one in wanted], launched) == lines
