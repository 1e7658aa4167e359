"""Published tables: what cannot be is marked impossible, through the command a user calls."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from speclog.analysis.published import judge
from speclog.cli import cli
from speclog.errors import CheckFailed, InputError
from speclog.formats.published import read

NESTED = {
    "model-a": {
        "gsm8k": {
            "results": [
                {
                    "batch_size": 8, "steps": 3, "topk": 1, "num_draft_tokens": 4,
                    "metrics": [
                        {"Name": "without", "output_throughput": 100.0, "accept_length": 1.0},
                        {"Name": "draft <b>|", "output_throughput": 310.0, "accept_length": 3.0},
                        {"Name": "possible", "output_throughput": 300.0, "accept_length": 3.0},
                        {"Name": "no number", "accept_length": 2.0, "output_throughput": None},
                    ],
                },
                {"batch_size": 4, "metrics": [{"Name": "alone", "output_throughput": 5, "accept_length": 2}]},
            ]
        }
    }
}  # fmt: skip


def run(*words: str) -> tuple[str, str, BaseException | None]:
    done = CliRunner().invoke(cli, ["check", *words])
    return done.stdout, done.stderr, done.exception


def test_the_impossible_row_is_marked_with_its_reason_and_place(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(NESTED))
    out, said, error = run("--published", str(path), "--json")
    assert isinstance(error, CheckFailed)
    first, second = json.loads(out)
    assert first["verdict"] == "unfair"
    assert first["failed"] == ["unfair"]
    assert first["reasons"] == [
        "impossible: 3.10x faster at batch size 8 with accept length 3.00, 3.3 % beyond it; a speculative "
        "round cannot be shorter than a plain step"
    ]
    assert first["published"]["where"] == "t.json:/model-a/gsm8k/results/0/metrics/1"
    assert first["published"]["baseline_where"] == "t.json:/model-a/gsm8k/results/0/metrics/0"
    assert (first["published"]["steps"], first["published"]["batch_size"]) == (3, 8)
    assert second["verdict"] == "unproven"
    assert second["published"]["tau_star"] == pytest.approx(1.0)
    assert "2 rows have no baseline" in said


def test_every_format_and_fail_on(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(NESTED))
    out, _, error = run("--published", str(path), "--format", "junit", "--fail-on", "unproven")
    assert isinstance(error, CheckFailed)
    suite = ElementTree.fromstring(out.encode())[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    out, _, _ = run("--published", str(path), "--format", "markdown")
    assert "draft \\<b\\>\\|" in out
    _, _, error = run("--published", str(path), "--fail-on", "regression")
    assert error is None


def test_specforge_rows_faster_than_their_accept_length(shared: Path) -> None:
    """25 of its 440 speculative rows, counted from the file itself."""
    path = shared / "logs/public/59-specforge-specbundle-raw-baseline-vs-eagle3.json"
    wanted = set()
    for model, benchmarks in json.loads(path.read_text()).items():
        for benchmark, found in benchmarks.items():
            for place, result in enumerate(found["results"]):
                plain, *rest = result["metrics"]
                assert plain["accept_length"] == 1.0
                for number, row in enumerate(rest, 1):
                    if row["output_throughput"] / plain["output_throughput"] > row["accept_length"]:
                        wanted.add(f"{path.name}:/{model}/{benchmark}/results/{place}/metrics/{number}")
    out, said, error = run("--published", str(path), "--json")
    rows = json.loads(out)
    assert isinstance(error, CheckFailed)
    assert len(rows) == 440
    assert {row["candidate"] for row in rows if row["verdict"] == "unfair"} == wanted
    assert len(wanted) == 25
    assert all(row["reasons"][0].startswith("impossible: ") for row in rows if row["verdict"] == "unfair")
    assert "no baseline" not in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.csv",
            "Method,Batch Size,Acceptance Length,Throughput,Baseline\nm,1,2.0,500,200\nn,1,2.0,300,200\n",
        ),
        ("a.csv", "\ufeffmethod,bs,tau,speed-up\nm,1,2.0,2.5\nn,1,2,1.5\n"),
        ("a.jsonl", '{"accept_len": 2, "speedup": 2.5}\n\n{"accept_len": 2, "speedup": 1.5}\n'),
    ],
)
def test_flat_tables(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    claims, left_out = read(path)
    assert [claim.speedup for claim in claims] == [2.5, 1.5]
    assert left_out == 0
    assert [judge(claim.accept_length, claim.speedup).verdict for claim in claims] == ["unfair", "unproven"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.json", b"{", "neither JSON"),
        ("a.json", b"\xff\xfe\x00", "neither JSON"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.json", b'{"x": [1, 2, {"accept_length": "nan", "speedup": 3}]}', "no row with"),
        ("a.csv", b"a,b\n1,2\n", "no row with"),
        ("a.jsonl", b"{}\nnope\n", "neither JSON"),
        ("missing.json", None, "cannot be read"),
    ],
)
def test_what_is_no_table_is_one_line(tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read(path)


@given(st.floats(1, 20), st.floats(0.01, 20))
def test_a_row_is_impossible_exactly_above_its_accept_length(tau: float, speedup: float) -> None:
    found = judge(tau, speedup)
    assert (found.verdict == "unfair") == (speedup > tau)
    assert found.tau_star == pytest.approx(tau / speedup)


def test_an_accept_length_beyond_the_draft_steps_is_impossible(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "bs,steps,tau,speedup\n1,3,4.2,1.4\n1,3,4.0,1.4\n1,,9.0,1.4\n1,0,4.2,1.4\n", encoding="utf-8"
    )
    stdout, _, _ = run("--published", str(path), "--json")
    rows = json.loads(stdout)
    assert [row["verdict"] for row in rows] == ["unfair", "unproven", "unproven", "unproven"]
    assert rows[0]["reasons"] == [
        "impossible: accept length 4.20 at batch size 1; 3 draft steps give 4 tokens at most"
    ]
