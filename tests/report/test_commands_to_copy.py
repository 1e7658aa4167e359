"""Commands that a page, a plan or a mend shows are there to be copied: they run, and do what they say."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from speclog.analysis.missing import Launched, Wanted, both, commands
from speclog.errors import UsageError
from speclog.launch import profile as profiles
from speclog.launch import script
from speclog.report import plan, report_text
from speclog.report.gather import gather
from speclog.report.render import lines_command
from speclog.report.sources import on_store
from speclog.resources import directory
from speclog.store import Store, open_store
from speclog.store.target import parse_target
from tests.conftest import ROOT
from tests.report.make import ingest

HOSTILE = {"NCCL_A;touch PWN1;B": "1", "NCCL_B\ntouch PWN2\n": "1", "NCCL_$(touch PWN3)": "1"}
CANDIDATE, BASELINE = "llama8b-eagle3-5x6_tp2.r1", "llama8b-baseline_tp2_nccl-pcie-ll.r1"


def copied(example_logs: Path, folder: Path, name: str, **more: Any) -> None:
    """One log of the shipped tensor-parallel pair, its manifest changed."""
    source = example_logs / "h200-tp2" / f"{name}.log"
    head, rest = source.read_text(encoding="utf-8").split("\n", 1)
    words, told = head.split(" {", 1)
    manifest = json.loads("{" + told)
    manifest["env"] |= more.pop("env", {})
    (folder / f"{name}.log").write_text(f"{words} {json.dumps(manifest | more)}\n{rest}", encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A baseline whose manifest holds variables with names that are shell commands."""
    folder = tmp_path_factory.mktemp("hostile")
    copied(example_logs, folder, CANDIDATE)
    copied(example_logs, folder, BASELINE, env=HOSTILE)
    ingest([folder], str(folder / "s.duckdb"))
    return str(folder / "s.duckdb")


