"""In a store of many runs a page has the fairest pairs of each kind, and says the same of those it shows."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from speclog.report import gather as gathering
from speclog.report import report_text
from speclog.store import open_store
from tests.fairness.build import append_all, baseline, candidate

# One server started three times (fair), three with another variable (unfair; one is the fastest), one whose
# record lacks the version (unproven), and one that shares no batch size.
BASELINES = [
    *(baseline(f"fair-{n}") for n in range(3)),
    *(baseline(f"other-{n}", env={"NCCL_ALGO": f"x{n}"}, round_ms=4.0 + 0.2 * n) for n in range(3)),
    baseline("unproven", version=None),
    baseline("elsewhere", levels=(4,), env={"NCCL_ALGO": "y"}),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = str(tmp_path_factory.mktemp("many") / "s.duckdb")
    with open_store(target, read_only=False) as opened:
        append_all(opened, [candidate("spec"), *BASELINES])
    return target


def section(store: str, vs: str = "baseline") -> dict[str, Any]:
    return dict(json.loads(report_text(store, vs=vs, fmt="json"))["candidates"][0])


def table(store: str) -> tuple[list[str], str]:
    page = report_text(store, vs="baseline").split("Every baseline in the store")[1]
    rows = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    text = html.unescape(re.sub(r"<[^>]+>", " ", page.split("</table>")[1].split("<h3>")[0]))
    return [html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in rows], " ".join(text.split())


def without_pairs(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "comparisons"}


@pytest.mark.parametrize("vs", ["baseline", "other-1", "elsewhere"])
def test_what_is_said_does_not_depend_on_how_many_pairs_are_listed(
    store: str, vs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = section(store, vs)
    assert whole["n_comparisons"] == len(whole["comparisons"]) == 8
    monkeypatch.setattr(gathering, "MANY", 1)
    monkeypatch.setattr(gathering, "PAIRS_OF_MANY", 1)
    few = section(store, vs)
    assert few["n_comparisons"] == 8
    assert without_pairs(few) == without_pairs(whole)
    listed = [one["baseline_name"] for one in few["comparisons"]]
    ranked = [one["baseline_name"] for one in whole["comparisons"] if one["baseline_name"] in listed]
    assert listed == ranked
    kinds = {(one["verdict"], bool(one["levels"][0]["speedup"])) for one in few["comparisons"]}
    assert kinds == {("fair", True), ("unproven", True), ("unfair", True), ("unfair", False)}
    assert {"other-0", "elsewhere", *([] if vs == "baseline" else [vs])} <= {*listed}
    by_key = {one["key"]: one for one in whole["comparisons"]}
    for key in filter(None, (few["chosen"], few["fair"], few["naive"])):
        shown = next(one for one in few["comparisons"] if one["key"] == key)
        assert shown == by_key[key]


def test_rows_without_an_interval_say_so(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, note = table(store)
    assert len(rows) == 8
    assert "point estimate" in note  # of the fifth and sixth
    monkeypatch.setattr(gathering, "JUDGED", 8)
    rows, note = table(store)
    assert not any("no interval" in row for row in rows)
    assert "point estimate" not in note
    monkeypatch.setattr(gathering, "MANY", 1)
    monkeypatch.setattr(gathering, "PAIRS_OF_MANY", 1)
    rows, note = table(store)
    assert 4 <= len(rows) < 8
    assert "point estimate" in note
    assert all("no interval" in row for row in rows if "unproven" in row)


def test_a_long_table_says_how_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = str(tmp_path / "s.duckdb")
    many = [baseline(f"b-{n:02}", env={"NCCL_ALGO": f"x{n}"}) for n in range(30)]
    with open_store(target, read_only=False) as opened:
        append_all(opened, [candidate("spec"), *many])
    monkeypatch.setattr(gathering, "MANY", 1)
    monkeypatch.setattr(gathering, "PAIRS_OF_MANY", 3)
    rows, note = table(target)
    assert len(rows) == 4  # and that with the fastest
    assert note.startswith("The 4 fairest of 30; all are in view comparison .")
