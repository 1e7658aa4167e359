"""The story, end to end: its logs through ingest, views and report; the numbers are the known ones."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.report import TABLES
from speclog.analysis import theory
from speclog.errors import UsageError
from speclog.report import numbers, render, report_text, write_index, write_report
from speclog.report.check import check
from speclog.report.gather import gather
from speclog.report.index import gather_index
from speclog.report.model import Chart
from speclog.store import Store, open_store
from tests.report.make import ingest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, example_logs: Path) -> str:
    target = str(tmp_path_factory.mktemp("story") / "s.duckdb")
    ingest([example_logs / "kimi-k25-story"], target)
    return target


@pytest.fixture(scope="module")
def against_tuned(store: str) -> dict[str, Any]:
    text = report_text(store, vs="baseline-retuned", candidates=["eagle3-5x6-untuned"], fmt="json")
    return dict(json.loads(text))


@pytest.fixture(scope="module")
def against_fairest(store: str) -> dict[str, Any]:
    return dict(json.loads(report_text(store, vs="baseline", candidates=["eagle3-5x6-untuned"], fmt="json")))


def _level(document: dict[str, Any], baseline: str) -> dict[str, Any]:
    pairs = document["candidates"][0]["comparisons"]
    pair = next(pair for pair in pairs if pair["baseline_name"] == baseline)
    return dict(pair["levels"][0])


def test_against_the_tuned_baseline_it_is_unfair_and_the_six_variables_are_named(
    against_tuned: dict[str, Any],
) -> None:
    section = against_tuned["candidates"][0]
    assert section["verdict"] == "unfair"
    assert section["headline"].startswith(
        "Unfair: six NCCL variables differ. On equal terms, against baseline-fresh, eagle3-5x6-"
    )
    assert "wins 13.4 %" in section["headline"]
    pair = next(pair for pair in section["comparisons"] if pair["key"] == section["chosen"])
    assert pair["baseline_name"] == "baseline-retuned"
    found = {f["name"]: f for f in pair["factors"] if f["state"] == "confounder"}
    wanted = {
        "NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS", "NCCL_MAX_NCHANNELS": "16",
        "NCCL_BUFFSIZE": "16777216", "NCCL_NTHREADS": "512",
    }  # fmt: skip
    assert {name.removeprefix("env."): f["baseline_value"] for name, f in found.items()} == wanted
    assert all(f["mend"] for f in found.values())
    assert {f["favours"] for f in found.values()} == {"baseline (measured together)"}
    (worth,) = {f["worth"] for f in found.values()}
    assert worth.startswith("together ×1.41")
    assert worth.endswith("(within-run) on the baseline at batch 1")


def test_the_six_variables_are_worth_1_41_on_the_baseline(against_tuned: dict[str, Any]) -> None:
    worth = _answer(against_tuned, "worth_baseline")
    assert worth["value"] == pytest.approx(1.41, abs=0.02)
    assert worth["low"] < 1.412 < worth["high"]
    pairs = {row["with"]: row for row in worth["rows"]}
    assert pairs["baseline-retuned"]["value"] == pytest.approx(1.41, abs=0.005)
    assert pairs["baseline-retuned"]["high"] - pairs["baseline-retuned"]["low"] < 0.04
    assert pairs["baseline-remembered"]["value"] == pytest.approx(1.43, abs=0.005)
    assert all(row["without"] == "baseline-fresh" for row in pairs.values())


def test_what_the_missing_run_would_tell_is_not_known_and_the_rest_is_an_estimate(
    against_tuned: dict[str, Any],
) -> None:
    for key in ("worth_candidate", "interaction", "acceptance"):
        answer = _answer(against_tuned, key)
        assert answer["why_not"] == "nobody ran the candidate with these settings"
        assert answer["value"] is None
    assert "change together" in _answer(against_tuned, "shares")["why_not"]
    adjusted = _answer(against_tuned, "adjusted")
    assert adjusted["estimate"]
    assert "only if both arms gain alike" in adjusted["text"]
    assert adjusted["value"] == pytest.approx(1.13, abs=0.01)
    assert adjusted["rows"][0]["if_no_gain"] == pytest.approx(0.80, abs=0.01)
    assert adjusted["rows"][0]["needed_gain"] == pytest.approx(1.25, abs=0.01)
    cells = against_tuned["candidates"][0]["cells"]
    empty = [(cell["arm"], cell["setting"]) for cell in cells if not cell["runs"]]
    assert len(cells) == 4
    assert empty == [("candidate", "with")]


def test_the_naive_ratio_is_taken_apart_and_its_terms_add_up(against_tuned: dict[str, Any]) -> None:
    terms = {row["term"]: row for row in _answer(against_tuned, "parts")["rows"]}
    total = terms.pop("throughput")
    assert sum(row["log"] for row in terms.values()) == pytest.approx(total["log"], abs=1e-12)
    assert total["factor"] == pytest.approx(71.3 / 88.8, abs=0.01)
    assert terms["accept_length"]["factor"] == pytest.approx(2.13, abs=0.01)
    assert terms["occupancy"]["factor"] == pytest.approx(1)


def _answer(document: dict[str, Any], key: str) -> dict[str, Any]:
    return dict(next(one for one in document["candidates"][0]["answers"] if one["key"] == key))


def test_break_even_is_that_of_the_case(against_fairest: dict[str, Any]) -> None:
    assert _level(against_fairest, "baseline-remembered")["tau_star"] == pytest.approx(2.69, abs=0.02)
    assert _level(against_fairest, "baseline-retuned")["tau_star"] == pytest.approx(2.65, abs=0.02)
    fair = _level(against_fairest, "baseline-fresh")
    assert fair["tau_star"] == pytest.approx(1.88, abs=0.02)
    assert fair["margin_pct"] == pytest.approx(13, abs=1)
    assert fair["speedup_lo"] < fair["speedup"] < fair["speedup_hi"]
    assert fair["interval_kind"] == "within-run"


def test_the_naive_number_stands_beside_the_fair_one(against_fairest: dict[str, Any]) -> None:
    section = against_fairest["candidates"][0]
    assert section["verdict"] == "fair"
    assert "wins 13.4 %" in section["headline"]
    assert "seems to lose 21 %" in section["change"]
    assert "the conclusion turns round" in section["change"]


def test_the_missing_run_is_named_with_its_command_and_its_target(against_fairest: dict[str, Any]) -> None:
    missing = against_fairest["candidates"][0]["missing"]
    assert missing, "the run nobody had made"
    commands = "\n".join(one["command"] for one in missing)
    assert "NCCL_PROTO" in commands or "nccl-pcie-ll" in commands
    assert f"speclog --store {against_fairest['made']['store']} launch " in commands
    assert any(one["target"] for one in missing)


def test_the_two_by_two_has_one_empty_cell(against_fairest: dict[str, Any]) -> None:
    charts = {chart["key"]: chart for chart in against_fairest["candidates"][0]["charts"]}
    cells = next(
        rows
        for key, chart in charts.items()
        if key.startswith("interaction")
        for rows in chart["data"].values()
    )
    assert [cell["state"] for cell in cells] == ["measured", "measured", "measured", "missing"]


def test_every_cell_of_the_two_by_two_has_its_interval_and_its_kind(store: str) -> None:
    document = json.loads(report_text(store, vs="baseline", candidates=["eagle3-5x6-untuned"], fmt="json"))
    (section,) = document["candidates"]
    cells = {(cell["arm"], cell["setting"]): cell for cell in section["cells"]}
    case = {
        ("baseline", "without"): (62.9, 15.9, "within-run"),
        ("baseline", "with"): (89.4, 11.18, "between-run"),  # 90.1 and 88.8, two starts
        ("candidate", "without"): (71.3, 29.87, "within-run"),
    }
    for place, (tok_s, round_ms, kind) in case.items():
        cell = cells[place]
        assert cell["tok_s"] == pytest.approx(tok_s, rel=0.003)
        assert cell["round_ms"] == pytest.approx(round_ms, rel=0.003)
        assert cell["tok_s_lo"] < cell["tok_s"] < cell["tok_s_hi"]
        assert cell["round_ms_lo"] < cell["round_ms"] < cell["round_ms_hi"]
        assert cell["interval_kind"] == kind
    assert len({cells[place]["context"] for place in case}) == 1  # all at one context
    gain = cells["baseline", "without"]["round_ms"] / cells["baseline", "with"]["round_ms"]
    worth = next(answer for answer in section["answers"] if answer["key"] == "worth_baseline")
    assert gain == pytest.approx(worth["value"], rel=1e-3)
    # Two starts that differ by 1.5 % say little about a third: the interval is wide, and says so.
    tuned = cells["baseline", "with"]
    assert tuned["tok_s_hi"] - tuned["tok_s_lo"] > 10
    missing = cells["candidate", "with"]
    assert (missing["runs"], missing["tok_s"], missing["tok_s_lo"]) == ([], None, None)
    markdown = report_text(store, vs="baseline", candidates=["eagle3-5x6-untuned"], fmt="md").replace(
        "\\", ""
    )
    assert "| tok/s | no speculation | EAGLE3 5/6 |" in markdown
    assert "| as in baseline-remembered | 89.3 (83.2 to 95.9 between-run)" in markdown
    assert "**nobody made this run**" in markdown


def test_answers_carry_their_intervals(store: str) -> None:
    document = json.loads(report_text(store, vs="baseline", candidates=["eagle3-5x6-untuned"], fmt="json"))
    (section,) = document["candidates"]
    level = next(one for one in section["comparisons"] if one["key"] == section["fair"])["levels"][0]
    said = {answer["key"]: answer for answer in [*section["advice"], *section["answers"]]}
    (need,) = said["draft"]["rows"]
    # The factor is what takes accept length from tau to tau_star: its interval is that of the speedup.
    assert need["factor_lo"] < need["factor"] < need["factor_hi"]
    for factor, speedup in (
        (need["factor_lo"], level["speedup_hi"]),
        (need["factor_hi"], level["speedup_lo"]),
    ):
        chained = theory.accept_length(theory.scaled(need["survival"], factor))
        assert chained == pytest.approx(theory.accept_length(need["survival"]) / speedup, rel=1e-4)
    assert "×0.820 (0.816 to 0.824), within-run" in said["draft"]["text"]
    assert "Measured: 2.125 to 2.131, within-run; published without an interval." in said["published"]["text"]
    assert "verify takes ×1.792 (1.782 to 1.801, within-run)" in said["experts"]["text"]
    (host,) = said["host"]["rows"]
    assert host["host_share_lo"] < host["host_share"] < host["host_share_hi"]
    (adjusted,) = said["adjusted"]["rows"]
    for name in ("round_ms", "if_no_gain", "needed_gain"):
        assert adjusted[f"{name}_lo"] < adjusted[name] < adjusted[f"{name}_hi"]
    assert section["headline"].endswith(
        "margin +0.251 (0.245 to 0.257) tokens at batch 1 "
        "(before you believe it: accept length on random-ids requests)."
    )
    verify = next(row for row in section["bill"] if row["phase"] == "verify")
    assert verify["share_pct_lo"] < verify["share_pct"] < verify["share_pct_hi"]
    assert verify["tokens_lo"] < verify["tokens"] < verify["tokens_hi"]


def _printed(store: str, source: str) -> list[dict[str, Any]]:
    """The rows that a chart's command prints."""
    program, *where, command, text = shlex.split(source)
    assert (program, where, command) == ("speclog", ["--store", store], "sql")
    with open_store(store) as opened:
        names, found = opened.result(text)
    return [dict(zip(names, row, strict=True)) for row in found]