def pasted(text: str, folder: Path) -> set[str]:
    """What lies in an empty folder after a shell was given a text there; speclog itself does nothing."""
    subprocess.run(
        ["bash", "-c", f"speclog() {{ :; }}\n{text}"],
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return {path.name for path in folder.iterdir()}


def test_a_hostile_name_gets_into_no_mend(hostile: str, tmp_path: Path) -> None:
    document = json.loads(report_text(hostile, vs="baseline", fmt="json"))
    (pair,) = document["candidates"][0]["comparisons"]
    mends = {f["name"].removeprefix("env."): f["mend"] for f in pair["factors"] if f["mend"]}
    assert {name for name in mends if "touch" in name} == set(HOSTILE)
    assert mends["NCCL_PROTO"] == "export NCCL_PROTO=LL"
    for name in HOSTILE:
        assert mends[name] == "give both arms the same by hand: no shell can set a variable of this name"
    assert pasted("\n".join(mends.values()), tmp_path) == set()


def test_a_hostile_name_gets_into_no_plan(hostile: str, tmp_path: Path) -> None:
    with open_store(hostile) as store:
        rows = plan.plan(gather(store, vs="baseline", candidates=None, command="x"))
    assert rows
    for row in rows:
        assert pasted(str(row[4]), tmp_path) == set()
        assert "touch" not in str(row[4])


@pytest.mark.parametrize(
    ("mend", "name", "value", "said"),
    [
        ("export {name}={value}", "env.NCCL_PROTO", "LL", "export NCCL_PROTO=LL"),
        ("export {name}={value}", "env.A", "x; touch P", "export A='x; touch P'"),
        ("export {name}={value}", "env.A", "(unset)", "unset A"),
        ("--{flag} {value}", "arg.attention_backend", '"fa3"', "--attention-backend fa3"),
        ("--model-path {value}", "arg.model_path", '"$(touch P)"', "--model-path '$(touch P)'"),
        ("run both arms on torch {value}", "fact.torch", "2.9", "run both arms on torch 2.9"),
        ("the same ({name} = {value})", "fact.workload.seed", "1", "the same (workload.seed = 1)"),
    ],
)
def test_a_mend_says_what_the_baseline_has(mend: str, name: str, value: str, said: str) -> None:
    assert _mend(mend, name, value) == said


@pytest.mark.parametrize("name", ["a;touch P", "a\nb", "$(x)", "`x`", "a b", "é", "1 && x"])
@pytest.mark.parametrize(
    ("mend", "kind"), [("export {name}={value}", "env"), ("--{flag} {value}", "arg"), ("({name})", "fact")]
)
@pytest.mark.parametrize("value", ["1", "(unset)"])
def test_a_name_that_no_shell_knows_is_said_in_words(mend: str, kind: str, name: str, value: str) -> None:
    said = _mend(mend, f"{kind}.{name}", value)
    assert said.startswith("give both arms the same by hand")
    assert name not in said


def _mend(mend: str, name: str, value: str) -> str:
    with duckdb.connect() as bare:
        for macro in ("10_shell_quote", "20_factor_mend"):
            bare.execute((directory("sql") / "macros" / f"{macro}.sql").read_text(encoding="utf-8"))
        return str(bare.execute("SELECT factor_mend(?, ?, ?)", [mend, name, value]).fetchall()[0][0])


TP2 = Launched("llama8b-eagle3-5x6", ("tp2",))


def test_the_missing_run_keeps_the_overlays_and_changes_of_the_run_it_is_like() -> None:
    wanted = [Wanted("env.NCCL_PROTO", "LL", "(unset)"), Wanted("arg.page_size", "16", "1")]
    changed = Launched("llama8b-eagle3-5x6", ("tp2",), ("page_size=1", "mem_fraction_static=0.6"))
    assert commands(wanted[:1], TP2) == [
        "export NCCL_PROTO=LL",
        "speclog launch llama8b-eagle3-5x6 --with tp2",
    ]
    assert commands(wanted, changed) == [
        "export NCCL_PROTO=LL",
        "speclog launch llama8b-eagle3-5x6 --with tp2 --set mem_fraction_static=0.6 --set page_size=16",
    ]


def test_what_the_profile_may_set_is_changed_where_it_is_set() -> None:
    """A profile's variable wins over the shell's: export and unset would do nothing."""
    tuned = Launched("base", ("nccl-pcie-ll",), ("NCCL_ALGO=Ring",))
    wanted = [Wanted("env.NCCL_PROTO", "(unset)", "LL"), Wanted("env.NCCL_ALGO", "Tree", "Ring")]
    assert commands(wanted, tuned) == [
        "speclog launch base --with nccl-pcie-ll --set env.NCCL_PROTO=unset --set env.NCCL_ALGO=Tree"
    ]
    made = profiles.load("kimi-k25-tp8-baseline", ["nccl-pcie-ll"], ["env.NCCL_PROTO=unset"])
    assert "NCCL_PROTO" not in made.env
    assert "NCCL_PROTO" in made.unset_env


def test_without_a_profile_the_last_line_is_a_comment_whatever_the_values_are(tmp_path: Path) -> None:
    wanted = [Wanted("env.A", "$(touch P)\ntouch P", "1"), Wanted("arg.dtype", '"x\\ntouch P\\n"', "1")]
    lines = commands(wanted, None)
    assert lines is not None
    assert lines[-1] == r"# start the server of the candidate again with 'dtype=x\x0atouch P\x0a'"
    assert pasted("\n".join(lines), tmp_path) == set()


@pytest.mark.parametrize(
    "name", ["env.A;touch P", "env.NCCL_*", "env.A\n", "arg.a b", "arg.--x", "fact.driver"]
)
def test_what_no_command_can_set_has_no_command(name: str) -> None:
    assert commands([Wanted(name, "1", "2")], TP2) is None


@pytest.mark.parametrize(
    ("arm", "overlays", "found"),
    [
        (None, (), Launched("p")),
        ("p", (), Launched("p")),
        ("p+tp2", ("tp2",), Launched("p", ("tp2",))),
        ("p+tp2 A=1 b.c=x y", ("tp2",), Launched("p", ("tp2",), ("A=1", "b.c=x y"))),
        ("q+tp2 a=1", ("tp2",), None),
        ("p+tp2 a=1", (), None),
        ("a name", ("tp2",), Launched("p", ("tp2",))),
        ("p+-x", ("-x",), None),
        ("p nonsense a=1", (), None),
    ],
)
def test_how_a_run_was_launched(arm: str | None, overlays: tuple[str, ...], found: Launched | None) -> None:
    assert Launched.of("p", overlays, arm) == found


def test_the_arm_of_a_profile_is_read_back() -> None:
    made = profiles.load("kimi-k25-tp8-baseline+nccl-pcie-ll", (), ["NCCL_ALGO=Tree", "page_size=16"])
    told = Launched.of(made.name, made.overlays, made.arm)
    assert told is not None
    assert profiles.load(told.profile, told.overlays, told.changes) == made


def test_two_arms_are_started_in_turn_where_they_have_the_same_changes() -> None:
    base = Launched("b", ("tp2",))
    assert both(base, TP2, "--repeat", "2") == [
        "speclog launch b+tp2 llama8b-eagle3-5x6+tp2 --repeat 2",
    ]
    assert both(Launched("b", (), ("a=1",)), TP2) == [
        "speclog launch b --set a=1",
        "speclog launch llama8b-eagle3-5x6 --with tp2",
    ]


def _planned(store: Store) -> list[str]:
    return [str(row[4]) for row in plan.plan(gather(store, vs="baseline", candidates=None, command="x"))]


def test_the_missing_run_of_the_shipped_pair_is_the_same_experiment(
    example_logs: Path, tmp_path: Path
) -> None:
    """One candidate of two GPUs, and a tuned baseline: the run that is missing has two GPUs, too."""
    copied(example_logs, tmp_path, CANDIDATE)
    copied(example_logs, tmp_path, BASELINE)
    target = str(tmp_path / "s.duckdb")
    ingest([tmp_path], target)
    with open_store(target) as store:
        (command,) = _planned(store)
    assert command.splitlines()[-1] == f"speclog --store {target} launch llama8b-eagle3-5x6 --with tp2"
    assert command.count("export NCCL_") == 6


def test_a_variable_that_no_shell_can_set_stops_the_script() -> None:
    made = profiles.load("kimi-k25-tp8-baseline", (), ["env.A;touch P=1"])
    with pytest.raises(UsageError, match="no shell can set the variable 'A;touch P'"):
        script.write(made)


def packed(path: Path, tool: str) -> None:
    subprocess.run([tool, "-q", str(path)], check=True, timeout=60)
    path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def page(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with logs, one of them compressed, a store of them, and the commands on its page."""
    folder = tmp_path_factory.mktemp("a place's name")
    story = example_logs / "kimi-k25-story"
    (folder / "logs $HOME").mkdir()
    for name in ("eagle3-5x6-untuned", "baseline-fresh", "baseline-retuned"):
        shutil.copy(story / f"{name}.log", folder / "logs $HOME")
    packed(folder / "logs $HOME" / "baseline-fresh.log", "gzip")
    if shutil.which("zstd"):
        packed(folder / "logs $HOME" / "baseline-retuned.log", "zstd")
    speclog(folder, "--store", "a store.duckdb", "ingest", "logs $HOME")
    speclog(folder, "--store", "a store.duckdb", "report", "--vs", "baseline")
    text = (folder / "reports" / "all-vs-baseline.html").read_text(encoding="utf-8")
    blocks = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.S)
    return folder, [html.unescape(found) for found in blocks]


def speclog(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speclog", *words], cwd=folder, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "head",
    [
        "sed -n ", "zcat -- ", "zstdcat -- ", "speclog --store 'a store.duckdb' whatif ",
        *(f"speclog --store 'a store.duckdb' sql \"SELECT {view} " for view in (
            "* FROM break_even", "* FROM level_line", "* FROM phase",
            "l.run, (p.fit_a_ms + p.fit_c_ms_per_token",
        )),
    ],
)  # fmt: skip
def test_a_shown_command_runs_as_it_stands(page: tuple[Path, list[str]], head: str) -> None:
    folder, shown = page
    if not shutil.which(head.split()[0]) and head.startswith("zstdcat"):
        pytest.skip("zstd is not here")
    found = next(text for text in shown if text.startswith(head))
    lines = f'speclog() {{ {shlex.quote(sys.executable)} -m speclog "$@"; }}\n{found}'
    done = subprocess.run(
        ["bash", "-c", lines], cwd=folder, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": str(ROOT), "SPECLOG_STORE": "elsewhere.duckdb"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") or head.endswith("whatif "), done.stderr
    assert done.returncode == 0
    assert done.stdout.strip()
    if "sed -n" in found:
        first, last = re.findall(r"(\d+),(\d+)p", found)[0]
        assert len(done.stdout.splitlines()) == int(last) - int(first) + 1
        assert "Decode batch" in done.stdout


@pytest.mark.parametrize(
    ("where", "source", "said"),
    [
        ("a.log:1-2", "x/a.log", "sed -n '1,2p' x/a.log"),
        ("a.log:7", "a.log", "sed -n '7,7p' a.log"),
        ("a;b.log:1-2", "x y/a;b.log", "sed -n '1,2p' 'x y/a;b.log'"),
        ("-n:1-2", "-n", "sed -n '1,2p' ./-n"),
        ("a.log.gz:1-2", "a.log.gz", "zcat -- a.log.gz | sed -n '1,2p'"),
        ("a.zst:1-2", "'a.zst", "zstdcat -- ''\"'\"'a.zst' | sed -n '1,2p'"),
        ("stdin:1-2", "-", ""),
        (None, "a.log", ""),
        ("a.log:1-2;touch P", "a.log", ""),
    ],
)
def test_the_lines_of_a_level_as_a_command(where: str | None, source: str, said: str) -> None:
    assert lines_command(where, source) == said


def test_no_password_reaches_a_page() -> None:
    """Commands name the store, and no store is opened whose name holds a password."""
    for text in ("ducklake:postgres:dbname=x password=hunter2", "ducklake:postgres://me:hunter2@host/x"):
        with pytest.raises(UsageError) as raised:
            parse_target(text)
        assert "hunter2" not in str(raised.value)
    command = on_store("speclog sql x", "ducklake:postgres:dbname=x host=y")
    assert command == "speclog --store 'ducklake:postgres:dbname=x host=y' sql x"
