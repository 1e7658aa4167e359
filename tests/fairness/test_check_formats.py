"""`speclog check` in every format, its regressions, and two engines; hostile names in all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from speclog.cli import cli
from speclog.errors import CheckFailed, UsageError
from speclog.report import check_formats
from speclog.report.check import Checked, check
from speclog.store import Store, open_store
from tests.fairness.build import START, Made, append_all, baseline, candidate

pytestmark = pytest.mark.slow
Stores = Callable[..., Store]
HOSTILE = "x|<img src=x onerror=alert(1)>]]>&`@all\x1b[31m\x00\u202e"
LATER = START + timedelta(days=1)
BASE = baseline("base", round_ms=4.8)
FAST = candidate("fast", round_ms=7.0)


def one(store: Store, run: Made, **how: object) -> Checked:
    options = {"vs": None, "reasons": {}, "fail_on": ["regression"]} | how
    (found,) = check(store, candidates=[run.run_id], **options)  # type: ignore[arg-type]
    return found


def rows(found: Checked, against: str) -> list[dict[str, object]]:
    return [row for row in found.regressions or [] if row["against"] == against]


def test_slower_than_a_fair_baseline_is_a_regression(store_of: Stores) -> None:
    slow = candidate("slow", round_ms=12.0)
    lost = one(store_of(BASE, slow), slow)
    (row,) = rows(lost, "baseline")
    assert lost.verdict == "fair"
    assert lost.failed == ["regression"]
    assert row["ratio"] == pytest.approx(2.1 * 4.8 / 12, rel=0.01)
    assert row["regressed"]
    assert row["high"] < 1  # type: ignore[operator]
    store = store_of(BASE, FAST)
    won = one(store, FAST)
    assert won.failed == []
    assert not rows(won, "baseline")[0]["regressed"]
    assert won.regressions is not None
    assert one(store, FAST, fail_on=["unfair"]).regressions is None


def test_what_is_let_by_is_no_green_tick(store_of: Stores) -> None:
    """An unproven pair had a tick under --fail-on unfair, and its regression, not looked for, had passed."""
    unknown = candidate("unknown", drop=["fact.driver"])
    store = store_of(BASE, unknown, FAST)
    let_by, fair = one(store, unknown), one(store, FAST)
    said = check_formats.markdown([let_by, fair])
    assert said.startswith("**speclog check:** 2 of 2 comparisons passed; 1 of them is not fair\n")
    assert [line[2:4].strip() for line in said.splitlines() if line.startswith(("| ⚠", "| ✅"))] == [
        "⚠️",
        "✅",
    ]
    suite = ElementTree.fromstring(check_formats.junit([let_by, fair], ["regression"]))
    cases = {
        case.get("classname", ""): case
        for case in suite.iter("testcase")
        if "regression" in case.get("name", "")
    }
    assert "not judged" in (cases["unknown"].find("skipped").get("message") or "")  # type: ignore[union-attr]
    assert cases["fast"].find("skipped") is None


def test_what_one_start_of_several_loses_by_is_no_regression(store_of: Stores) -> None:
    """Two starts of one server differ by more than either's interval knows; their mean is level."""
    level = 2.1 * 4.8
    first, second = (candidate(name, round_ms=level * off) for name, off in (("a", 0.996), ("b", 1.004)))
    base = [baseline(f"base-{name}", round_ms=4.8 * off) for name, off in (("a", 0.998), ("b", 1.002))]
    store = store_of(*base, first, second)
    for run, other in ((first, "b"), (second, "a")):
        found = one(store, run)
        (row,) = rows(found, "baseline")
        assert (row["candidate_names"], row["kind"]) == ([run.name, other], "between-run")
        assert sorted(row["run_names"]) == ["base-a", "base-b"]  # type: ignore[call-overload]
        assert row["ratio"] == pytest.approx(1, abs=0.002)
        assert found.failed == []
        text = check_formats.regression_text(row)
        assert text.startswith(f"with its repeats ({other}) level with its baseline (base-")
    alone = store_of(base[0], second)
    assert one(alone, second).failed == ["regression"]  # what nobody repeated has only its own interval