def test_every_chart_names_the_command_that_prints_its_numbers(store: str, tmp_path: Path) -> None:
    with open_store(store) as opened:
        report = gather(opened, vs="baseline", candidates=["eagle3-5x6-untuned"], command="test")
        index = gather_index(opened, tmp_path)
    charts = [chart for chart in report.sections[0].charts if isinstance(chart, Chart)]
    kinds = {chart.key.split("-")[0] for chart in charts}
    assert {"interaction", "sweep", "timeline"} <= kinds
    assert all(chart.source.startswith("speclog --store ") for chart in charts), kinds
    for chart in charts:
        drawn = [dict(zip(data.columns, row, strict=True)) for data in chart.data for row in data.rows]
        if chart.key.startswith("interaction"):
            printed = {row["run"]: row for row in _printed(store, chart.source)}
            for row in drawn:
                if row["state"] == "measured" and " and " not in row["run"]:  # pooled: between its runs
                    told = printed[row["run"]]
                    assert row["round_ms"] == pytest.approx(told["round_ms"], rel=1e-9)
                    assert row["tok_s"] == pytest.approx(told["tok_s"], rel=1e-9)
            assert len(printed) == 4  # both tuned baselines are in one cell
        elif chart.key.startswith("sweep"):
            by_run = {row["run"]: row for row in _printed(store, chart.source)}
            assert sorted(by_run) == sorted(name for row in drawn for name in row["runs"].split(", "))
            singles = [row for row in drawn if row["n_runs"] == 1]
            assert singles
            assert all(row["round_ms"] == by_run[row["runs"]]["round_ms"] for row in singles)
        elif " sql " in chart.source:
            assert _printed(store, chart.source), chart.key
    trends = [chart for chart in index.trends if isinstance(chart, Chart)]
    assert trends
    for chart in trends:
        (data,) = chart.data
        drawn = [dict(zip(data.columns, row, strict=True)) for row in data.rows]
        printed = _printed(store, chart.source)
        assert [(row["run"], row["round_ms"]) for row in printed] == [
            (row["run"], row["round_ms"]) for row in drawn
        ]


