"""Several servers in one file, whose lines name their source: a run each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sglang_lines import ARGS, decode, prefill, start

from speclog.errors import InputError
from speclog.formats.wraps import names_of
from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.ingest.follow import follow_log

Ingest = Callable[..., list[IngestSummary]]
Rows = Callable[..., list[tuple[Any, ...]]]

BASE = [start(), prefill(1), *(decode(2 + i, tok_s=100 + i) for i in range(5))]
EAGLE = [
    start(0, ARGS.replace("=None", "='EAGLE3'")),
    prefill(1),
    *(
        decode(2 + i, tok_s=200 + i).replace("cuda graph", "accept len: 2.13, accept rate: 0.50, cuda graph")
        for i in range(5)
    ),
]
NAMES = {
    "docker compose": "{}-1  | ",
    "kubectl logs --prefix": "[pod/{}-0/server] ",
    "stern": "{}-0 server ",
    "journald": "Jan 29 01:16:05 node0 {}[20426]: ",
    "journald around compose": "Jan 29 01:16:05 node0 dockerd[2042]: {}-1  | ",
    "compose, coloured": "\x1b[36m{}-1  | \x1b[0m",
    "a byte order mark": "\ufeff{}-1  | ",
}


def composed(before: str) -> str:
    """Two servers in turns, and a client that is none."""
    sources = zip(BASE, EAGLE, strict=True)
    lines = [(name, line) for pair in sources for name, line in zip(("base", "eagle"), pair, strict=True)]
    lines.insert(3, ("client", "[2026-01-29 01:16:02] warming up"))
    return "".join(f"{before.format(name)}{line}\n" for name, line in lines)


@pytest.mark.parametrize("how", NAMES)
def test_each_source_is_a_run(ingest: Ingest, rows: Rows, how: str) -> None:
    found = ingest(composed(NAMES[how]), "both.log")
    assert [(s.status, s.windows, s.prefills) for s in found] == [("ingested", 5, 1)] * 2
    windows = rows("SELECT tau, gen_tok_s FROM decode_window ORDER BY gen_tok_s")
    assert windows == [(1.0, 100.0 + i) for i in range(5)] + [(2.13, 200.0 + i) for i in range(5)]
    assert rows("SELECT line_no FROM decode_window WHERE gen_tok_s = 204") == [(15,)]
    assert rows("SELECT count(DISTINCT run_id), bool_and(speculative = (name LIKE '%eagle%')) FROM run") == [
        (2, True)
    ]
    assert [s.status for s in ingest(composed(NAMES[how]), "both.log")] == ["unchanged"] * 2


def test_runs_are_named_after_file_and_source(ingest: Ingest, rows: Rows) -> None:
    ingest(composed(NAMES["docker compose"]), "both.log")
    assert rows("SELECT name FROM run ORDER BY 1") == [("both.base-1",), ("both.eagle-1",)]


def test_the_same_server_alone_is_the_same_run(ingest: Ingest, rows: Rows) -> None:
    ingest(composed(NAMES["docker compose"]), "both.log")
    assert [s.status for s in ingest("\n".join(BASE) + "\n", "base.log")] == ["unchanged"]
    assert rows("SELECT count(*) FROM decode_window") == [(10,)]


def test_a_second_name_far_below_and_lines_without_one(
    ingest: Ingest, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speclog.ingest.write.FLUSH_BYTES", 1)
    monkeypatch.setattr("speclog.ingest.parallel.STRETCH", 1)
    monkeypatch.setattr("speclog.ingest.parallel.BLOCK", 1 << 12)
    first = "".join(f"base-1  | {line}\n" for line in [start(), *(decode(5 + i % 50) for i in range(500))])
    third = "".join(f"more-1  | {line}\n" for line in [start(9), decode(10), decode(11)])
    bare = "\n".join([start(20), decode(21), decode(22), decode(23)]) + "\n"
    found = ingest(first + "".join(f"eagle-1  | {line}\n" for line in EAGLE) + third + bare, "all.log")
    assert {(s.run, s.windows) for s in found} == {
        ("all.base-1", 500), ("all.eagle-1", 5), ("all.more-1", 2), ("all", 3),
    }  # fmt: skip
    assert rows("SELECT count(*) FROM decode_window") == [(510,)]


def test_follow_and_group_say_that_there_are_several(tmp_path: Path, store: str) -> None:
    log = tmp_path / "both.log"
    log.write_text(composed(NAMES["docker compose"]))
    with pytest.raises(InputError, match=r"several servers \(base-1, eagle-1\)"):
        follow_log(str(log), store_target=store, stop=lambda: True)
    other = tmp_path / "other.log"
    other.write_text(decode(1) + "\n")
    found = ingest_paths([log, other], store_target=store, group=True)
    assert {s.status for s in found} == {"unusable"}


def test_names_of_lines() -> None:
    line = decode(1)
    assert names_of(line) == ("", "")
    assert names_of("2026-08-01T23:43:46.123Z stderr F " + line) == ("", "")
    assert names_of("3: " + line) == ("", "")
    assert names_of("base-1  | 2026-08-01T23:43:46.123Z " + line) == ("base-1", "")


def actors(*of_each: tuple[int, list[str]]) -> str:
    """Lines of Ray actors, by process, in turns."""
    turns = zip(*(lines for _, lines in of_each), strict=True)
    pids = [pid for pid, _ in of_each]
    return "".join(
        f"\x1b[36m(SGLangEngine pid={pid}, ip=10.20.0.11)\x1b[0m {line}\n"
        for turn in turns
        for pid, line in zip(pids, turn, strict=True)
    )


@pytest.mark.parametrize("lines_cut", [0, 1, 2])
def test_two_actors_that_print_the_same_rank_are_two_servers(
    ingest: Ingest, rows: Rows, lines_cut: int
) -> None:
    other = [start(0, ARGS.replace("='m'", "='m', port=3")), prefill(1, new=65)]
    other += [line.replace("(token/s): 10", "(token/s): 20") for line in BASE[2:]]
    text = actors((111, BASE[lines_cut:]), (222, other[lines_cut:]))
    found = ingest(text, "ray.log")
    assert [(s.status, s.windows) for s in found if s.windows] == [("ingested", 5)] * 2
    assert rows("SELECT run, count(*), min(gen_tok_s) FROM decode_window GROUP BY 1 ORDER BY 1") == [
        ("ray.SGLangEngine-pid-111-ip-10.20.0.11", 5, 100),
        ("ray.SGLangEngine-pid-222-ip-10.20.0.11", 5, 200),
    ]
    assert [s.status for s in ingest(text, "ray.log")] == ["unchanged"] * 2


def test_ranks_of_one_server_may_print_in_actors_of_their_own(ingest: Ingest, rows: Rows) -> None:
    first = [decode(2 + i, rank=" DP0", tok_s=100 + i) for i in range(5)]
    second = [decode(2 + i, rank=" DP1", tok_s=200 + i) for i in range(5)]
    nodes = actors((111, [start(0), *first]), (222, [start(0), *second]))
    ingest(nodes, "nodes.log")
    assert rows("SELECT count(DISTINCT run_id), count(*) FROM decode_window") == [(1, 10)]


def test_actors_of_a_server_that_was_started_again_are_one_server(ingest: Ingest, rows: Rows) -> None:
    lives = [start(0) + "\n" + actors((111, BASE[1:])), start(30) + "\n" + actors((222, BASE[1:]))]
    ingest("".join(lives), "lives.log")
    assert rows("SELECT count(*) FROM run WHERE windows = 5 AND server_args_line IS NOT NULL") == [(2,)]
