"""Starts of the same server are pooled when that is proven; the page says what interval that gives."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from speclog.report import report_text
from speclog.store import Store, open_store
from tests.report.make import ingest

pytestmark = pytest.mark.slow
TABLES = (
    "raw_run", "raw_ingest", "raw_decode_window", "raw_prefill_batch", "raw_server_arg", "raw_env_var",
    "raw_env_scan", "raw_fact", "raw_event",
)  # fmt: skip
RUN = "llama8b-eagle3-5x6.r1"


def start_again(store: Store, name: str, as_name: str, *, slower: float) -> None:
    """Another start of a stored run: the same records under a new name, every round a little slower."""
    (run_id, ingest_id), = store.rows("SELECT run_id, ingest_id FROM run WHERE name = ?", [name])  # fmt: skip
    for table in TABLES:
        moved = "ingest_id || '-2' AS ingest_id, run_id || '-2' AS run_id"
        if table == "raw_run":
            moved += f", '{as_name}' AS name, started_at + INTERVAL 1 HOUR AS started_at"
        if table == "raw_decode_window":
            moved += f", gen_tok_s / {1 + slower} AS gen_tok_s"
        where = "WHERE run_id = ? AND ingest_id = ?"
        store.rows(
            f"INSERT INTO {table} SELECT * REPLACE ({moved}) FROM {table} {where}", [run_id, ingest_id]
        )


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, root: Path) -> dict[str, str]:
    """One baseline start, and the same with a second one."""
    folder = tmp_path_factory.mktemp("pooled")
    made = {}
    for kind in ("one", "two"):
        made[kind] = str(folder / f"{kind}.duckdb")
        logs = root / "tests" / "data" / "h200-launch"
        ingest([logs / "llama8b-baseline.r1.log", *sorted(logs.glob("llama8b-eagle3-5x6.*.log"))], made[kind])
    with open_store(made["two"], read_only=False) as store:
        start_again(store, "llama8b-baseline.r1", "llama8b-baseline.r2", slower=0.01)
    return made


def read(target: str) -> dict[str, Any]:
    document = json.loads(report_text(target, vs="baseline", candidates=[RUN], fmt="json"))
    section = document["candidates"][0]
    pair = next(one for one in section["comparisons"] if one["key"] == section["fair"])
    return {"section": section, "pair": pair, "level": pair["levels"][0]}


def test_repeats_of_both_sides_give_a_between_run_interval(stores: dict[str, str]) -> None:
    found = read(stores["two"])
    pair, level = found["pair"], found["level"]
    assert (len(pair["candidate_repeats"]), len(pair["baseline_repeats"])) == (1, 1)
    assert level["interval_kind"] == "between-run"
    alone = read(stores["one"])["level"]
    # The pooled baseline is the mean of both starts, half a per cent slower than the first alone.
    assert level["t_base_ms"] == pytest.approx(1.005 * alone["t_base_ms"], rel=1e-3)
    assert level["n_baseline"] == 2 * alone["n_baseline"]
    assert level["speedup_hi"] - level["speedup_lo"] > alone["speedup_hi"] - alone["speedup_lo"]
    assert "between-run interval" in found["section"]["headline"]
    # The other start of the same baseline is no baseline that misleads.
    assert (found["section"]["naive"], found["section"]["change"]) == (None, "")


def test_the_page_says_what_was_pooled_and_what_starts_differ_by(stores: dict[str, str]) -> None:
    page = report_text(stores["two"], vs="baseline", candidates=[RUN])
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert "Pooled with other starts of the same server:" in text
    assert "the between-run interval holds it" in text
    starts = next(a for a in read(stores["two"])["section"]["advice"] if a["key"] == "starts")
    # One pair of starts 1 % apart and one within 0.1 %: sd = sqrt(mean(d^2) / 2).
    assert starts["value"] == pytest.approx(0.01 / 2, rel=0.05)
    found = re.search(r"break_even WHERE candidate IN \(.*?\) AND baseline IN \(.*?\)", html.unescape(page))
    assert found, "the SQL names every run that was pooled"


def test_repeats_of_one_side_stay_within_run_and_say_so(stores: dict[str, str]) -> None:
    found = read(stores["one"])
    assert found["level"]["interval_kind"] == "within-run"
    assert len(found["pair"]["candidate_repeats"]) == 1
    starts = next(a for a in found["section"]["advice"] if a["key"] == "starts")
    assert f"the interval holds it for {RUN} alone" in starts["text"]


def test_what_is_not_proven_to_be_equal_is_not_pooled(tmp_path: Path, example_logs: Path) -> None:
    target = str(tmp_path / "s.duckdb")
    logs = example_logs / "h200-llama8b"
    ingest([logs / "base.log", logs / "eagle3-s5-a2.1.log"], target)
    with open_store(target, read_only=False) as store:
        start_again(store, "base", "base-again", slower=0.01)
    document = json.loads(report_text(target, vs="baseline", fmt="json"))
    for pair in document["candidates"][0]["comparisons"]:
        assert pair["verdict"] == "unproven"
        assert pair["baseline_repeats"] == []


def test_a_repeat_has_no_section_of_its_own(stores: dict[str, str]) -> None:
    """Two starts of the candidate are one server: one section that names both, one card."""
    document = json.loads(report_text(stores["two"], vs="baseline", fmt="json"))
    with open_store(stores["two"]) as store:
        ids = dict(store.rows("SELECT name, run_id FROM run"))
    assert [one["run"] for one in document["candidates"]] == [RUN]
    assert document["candidates"][0]["repeats"] == [ids["llama8b-eagle3-5x6.r2"]]
    page = report_text(stores["two"], vs="baseline", fmt="html")
    assert page.count('<div class="card-head">') == 1
    assert "and one repeat" in page
    told = report_text(stores["two"], vs="baseline", fmt="md").replace("\\", "")
    assert "Repeats pooled: llama8b-eagle3-5x6.r2." in told