def test_an_unfair_comparison_has_no_number_to_regress(store_of: Stores) -> None:
    slow = candidate("slow", round_ms=12.0, env={"NCCL_PROTO": "LL"})
    found = one(store_of(BASE, slow), slow, fail_on=["regression"])
    assert found.failed == []
    assert "its number is no result" in str(rows(found, "baseline")[0]["why_not"])


def test_slower_than_the_same_configuration_was(store_of: Stores) -> None:
    new = candidate("new", round_ms=7.6, started=LATER, version="0.5.15", env={"NCCL_PROTO": "LL"})
    plain = baseline("plain", version="0.5.15", env={"NCCL_PROTO": "LL"})
    other = candidate(
        "other", args={"speculative_num_steps": 2}, round_ms=5.0, started=START + timedelta(hours=1)
    )
    store = store_of(BASE, FAST, new, plain, other)
    (row,) = rows(one(store, new), "earlier")
    assert row["run_names"] == ["fast"]  # not the run with other draft steps, though it is newer
    assert row["ratio"] == pytest.approx(7.0 / 7.6, rel=0.01)
    assert row["regressed"]
    assert row["since"] == ["env.NCCL_PROTO", "fact.version"]
    assert not rows(one(store, new, threshold=0.1), "earlier")[0]["regressed"]
    first = rows(one(store, FAST), "earlier")[0]
    assert "no earlier run" in str(first["why_not"])
    assert not first["regressed"]