def test_every_answer_names_the_command_that_prints_its_numbers(store: str) -> None:
    document = json.loads(report_text(store, vs="baseline", candidates=["eagle3-5x6-untuned"], fmt="json"))
    (section,) = document["candidates"]
    answers = [
        one for one in [*section["advice"], *section["answers"]] if one["text"] and one["key"] != "lost"
    ]
    assert {"steps", "draft", "published", "experts", "host"} < {one["key"] for one in answers}
    assert {"parts", "worth_baseline", "adjusted"} < {one["key"] for one in answers}
    assert all(one["source"].startswith(f"speclog --store {store} ") and one["anchor"] for one in answers)
    said = {one["key"]: one for one in answers}
    for key in ("published", "experts", "host"):
        assert _printed(store, said[key]["source"]), key
    parts = {row["run"]: row for row in _printed(store, said["parts"]["source"])}
    mine, theirs = parts["eagle3-5x6-untuned"], parts["baseline-remembered"]
    assert f"({mine['tok_s']:.1f} against {theirs['tok_s']:.1f} tok/s" in said["parts"]["text"]
    terms = {row["term"]: row["factor"] for row in said["parts"]["rows"]}
    assert terms["accept_length"] == pytest.approx(mine["accept_length"] / theirs["accept_length"], rel=1e-6)
    assert terms["round_time"] == pytest.approx(theirs["round_ms"] / mine["round_ms"], rel=1e-6)
    rounds = {row["run"]: row for row in _printed(store, said["worth_baseline"]["source"])}
    fresh = rounds["baseline-fresh"]["round_ms"]
    assert f"{fresh:.2f} ms (" in said["worth_baseline"]["text"]
    page = report_text(store, vs="baseline", candidates=["eagle3-5x6-untuned"])
    assert 'href="#f-parts"' in page
    assert 'id="f-parts"' in page


