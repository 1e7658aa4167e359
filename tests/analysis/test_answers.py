"""The reader's questions, through the product: runs in a store, answers in HTML, Markdown and JSON."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from made_up import frames, window, with_starts
from test_phases_whatif import profile, profiled

from speclog.cli import cli
from speclog.report import report_text
from speclog.store import Store, open_store

pytestmark = pytest.mark.slow
Make = Callable[..., Store]
CONTEXTS = [200.0 + 10 * step for step in range(14)]
# Batch size -> round of the plain server and of the speculative one (tau 2): S = 2 t_base / t_spec.
PLAIN = {1: 4.0, 2: 4.2, 4: 4.5, 8: 5.0, 16: 6.0, 64: 14.0}
SPECULATIVE = {1: 6.0, 2: 6.2, 4: 6.6, 8: 12.0, 16: 15.0, 32: 16.0, 64: 24.0, 128: 60.0}


def served(name: str, rounds: dict[int, float], *, speculative: bool) -> dict[str, pl.DataFrame]:
    tau = 2.0 if speculative else 1.0
    rows = [
        # Half a per cent of scatter, the same each time: intervals need some.
        window(size, x, ms * (1 + 0.005 * (-1) ** place), tau)
        for size, ms in rounds.items()
        for place, x in enumerate(CONTEXTS)
    ]
    return frames(name, with_starts(rows), speculative=speculative)


def five_steps(name: str) -> dict[str, pl.DataFrame]:
    """The arguments of a run with five draft steps, topk 1."""
    given = {"speculative_num_steps": "5", "speculative_eagle_topk": "1", "speculative_num_draft_tokens": "6"}
    key = {"ingest_id": f"i-{name}", "run_id": f"id-{name}", "source": "log"}
    return {"raw_server_arg": pl.DataFrame([key | {"name": n, "value": v} for n, v in given.items()])}


@pytest.fixture(scope="module")
def target(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(shutil.copy(empty_store, tmp_path_factory.mktemp("answers") / "s.duckdb"))
    with open_store(path, read_only=False) as store:
        store.append(served("base", PLAIN, speculative=False))
        store.append(served("spec", SPECULATIVE, speculative=True))
        store.append(five_steps("spec"))
        store.append({"raw_profile_window": profiled("spec", [profile() for _ in range(4)])})
    return path


@pytest.fixture(scope="module")
def page(target: str) -> dict[str, Any]:
    found = {fmt: report_text(target, vs="baseline", fmt=fmt) for fmt in ("html", "md", "json")}
    return found | {"document": json.loads(found["json"])}


def section(page: dict[str, Any]) -> dict[str, Any]:
    return dict(page["document"]["candidates"][0])


def answer(page: dict[str, Any], key: str) -> dict[str, Any]:
    return next(one for one in section(page)["advice"] if one["key"] == key)


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_where_to_switch_it_off_with_several_crossings(page: dict[str, Any]) -> None:
    said = answer(page, "switch_off")
    assert said["text"] == (
        "If the two servers are equal: switch it off between batch 4 and 8; it pays again, from somewhere "
        "between batch 16 and 64."
    )
    assert [(row["from_batch_size"], row["to_batch_size"]) for row in said["rows"]] == [
        (4, 8),
        (16, 64),
    ]  # at 32 the interval holds 1
    chart = next(one for one in section(page)["charts"] if one["key"].startswith("concurrency"))
    assert chart["title"] in said["text"]
    rows, spans = chart["data"].values()
    assert [row["batch_size"] for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    assert spans == said["rows"]


def test_a_size_the_baseline_never_ran_is_read_between_its_neighbours_or_refused(
    page: dict[str, Any],
) -> None:
    between = {row["batch_size"]: row for row in section(page)["between"]}
    assert between[32]["between"] == [16, 64]
    step = 6.0 + (32 - 16) / (64 - 16) * (14.0 - 6.0)
    assert between[32]["speedup"] == pytest.approx(2 * step / 16.0, rel=0.01)
    assert between[32]["speedup_lo"] < between[32]["speedup"] < between[32]["speedup_hi"]
    assert between[128]["speedup"] is None
    assert "outside the baseline's batch sizes" in between[128]["refused"]
    for shown in (text_of(page["html"]), page["md"].replace("\\", "")):
        assert "Batch 32, of which the baseline has no clean window: +8" in shown
        assert "its step read between batch 16 and 64" in shown
        assert (
            "Batch 128, of which the baseline has no clean window: outside the baseline's batch sizes"
            in shown
        )


def test_what_break_even_asks_of_the_draft(page: dict[str, Any]) -> None:
    said = answer(page, "draft")
    rows = {row["batch_size"]: row for row in said["rows"]}
    assert rows[1]["basis"] == "measured"
    assert rows[1]["survival"] == pytest.approx([0.8, 0.2, 0, 0, 0])
    assert rows[1]["factor"] < 1 < 2  # 2.0 against 1.5: good enough
    # At batch 8 break-even is 2.4; the profile is of batch 1 only, so positions count as accepted alike.
    assert rows[8]["basis"] == "alike"
    assert rows[8]["tau_needed"] == pytest.approx(2.4, rel=0.01)
    assert 1 + sum(rows[8]["survival_needed"]) == pytest.approx(2.4, rel=0.01)
    assert "At batch 8 its accept length must rise from 2.00 (2.00 to 2.00) to 2.40" in said["text"]
    assert "At batch 1 it is good enough" in said["text"]
    assert said["text"].endswith(
        " Positions taken to be accepted alike at batch 2, 4, 8, 16 and 64: no profile tells them apart."
    )


@pytest.mark.parametrize("key", ["lost", "steps", "switch_off", "draft", "host", "starts"])
def test_every_answer_is_in_every_format_and_says_how_it_is_known(page: dict[str, Any], key: str) -> None:
    said = answer(page, key)
    words = " ".join((said["text"] or said["why_not"]).split())
    assert words in text_of(page["html"])
    plain = page["md"].replace("\\", "")
    assert words in plain
    assert said["question"] in plain
    anchor = said["anchor"]
    assert f'href="#{anchor}"' in page["html"]
    assert f'id="{anchor}"' in page["html"]


def test_doubts_stand_beside_the_numbers(new_store: Make) -> None:
    few = {1: 4.0}
    spec = frames("spec", with_starts([window(1, x, 6.0, 2.0) for x in CONTEXTS[:4]]), speculative=True)
    store = new_store(served("base", few, speculative=False), spec)
    target = store.target
    store._connection.close()
    doubt = "candidate: only 4 clean windows"
    assert text_of(report_text(target, vs="baseline")).count(doubt) == 3  # headline, card, under the table
    assert doubt in report_text(target, vs="baseline", fmt="md").replace("\\", "")
    level = json.loads(report_text(target, vs="baseline", fmt="json"))["candidates"][0]["comparisons"][0]
    assert doubt in level["levels"][0]["caveats"]


def test_no_link_of_the_page_leads_nowhere(page: dict[str, Any]) -> None:
    body = page["html"]
    anchors = set(re.findall(r'href="#([^"]+)"', body))
    ids = set(re.findall(r'\bid="([^"]+)"', body))
    assert anchors
    assert anchors <= ids, anchors - ids


def ask(target: str, *words: str) -> Any:
    return CliRunner().invoke(cli, ["--store", target, "whatif", "spec", "--vs", "base", *words])


def test_whatif_answers_on_the_command_line(target: str) -> None:
    done = ask(target, "--ask", "concurrency", "--json")
    rows = {row["batch_size"]: row for row in json.loads(done.stdout)}
    assert (rows[4]["change"], rows[4]["change_by"], rows[4]["certain"]) == ("stops paying", 8, True)
    assert (rows[16]["change"], rows[16]["change_by"]) == ("starts paying", 64)
    assert rows[32]["from"] == "baseline read between 16 and 64"
    assert "outside the baseline's batch sizes" in rows[128]["refused"]
    assert "switch it off between batch 4 and 8" in done.stderr
    done = ask(target, "--ask", "draft", "--format", "csv")
    assert done.stdout.splitlines()[0].startswith("batch_size,tau,tau_needed,factor,basis,survival")
    assert "its accept length must rise from 2.00 (2.00 to 2.00) to 2.40" in done.stderr
    done = ask(target, "--json")
    assert {row["step_from"] for row in json.loads(done.stdout) if row["steps"]} == {"draft time"}
    failed = ask(target, "--ask", "draft", "--format", "vllm")
    assert "goes with --ask steps" in str(failed.exception)


def test_the_saved_query_finds_the_same_crossing(target: str) -> None:
    done = CliRunner().invoke(cli, ["--store", target, "query", "switch-off", "--json"])
    rows = json.loads(done.stdout)
    assert [(row["from_batch_size"], row["to_batch_size"], row["change"]) for row in rows] == [
        (4, 8, "stops paying"),
        (16, 64, "starts paying"),
    ]


def test_the_source_of_every_chart_runs(page: dict[str, Any], target: str) -> None:
    shown = [one["source"] for one in section(page)["charts"] if one.get("source")]
    assert len(shown) >= 5
    for source in shown:
        done = CliRunner().invoke(cli, ["--store", target, *shlex.split(source)[1:], "--json"])
        assert done.exit_code == 0, (source, done.output)
        assert json.loads(done.stdout), source