def test_a_per_cent_is_no_regression_and_another_workload_is_no_earlier_run(store_of: Stores) -> None:
    new = candidate("new", round_ms=7.07, started=LATER)
    longer = candidate("longer", round_ms=9.0, started=LATER, facts={"workload.input_len": 4096})
    dark = candidate("dark", round_ms=9.0, started=LATER, drop=["fact.gpu.name"])
    store = store_of(BASE, FAST, new, longer, dark)
    assert not rows(one(store, new), "earlier")[0]["regressed"]
    for run in (longer, dark):
        assert "no earlier run" in str(rows(one(store, run), "earlier")[0]["why_not"])
        named = one(store, run, before=[FAST.run_id])
        assert "not known to be of the same" in str(rows(named, "earlier")[0]["why_not"])
    again = one(store, new, before=[FAST.run_id])
    assert rows(again, "earlier")[0]["run_names"] == ["fast"]
    slower = rows(again, "earlier")[0]
    assert slower["high"] < 1
    assert check_formats.regression_text(slower).startswith(
        "slower, within the threshold, than before (fast) at batch 1"
    )
    back = one(store, FAST, before=[new.run_id])
    assert check_formats.regression_text(rows(back, "earlier")[0]).startswith(
        "faster than before (new) at batch 1"
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    target = str(tmp_path_factory.mktemp("hostile") / "s.duckdb")
    with open_store(target, read_only=False) as store:
        bad = {"NCCL_PROTO": HOSTILE.replace("\x00", "")}
        name = HOSTILE.replace("\x00", "")
        append_all(store, [baseline(name, round_ms=4.8), candidate(f"c{name}", env=bad)])
    yield target


def run(target: str, *words: str) -> tuple[str, BaseException | None]:
    done = CliRunner().invoke(cli, ["--store", target, "check", *words])
    return done.stdout, done.exception


def test_xml_parses_whatever_the_names_are(hostile: str, tmp_path: Path) -> None:
    path = tmp_path / "j.xml"
    out, error = run(hostile, "--format", "junit", "--junit", str(path), "--fail-on", "unfair,regression")
    assert isinstance(error, CheckFailed)
    assert path.read_text(encoding="utf-8") == out
    suite = ElementTree.fromstring(out.encode())[0]
    cases = list(suite)
    assert [case.get("name", "").partition(":")[0] for case in cases] == ["unfair", "unproven", "regression"]
    failures = suite.findall("testcase/failure")
    assert suite.get("failures") == str(len(failures)) == "1"
    assert suite.get("tests") == "3"
    assert failures[0].get("type") == "unfair"
    assert "NCCL_PROTO" in str(failures[0].text)
    assert "<img" in str(cases[0].get("classname"))
    assert "<img" not in out
    assert "\x1b" not in out


def test_what_does_not_fail_is_a_skipped_case(hostile: str) -> None:
    out, error = run(hostile, "--format", "junit", "--fail-on", "unproven")
    assert error is None
    suite = ElementTree.fromstring(out.encode())[0]
    assert suite.get("failures") == "0"
    assert suite.get("skipped") == "1"


def test_characters_that_xml_cannot_hold_become_escapes() -> None:
    made = Checked(
        "a", "a\x00\ud800\uffff", "b", "b", "unfair", 1, 0, 0, ["\x0b"], [], None, False, "unfair", [], "",
        None,
    )  # fmt: skip
    case = ElementTree.fromstring(check_formats.junit([made], ["unfair"]).encode())[0][0]
    assert case.get("classname") == "a\\u0000\\ud800\\uffff"


def test_markdown_stays_one_table(hostile: str) -> None:
    out, error = run(hostile, "--format", "markdown")
    assert isinstance(error, CheckFailed)
    lines = [line for line in out.splitlines() if line.startswith("|")]
    assert len(lines) == 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {7}
    assert re.search(r"(?<!\\)<img", out) is None
    assert re.search(r"(?<!\\)@all", out) is None
    assert "❌" in lines[2]


def test_an_allowance_is_stamped_into_every_format(hostile: str) -> None:
    words = ["--allow", "env.NCCL_PROTO=one GPU only"]
    for fmt in ("text", "json", "junit", "markdown"):
        out, error = run(hostile, "--format", fmt, *words)
        assert error is None, fmt
        assert "one GPU only" in " ".join(out.split()), fmt


def test_the_keys_of_the_json_are_the_documented_ones(hostile: str, root: Path) -> None:
    out, _ = run(hostile, "--json", "--fail-on", "regression")
    (row,) = json.loads(out)
    page = (root / "docs/check.md").read_text(encoding="utf-8").split("### JSON")[1]
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert list(row) == [key for cell in cells for key in re.findall(r"`(\w+)`", cell)]
    inner = re.search(r"else objects of (.*) \|", page)
    assert inner is not None
    named = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", inner[1]))
    assert list(row["regressions"][0]) == named
    assert row["schema_version"] == 1


def test_two_engines_are_refused_unless_asked_for_and_labelled(store_of: Stores) -> None:
    other = baseline("vllm-run", engine="vllm", version="0.11.0")
    store = store_of(FAST, other)
    with pytest.raises(UsageError, match="two engines do not define throughput"):
        check(store, vs=[other.run_id], candidates=None, reasons={}, fail_on=["unfair"])
    with pytest.raises(UsageError, match="name the run of the other engine"):
        check(store, vs=None, candidates=None, reasons={}, fail_on=[], cross_engine=True)
    found = one(store, FAST, vs=[other.run_id], cross_engine=True, fail_on=["unfair"])
    assert found.cross_engine
    assert found.verdict == "unfair"
    assert any("engine" in text for text in found.reasons)
    assert found.choice == "another engine: sglang against vllm"
    assert "cross-engine, asked for" in check_formats.markdown([found])


def test_fail_on_names_its_kinds(hostile: str) -> None:
    _, error = run(hostile, "--fail-on", "slow")
    assert isinstance(error, UsageError)
    assert "of unfair, unproven, regression" in str(error)