def test_pairs_whose_ids_begin_alike_are_not_mixed_up(store: str, tmp_path: Path) -> None:
    """Copies of the runs under ids that share their first ten characters, each with another driver."""
    target = str(tmp_path / "many.duckdb")
    shutil.copy(store, target)
    with open_store(target, read_only=False) as opened:
        for table in TABLES:
            driver = ", value || '.1' AS value" if table == "raw_fact" else ""
            opened.rows(
                f"INSERT INTO {table} SELECT * REPLACE (ingest_id || '-2' AS ingest_id, "
                f"run_id || '-2' AS run_id{driver}) FROM {table}"
            )
        report = gather(opened, vs="baseline", candidates=None, command="test")
    for section in report.sections:
        assert len({pair.ids for pair in section.pairs}) == len(section.pairs)
        for pair in section.shown:
            assert pair.factors
            assert len({factor.name for factor in pair.factors}) == len(pair.factors)
            values = {f.candidate_value for f in pair.factors if f.name == "fact.driver"}
            assert all(str(v).endswith(".1") == pair.candidate.run_id.endswith("-2") for v in values)


def test_what_all_confounders_are_worth_together_is_said_once(store: str) -> None:
    for fmt in ("html", "md"):
        page = report_text(store, vs="baseline-retuned", candidates=["eagle3-5x6-untuned"], fmt=fmt)
        assert page.count("Worth together ×1.41") == 1, fmt
        assert page.count("not measured alone") == 6, fmt


