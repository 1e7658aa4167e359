"""Candidates that get a row only: with intervals while that is cheap, and said to have none after that."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from speclog.report import gather as gathering
from speclog.report import report_text, rows, write_index
from speclog.report.experiments import ranking
from speclog.report.model import Absent, Chart
from speclog.store import open_store
from tests.fairness.build import append_all, baseline, candidate

# Each is a server of its own (other steps), 7.4 ms a round at accept length 2.1; the last one is slow.
SPECS = [
    candidate(
        f"spec-{steps:02}",
        args={"speculative_num_steps": steps, "speculative_num_draft_tokens": steps + 1},
        round_ms=14.0 if steps == 11 else 7.4,
    )
    for steps in range(2, 12)
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = str(tmp_path_factory.mktemp("others") / "s.duckdb")
    with open_store(target, read_only=False) as opened:
        append_all(opened, [*SPECS, baseline()])
    return target


def rows_of(page: str) -> list[str]:
    table = page.split('aria-label="Other speculative runs"')[1].split("</table>")[0]
    return [html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in table.split("<tr>")[2:]]


def test_a_row_has_the_interval_that_a_page_of_its_own_has(store: str) -> None:
    document: dict[str, Any] = json.loads(report_text(store, vs="baseline", fmt="json"))
    assert len(document["candidates"]) == 10
    last = document["candidates"][9]
    own = json.loads(report_text(store, vs="baseline", candidates=[last["run"]], fmt="json"))
    levels = [one["comparisons"][0]["levels"][0] for one in (last, own["candidates"][0])]
    for name in ("speedup", "tau", "tau_star"):
        low, value, high = (levels[0][f"{name}{end}"] for end in ("_lo", "", "_hi"))
        assert low - 1e-9 <= value <= high + 1e-9  # each window accepts the same here
        assert (low, high) == (levels[1][f"{name}_lo"], levels[1][f"{name}_hi"])
    assert levels[0]["interval_kind"] == "within-run"
    assert levels[0]["speedup"] == pytest.approx(2.1 * 4.8 / 14.0, rel=0.003)
    assert document["summary"] == "Ten speculative runs: 10 fair. On equal terms nine of them win."
    page, md = (report_text(store, vs="baseline", fmt=fmt) for fmt in ("html", "md"))
    rows = rows_of(page)
    assert len(rows) == 2
    assert all("%, within-run" in row and "no interval" not in row for row in rows)
    assert re.search(
        r"\| spec-11 \| Fair \| base \| −2\d\.\d %, batch 1 \| .*within-run \|", md.replace("\\", "")
    )


def test_where_it_would_take_long_there_is_none_and_it_says_so(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "BRIEF", 0)
    document = json.loads(report_text(store, vs="baseline", fmt="json"))
    assert document["summary"].endswith(
        "On equal terms eight of them win; of 2 more there is no interval here."
    )
    assert document["candidates"][9]["comparisons"][0]["levels"][0]["speedup_lo"] is None
    assert all("no interval" in row for row in rows_of(report_text(store, vs="baseline")))


def test_commands_on_the_page_name_the_store(store: str) -> None:
    page = html.unescape(report_text(store, vs="baseline", command="speclog report --vs baseline"))
    assert f"speclog --store {store} report --run NAME --vs baseline" in page
    document = json.loads(report_text(store, vs="baseline", command="speclog report --vs x", fmt="json"))
    assert document["made"]["command"] == "speclog report --vs x"


def test_rounds_of_the_index_have_their_ends(store: str, tmp_path: Path) -> None:
    page = write_index(store, out_dir=tmp_path).read_text(encoding="utf-8")
    row = next(text for text in page.split("<tr>") if '<bdi class="name">base</bdi>' in text)
    shown = re.search(r"<td class=\"num\">([\d.]+)<small>([\d.]+) to ([\d.]+)</small>", row)
    assert shown is not None
    value, low, high = map(float, shown.groups())
    with open_store(store) as opened:
        ((median, mad, n),) = opened.rows(
            "SELECT round_ms, round_mad_ms, n_clean FROM level JOIN run USING (run_id) WHERE name = 'base'"
        )
    off = 2 * 1.2533 * 1.4826 * mad / (n / 2) ** 0.5
    assert (value, low, high) == pytest.approx((median, median - off, median + off), abs=0.006)
    assert "have no interval here" in page


def test_an_unfair_baseline_without_a_common_batch_size_has_no_naive_ratio(tmp_path: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    other = baseline(levels=(8,), env={"NCCL_ALGO": "Ring"})
    with open_store(target, read_only=False) as opened:
        append_all(opened, [candidate(), other])
    document = json.loads(report_text(target, vs="baseline", fmt="json"))
    (pair,) = document["candidates"][0]["comparisons"]
    assert pair["verdict"] == "unfair"
    assert [level["naive_speedup"] for level in pair["levels"]] == [None]
    page = html.unescape(re.sub(r"<[^>]+>", "", report_text(target, vs="baseline", fmt="html")))
    assert "throughputs\nnoneagainst base: ✕ Unfair; no batch size in common\nNCCL_ALGO differs" in page
    report_text(target, vs="baseline", fmt="md")


def test_what_an_image_was_built_with_is_no_setting_of_nccl(tmp_path: Path) -> None:
    plain = [baseline("old", env={"NCCL_VERSION": "2.27"}), baseline("new", env={"NCCL_VERSION": "2.28"})]
    tuned = baseline("ring", env={"NCCL_VERSION": "2.28", "NCCL_ALGO": "Ring"}, round_ms=4.0)
    found = []
    for name, runs in (("a", plain), ("b", [*plain, tuned])):
        target = str(tmp_path / f"{name}.duckdb")
        with open_store(target, read_only=False) as opened:
            append_all(opened, [candidate(env={"NCCL_VERSION": "2.28"}), *runs])
            known = rows.runs(opened)
            found.append(ranking(opened, known, next(run for run in known.values() if run.name == "new")))
    assert isinstance(found[0], Absent)
    assert isinstance(found[1], Chart)
    (data,) = found[1].data
    settings = [row[data.columns.index("setting")] for row in data.rows]
    assert settings == ["NCCL_ALGO=Ring", "none set"]
