"""The same session gives the same rows however its lines were shipped."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sglang_lines import ARGS, decode, prefill, start

from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.ingest.sources import BLOCK, LONGEST_LINE
from speclog.ingest.tail import whole_lines
from speclog.store import open_store

Ingest = Callable[..., list[IngestSummary]]
LINES = [start(), prefill(1), decode(2), decode(3, tok_s=250.5), prefill(4), decode(5, req=2)]
PLAIN = "\n".join(LINES) + "\n"
WINDOWS = "SELECT line_no, ts, running_req, token, gen_tok_s, graph, prefills_since FROM raw_decode_window ORDER BY 1"  # noqa: E501


def wrapped(before: str, after: str = "") -> str:
    return "".join(f"{before}{line}{after}\n" for line in LINES)


SHIPPED = {
    "crlf": PLAIN.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "colours": wrapped("\x1b[32m", "\x1b[0m").encode(),
    "docker compose": wrapped("sglang-1  | ").encode(),
    "docker logs -t": wrapped("2026-01-29T00:16:05.123456789Z ").encode(),
    "kubernetes": wrapped("2026-01-29T00:16:05.123456789Z stderr F ").encode(),
    "journald": wrapped("Jan 29 01:16:05 node0 sglang[4242]: ").encode(),
    "journald around docker": wrapped("Jan 29 01:16:05 node0 dockerd[42]: sglang-1  | ").encode(),
    "ray": wrapped("(SGLangEngine pid=35555, ip=10.0.0.1) ").encode(),
    "ray, repeated": wrapped("\x1b[36m(SGLangEngine pid=35555)\x1b[0m ", "\x1b[32m [repeated 3x across cluster] (Ray deduplicates logs by default.)\x1b[0m").encode(),  # noqa: E501
    "ray, escapes lost": wrapped("[36m(SGLangEngine pid=35555)[0m ", "[32m [repeated 3x across cluster][0m").encode(),  # noqa: E501
    "ray, escapes spelled out": wrapped("^[[1;36m(SGLangEngine pid=35555)^[[0m ", "^[[32m [repeated 3x across cluster]^[[0m").encode(),  # noqa: E501
    "docker json": "".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) + "\n" for line in LINES).encode(),  # noqa: E501
    "notebook": "".join(f'      {json.dumps(line + chr(10))},\n' for line in LINES).encode(),
    "invalid utf-8": PLAIN.encode().replace(b"\n", b"\nbroken \xff\xfe bytes\n", 1),
    "nul": PLAIN.replace("\n", "\n\0\0\n", 1).encode(),
    "nul before lines": b"\0" * 5000 + PLAIN.replace("[2026-01-29 01:16:03]", "\0" * 9 + "[2026-01-29 01:16:03]").encode(),  # noqa: E501
    "nul behind a line": PLAIN.replace("\n[2026-01-29 01:16:03]", "\0" * 9 + "[2026-01-29 01:16:03]").encode(),  # noqa: E501
    "nul in compose": wrapped("\0\0sglang-1  | ").encode(),
    "behind a progress bar": PLAIN.replace(
        "[2026-01-29 01:16:02]", "Capturing batches:  50%|████▌     | 4/8 [00:05<00:36,  5.16s/it][2026-01-29 01:16:02]"  # noqa: E501
    ).encode(),
    "behind carriage returns": PLAIN.replace(
        "[2026-01-29 01:16:02]", "  0%|          | 0/8 [00:00<?, ?it/s]\r 12%|█▎        | 1/8 [00:05<00:36,  5.16s/it]\r[2026-01-29 01:16:02]"  # noqa: E501
    ).encode(),
    "long line": PLAIN.replace("\n", "\n" + "x" * 10_000_000 + "\n", 1).encode(),
    "no final newline": PLAIN.rstrip("\n").encode(),
}  # fmt: skip


@pytest.mark.parametrize("how", SHIPPED)
def test_shipped_log_gives_the_same_rows(
    how: str, ingest: Ingest, rows: Callable[..., list[tuple[object, ...]]]
) -> None:
    summary = ingest(SHIPPED[how])[0]
    assert (summary.status, summary.windows, summary.prefills) == ("ingested", 3, 2)
    found = rows(WINDOWS)
    more = b"".join(b"unknown line %d\n" % n for n in range(9000))  # cleaned as columns
    again = ingest(SHIPPED[how].rstrip(b"\n") + b"\n" + more, "more.log")[0]
    assert (again.run_id, again.windows, again.prefills) == (summary.run_id, 3, 2)
    assert [row[2:] for row in found] == [
        (1, 200, 100.0, True, 1),
        (1, 200, 250.5, True, 0),
        (2, 200, 100.0, True, 1),
    ]
    assert [str(row[1]) for row in found] == [f"2026-01-29 01:16:0{s}" for s in (2, 3, 5)]
    assert rows("SELECT count(*) FROM server_arg") == [(4,)]


@pytest.mark.parametrize(
    "how",
    [
        "crlf",
        "byte order mark",
        "colours",
        "docker compose",
        "ray",
        "ray, repeated",
        "journald around docker",
    ],
)
def test_the_same_log_through_a_wrapper_changes_nothing(how: str, ingest: Ingest) -> None:
    first = ingest(PLAIN, "plain.log")[0]
    again = ingest(SHIPPED[how], "shipped.log")[0]
    assert again.run_id == first.run_id
    assert again.status == "unchanged"


def test_compressed(ingest: Ingest, tmp_path: object) -> None:
    first = ingest(PLAIN)[0]
    assert ingest(gzip.compress(PLAIN.encode()), "b.log.gz")[0].status == "unchanged"
    assert first.windows == 3


@pytest.mark.parametrize("size", [40, 97, 16384])
def test_server_args_cut_by_a_log_driver(
    size: int, ingest: Ingest, rows: Callable[..., list[tuple[object, ...]]]
) -> None:
    long = ARGS.replace(
        "model_path='m'", "model_path='m', stop=[" + ", ".join(f"'token {i}'" for i in range(40)) + "]"
    )
    line = start(args=long)
    cut = "\n".join(f"sglang-1  | {line[i : i + size]}" for i in range(0, len(line), size))
    summary = ingest(cut + "\n" + "".join(f"sglang-1  | {text}\n" for text in LINES[1:]))[0]
    assert summary.windows == 3
    assert rows("SELECT value FROM server_arg WHERE name = 'speculative_algorithm'") == [("null",)]
    whole = ingest(line + "\n" + "\n".join(LINES[1:]) + "\n", "whole.log")[0]
    assert whole.run_id == summary.run_id


@pytest.mark.parametrize("before", [b"", PLAIN.encode()[: PLAIN.index("[2026-01-29 01:16:03]")]])
def test_a_gap_of_nuls_longer_than_any_line(
    before: bytes, tmp_path: Path, store: str, rows: Callable[..., list[tuple[object, ...]]]
) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.write(before)
        file.seek(LONGEST_LINE + 3 * BLOCK, 1)
        file.write(PLAIN.encode()[len(before) :])
    (found,) = ingest_paths([path], store_target=store)
    assert (found.windows, found.prefills) == (3, 2)
    assert rows("SELECT line_no FROM raw_decode_window ORDER BY 1") == [(3,), (4,), (6,)]
    followed = b"".join(whole_lines(str(path), stop=lambda: True, poll_s=0))
    assert followed.replace(b"\0", b"") == PLAIN.encode()
    assert len(followed) < BLOCK * 8


@pytest.mark.parametrize("gap", [9, 3 * BLOCK])
def test_two_servers_behind_a_gap_of_nuls(gap: int, tmp_path: Path, store: str) -> None:
    other = wrapped("b-1  | ").replace("model_path='m'", "model_path='n'")
    lines = [
        line
        for pair in zip(wrapped("a-1  | ").splitlines(), other.splitlines(), strict=True)
        for line in pair
    ]
    path = tmp_path / "two.log"
    path.write_bytes(bytes(gap) + "\n".join(lines).encode())
    found = ingest_paths([path], store_target=store)
    assert [(s.windows, s.prefills) for s in found] == [(3, 2)] * 2
    with open_store(store) as opened:
        assert opened.rows("SELECT DISTINCT model FROM run ORDER BY 1") == [("m",), ("n",)]


@pytest.mark.parametrize("size", [5 * BLOCK, 200 << 20])
def test_nothing_but_nuls_is_no_log(size: int, tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.truncate(size)
    (found,) = ingest_paths([path], store_target=store)
    assert (found.status, found.detail) == ("unusable", "binary file, not a log")