def test_the_contract_is_listed_when_asked_for(store: str) -> None:
    with open_store(store) as opened:
        (one,) = check(opened, vs=None, candidates=_ids(opened, "eagle3-5x6-untuned"), reasons={}, fail_on=[])
        assert one.contract is None
        (one,) = check(opened, vs=None, candidates=[one.candidate], reasons={}, fail_on=[], contract=True)
        assert one.contract
        told = {row["name"]: row["value"] for row in one.contract}
        assert told["arg.tp_size"] == "8"
        assert "env.NCCL_PROTO" in told
        assert not {"arg.speculative_num_steps", "arg.port"} & told.keys()
        (found,) = opened.rows(
            "SELECT substr(md5(CAST(sum(CAST(md5_number_lower(name || '=' || value) AS HUGEINT)) AS VARCHAR))"
            ", 1, 12) FROM (SELECT unnest(?) AS name, unnest(?) AS value)", [list(told), list(told.values())],
        )  # fmt: skip
        assert found == (one.contract_hash,)


def _ids(store: Store, name: str) -> list[str]:
    return [str(run_id) for (run_id,) in store.rows("SELECT run_id FROM run WHERE name = ?", [name])]


def test_the_readers_questions_are_answered(store: str) -> None:
    document = json.loads(report_text(store, vs="baseline", fmt="json"))
    section = next(one for one in document["candidates"] if one["run"] == "eagle3-5x6-untuned")
    said = {answer["key"]: answer for answer in section["advice"]}
    assert said["lost"]["text"].startswith(
        "Six are set for baseline-remembered and not for eagle3-5x6-untuned: NCCL_ALGO=Ring, "
    )
    # Two steps: measured by the other run, predicted from this one; a step costs what the two runs say.
    assert said["steps"]["text"].startswith(
        "Measured with two steps (eagle3-2x3-untuned): +20.7 % (+20.5 to +21.0 %) at batch 1. The prediction "
        "missed it: +24.3 % (+23.4 to +25.2 %) predicted, so prediction and measurement differ by 2.9 % "
        "(2.0 to 3.9 %; accept length 2.10 (2.09 to 2.11) predicted, 2.040 (2.038 to 2.043) measured; "
        "round 26.90 (26.84 to 26.95) and 26.89 (26.83 to 26.93) ms; all within-run). Not in the prediction: "
    )
    assert "predicted, +13.4 % (+13.0 to +13.7 %) measured with 5" in said["steps"]["text"]
    assert "from runs with 2 and 5 steps" in said["steps"]["text"]
    two = next(row for row in section["steps"] if row["steps"] == 2)
    assert two["t_round_ms"] == pytest.approx(26.89, rel=0.01)
    assert 0.9 < two["step_ms_lo"] < two["step_ms"] < two["step_ms_hi"] < 1.1
    assert two["step_ms"] == pytest.approx((29.87 - 26.89) / 3, rel=0.03)
    assert said["switch_off"]["why_not"].endswith("only at batch 1 (it pays there); serve more batch sizes")
    # 2.13 with five steps where 3.46 was published.
    assert said["published"]["flag"]
    assert "2.13 against 3.46 published" in said["published"]["text"]
    with open_store(store) as opened:
        checked = check(opened, vs=None, candidates=None, reasons={}, fail_on=["unfair"])
    doubts = {one.candidate_name: " ".join(one.caveats) for one in checked}
    assert "2.13 against 3.46 published" in doubts["eagle3-5x6-untuned"]
    assert "the draft looks broken" in doubts["eagle3-5x6-untuned"]
    assert "published" not in doubts["eagle3-2x3-untuned"]  # 2.04 of 2.43: low, not broken
    # 384 experts, 8 a token: six tokens touch 46.
    assert said["experts"]["rows"][0]["experts_verify"] == pytest.approx(45.6, abs=0.1)
    assert said["experts"]["rows"][0]["verify_ratio"] == pytest.approx(1.79, abs=0.02)
    assert "nobody started either server twice" in said["starts"]["why_not"]


