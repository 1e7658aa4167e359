"""What is said when the runs named cannot be compared: what is true, and what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from speclog.cli import cli
from speclog.errors import UsageError
from speclog.report import plan
from speclog.report.gather import gather
from speclog.runs import candidates, plain
from speclog.store import open_store
from speclog.watch.baseline import named
from tests.report import build
from tests.report.make import ingest


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, example_logs: Path) -> str:
    target = str(tmp_path_factory.mktemp("named") / "s.duckdb")
    ingest([example_logs / "kimi-k25-story", example_logs / "h200-llama8b" / "base.log"], target)
    return target


def asked(target: str, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--store", target, *words])


@pytest.mark.parametrize(
    "words", [("report",), ("report", "--json"), ("check",), ("plan",), ("whatif", "eagle3-2x3-untuned")]
)
def test_a_baseline_that_speculates_is_a_usage_error(store: str, words: tuple[str, ...]) -> None:
    done = asked(store, *words, "--vs", "eagle3-5x6-untuned")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("eagle3-5x6-untuned: a run with speculation; --vs names the run")
    assert "fair" not in done.output


@pytest.mark.parametrize(
    "words",
    [("report", "--run", "base"), ("check", "--run", "base"), ("plan", "--run", "base"), ("whatif", "base")],
)
def test_a_candidate_without_speculation_is_a_usage_error(store: str, words: tuple[str, ...]) -> None:
    done = asked(store, *words, "--vs", "baseline")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("base: a run without speculation; a candidate is a run with it")


def test_a_watcher_holds_nothing_against_a_speculative_run(store: str) -> None:
    with pytest.raises(UsageError, match="a run with speculation"):
        named(store, "eagle3-5x6-untuned", 20.0)


def test_of_a_glob_those_that_fit_are_taken(store: str) -> None:
    with open_store(store) as opened:
        assert len(plain(opened, "*")) == 4
        assert len(candidates(opened, "*")) == 2


def test_whatif_takes_the_fairest_baseline(store: str) -> None:
    found = asked(store, "whatif", "eagle3-5x6-untuned", "--vs", "baseline", "--json")
    same = asked(store, "whatif", "eagle3-5x6-untuned", "--vs", "baseline-fresh", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout) == json.loads(same.stdout)
    assert "baseline: baseline-fresh, the only fair one" in found.stderr


def test_whatif_without_any_baseline_says_so(tmp_path: Path, example_logs: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    ingest([example_logs / "kimi-k25-story" / "eagle3-5x6-untuned.log"], target)
    done = asked(target, "whatif", "eagle3-5x6-untuned", "--vs", "baseline")
    assert isinstance(done.exception, UsageError)
    assert "ingest the log of one" in str(done.exception)


def test_a_baseline_of_another_model_is_said_to_be_one_and_not_that_nothing_is_fair(store: str) -> None:
    with open_store(store) as opened:
        report = gather(opened, vs="base", candidates=None, command="x")
    assert report.summary.endswith(
        "No pair of the runs named is proven to be the same experiment, so no speedup here is proven; the "
        "store holds fair pairs for 2 of them: --vs baseline finds them."
    )
    done = asked(store, "check", "--vs", "base")
    assert isinstance(done.exception, UsageError)
    assert "no candidate serves the model of the baseline named" in str(done.exception)


def test_the_plan_of_an_empty_store_is_to_ingest_something(tmp_path: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    assert asked(target, "init").exit_code == 0
    done = asked(target, "plan")
    assert done.exit_code == 0
    assert done.stdout.startswith("nothing to plan: the store holds no speculative run; `speclog ingest LOG`")


def test_a_plan_names_the_candidates_it_did_not_look_at() -> None:
    report = build.story()
    assert plan.unseen(report) == ""
    report.brief = [report.sections[0]] * 5
    assert plan.unseen(report) == (
        "not looked at: eagle3-5x6-untuned, eagle3-5x6-untuned, eagle3-5x6-untuned and 2 more; "
        "ask for them by --run NAME"
    )


def test_a_server_that_never_served_and_a_fair_pair_without_a_number_are_not_settled() -> None:
    report = build.story()
    (section,) = report.sections
    section.missing = []
    assert plan.plan(report) == []
    fair = section.chosen
    assert fair is not None
    bare = tuple(replace(level, speedup=None, refused="the contexts do not overlap") for level in fair.levels)
    section.chosen = replace(fair, levels=bare)
    ((_, _, what, why, _, _),) = plan.plan(report)
    assert (what, why) == (
        "Both arms again, at one batch size and the same lengths.",
        "the contexts do not overlap",
    )
    section.run = replace(
        section.run, served=False, end_reason="killed", profile="kimi", overlays=("tuned",), arm="kimi+tuned"
    )
    ((_, verdict, what, _, command, _),) = plan.plan(report)
    assert (verdict, what) == ("never served", "The same run again.")
    assert command == f"speclog --store {report.store} launch kimi --with tuned"
