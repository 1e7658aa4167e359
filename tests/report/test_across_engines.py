"""Runs of two engines on one page: left out, and said so; with --cross-engine compared, and labelled."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from speclog.cli import cli
from speclog.errors import UsageError
from speclog.report import report_text, write_report
from speclog.store import open_store
from tests.fairness.build import append_all, baseline, candidate

# 4.0 ms a plain vLLM step and 7.4 ms a round at accept length 2.1; the builder adds 1 % a request.
SPEC, BASE = candidate(), baseline(round_ms=4.8)
VLLM = baseline("vllm-base", engine="vllm", version="0.25.1", round_ms=4.0)
VLLM_SPEC = candidate("vllm-spec", engine="vllm", version="0.25.1")
LABEL = "Across engines, as asked for (sglang against vllm, vllm-base). "


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = str(tmp_path_factory.mktemp("engines") / "s.duckdb")
    with open_store(target, read_only=False) as opened:
        append_all(opened, [SPEC, BASE, VLLM, VLLM_SPEC])
    return target


def texts(store: str, **how: Any) -> tuple[str, str, Any]:
    how = {"candidates": ["spec"]} | how
    page, md, data = (report_text(store, fmt=fmt, **how) for fmt in ("html", "md", "json"))
    return html.unescape(re.sub(r"<[^>]+>", "", page)), md.replace("\\", ""), json.loads(data)


def test_left_out_with_the_name_of_the_option(store: str) -> None:
    for text in texts(store, vs="vllm-base")[:2]:
        assert "Left out: vllm-base (vllm) for candidates of sglang; two engines do not" in text
        assert "the baseline is a vllm run, the candidate sglang" in text
        assert "--vs NAME --cross-engine compares anyway" in text
        assert "cross engines" not in text
    data = texts(store, vs="vllm-base")[2]
    (section,) = data["candidates"]
    assert (section["verdict"], section["chosen"], section["naive"]) == ("no baseline", None, None)
    assert [one["baseline_name"] for one in section["comparisons"]] == ["base"]
    assert data["made"]["cross_engine"] is False
    assert data["notes"][0].startswith(
        "Left out: vllm-base (vllm) for candidates of sglang; two engines do not"
    )


@pytest.mark.parametrize("vs", ["baseline", "*base"])
def test_of_several_the_others_are_compared_and_one_is_left_out(store: str, vs: str) -> None:
    data = texts(store, vs=vs)[2]
    (section,) = data["candidates"]
    assert [one["baseline_name"] for one in section["comparisons"]] == ["base"]
    assert section["verdict"] == "fair"
    assert data["notes"][0].startswith(
        "Left out: vllm-base (vllm) for candidates of sglang; two engines do not"
    )
    assert "--cross-engine" in data["notes"][0]


def test_a_speculative_run_of_the_other_engine_is_refused_for_its_engine(store: str) -> None:
    with pytest.raises(UsageError, match=r"the baseline is a vllm run, the candidate sglang.*--cross-engine"):
        report_text(store, vs="vllm-spec", candidates=["spec"])


def test_asked_for_it_is_compared_and_labelled(store: str) -> None:
    page, md, data = texts(store, vs="vllm-base", cross_engine=True)
    (section,) = data["candidates"]
    pair = next(one for one in section["comparisons"] if one["baseline_name"] == "vllm-base")
    assert data["made"]["cross_engine"] is True
    assert pair["cross_engine"] is True
    assert section["chosen"] == pair["key"]
    assert section["verdict"] == pair["verdict"] == "unfair"
    assert section["headline"].startswith(f"{LABEL}Unfair: the engine and one more factor differ.")
    assert "On equal terms, against base, spec wins" in section["headline"]
    (level,) = pair["levels"]
    assert level["speedup"] == pytest.approx(2.1 * 4.0 / 7.4, rel=0.003)
    assert level["speedup_lo"] < level["speedup"] < level["speedup_hi"]
    assert {f["name"] for f in pair["factors"] if f["state"] == "confounder"} == {
        "fact.engine",
        "fact.version",
    }
    assert not any(factor["mend"] for factor in pair["factors"])  # no command makes one engine the other
    note = "Compared across engines, as asked for by --cross-engine: spec (sglang) with vllm-base (vllm). "
    assert data["notes"][0].startswith(note)
    assert "no number of such a pair is a result" in data["notes"][0]
    for text in (page, md):
        assert LABEL in text
        assert note in text
    assert page.count("across engines: sglang, vllm") >= 5
    assert "## ✕ Unfair, across engines: spec" in md
    assert "### Against vllm-base (unfair, across engines)" in md
    assert "### Against base (fair)" in md


def test_two_speculative_runs_too(store: str) -> None:
    data = texts(store, vs="vllm-spec", cross_engine=True)[2]
    (section,) = data["candidates"]
    pair = next(one for one in section["comparisons"] if one["cross_engine"])
    assert pair["baseline_name"] == "vllm-spec"
    assert pair["verdict"] == "unfair"
    assert pair["levels"][0]["speedup"] == pytest.approx(1.0, rel=0.003)


def test_the_command_shown_prints_the_number_shown(store: str) -> None:
    page = report_text(store, vs="vllm-base", candidates=["spec"], cross_engine=True)
    data = json.loads(report_text(store, vs="vllm-base", candidates=["spec"], cross_engine=True, fmt="json"))
    shown = [html.unescape(text) for text in re.findall(r"<code>(speclog [^<]*)</code>", page)]
    sql = next(re.search('sql "(.*)"$', text) for text in shown if "level_pair_of" in text)
    assert sql is not None
    out = CliRunner().invoke(cli, ["--store", store, "sql", "--format", "json", sql[1]])
    (row,) = json.loads(out.stdout)
    pair = next(one for one in data["candidates"][0]["comparisons"] if one["cross_engine"])
    assert row["speedup"] == pytest.approx(pair["levels"][0]["speedup"])
    assert (row["candidate"], row["baseline"]) == (SPEC.run_id, VLLM.run_id)
    verdict = next(
        re.search('sql "(.*)"$', text)
        for text in shown
        if f"compare('{SPEC.run_id}', '{VLLM.run_id}')" in text
    )
    assert verdict is not None
    out = CliRunner().invoke(cli, ["--store", store, "sql", "--format", "json", verdict[1]])
    assert json.loads(out.stdout)[0]["verdict"] == "unfair"


def test_it_has_a_file_of_its_own_and_needs_a_name(store: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"vs": "vllm-base", "candidates": ["spec"], "out_dir": tmp_path, "fmt": "json"}
    assert write_report(store, **how).name == "spec-vs-vllm-base.json"
    assert write_report(store, **how, cross_engine=True).name == "spec-vs-vllm-base-cross-engine.json"
    done = CliRunner().invoke(cli, ["--store", store, "report", "--vs", "baseline", "--cross-engine"])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == "--cross-engine: name the run of the other engine with --vs"
    words = ["report", "--vs", "vllm-base", "--run", "spec", "--cross-engine", "--json"]
    done = CliRunner().invoke(cli, ["--store", store, *words])
    assert json.loads(done.stdout)["made"]["cross_engine"] is True