def test_same_numbers_in_every_format(store: str, tmp_path: Path) -> None:
    html = write_report(store, vs="baseline", out_dir=tmp_path).read_text(encoding="utf-8")
    markdown = write_report(store, vs="baseline", fmt="md", out_dir=tmp_path).read_text(encoding="utf-8")
    for text in (html, markdown):
        assert "wins 13.4 %" in text
        assert "six NCCL variables" in text
        assert "1.88" in text
        assert "What are six NCCL variables worth on the baseline?" in text
        assert "Estimate" in text
    assert len(html.encode()) < 3_000_000


def test_the_index_lists_the_report(store: str, tmp_path: Path) -> None:
    path = write_report(store, vs="baseline", out_dir=tmp_path)
    index = write_index(store, out_dir=tmp_path).read_text(encoding="utf-8")
    assert f'href="{path.name}"' in index
    assert "baseline-remembered" in index


def test_a_run_that_is_not_there_is_one_line(store: str) -> None:
    with pytest.raises(UsageError, match="did you mean"):
        report_text(store, vs="baseline-retund")


def test_a_store_without_speculation_says_what_to_do(tmp_path: Path, example_logs: Path) -> None:
    target = str(tmp_path / "plain.duckdb")
    ingest([example_logs / "h200-llama8b" / "base.log"], target)
    document = json.loads(report_text(target, vs="baseline", fmt="json"))
    assert document["candidates"] == []
    assert "ingest the log" in document["summary"]


def test_without_a_baseline_it_says_so_and_gives_no_number(tmp_path: Path, example_logs: Path) -> None:
    target = str(tmp_path / "alone.duckdb")
    ingest([example_logs / "h200-llama8b" / "eagle3-s5-a2.1.log"], target)
    document = json.loads(report_text(target, vs="baseline", fmt="json"))
    assert document["candidates"][0]["verdict"] == "no baseline"
    assert document["candidates"][0]["comparisons"] == []
    assert "No baseline" in report_text(target, vs="baseline", fmt="html")


def test_the_index_marks_the_lost_and_the_restored_tuning(store: str, tmp_path: Path) -> None:
    with open_store(store) as opened:
        trends = gather_index(opened, tmp_path).trends
    (chart,) = (one for one in trends if isinstance(one, Chart))
    assert (
        "two steps, the last 29 % (27 to 31 %) faster at baseline-retuned (NCCL_ALGO (unset) → Ring;"
        in chart.title
    )
    assert "steady" not in chart.title


def test_every_number_of_a_level_has_its_interval(store: str) -> None:
    with open_store(store) as opened:
        report = gather(opened, vs="baseline", candidates=["eagle3-5x6-untuned"], command="test")
    (section,) = report.sections
    assert len(section.pairs) > len(section.shown)
    for pair in section.pairs:
        level = pair.main_level
        assert level is not None
        for name in ("tau", "t_spec_ms", "t_base_ms", "tau_star", "margin_tokens", "margin_ms", "speedup"):
            low, value, high = (getattr(level, f"{name}{end}") for end in ("_lo", "", "_hi"))
            assert low < value < high, (pair.baseline.name, name)
    fair = section.fair
    assert fair is not None
    level = fair.main_level
    assert level is not None
    assert level.margin_ms == pytest.approx(4.0, abs=0.05)
    assert (level.margin_ms_lo, level.margin_ms_hi) == pytest.approx((3.90, 4.09), abs=0.02)
    page = render.html(report)
    assert "+4.00<small>3.90 to 4.09</small>" in page
    assert page.count(">+13.4 %<") == 3  # the card, its level, its row among all baselines
    assert ">+13 %<" not in page.replace(f">{numbers.percent(level.naive_speedup)}<", "")
    assert f'href="#ev-{fair.key}-b1">lines, SQL</a>' in page
    assert page.count("Equal (") == len(section.shown)


def test_the_summary_counts_accept_lengths_of_no_real_text(store: str) -> None:
    """A summary that goes into a pull request alone said "two of them win" of random tokens."""
    document = json.loads(report_text(store, vs="baseline", candidates=None, fmt="json"))
    said = "On equal terms two of them win (two have an accept length that real text need not reach)."
    assert document["summary"].endswith(said)
