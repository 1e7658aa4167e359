"""Bytes to lines: reading blocks gives what reading line by line does, and only a newline ends a line."""

import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sglang_lines import decode, prefill, start

from speclog.formats.block import PAD
from speclog.formats.columns import engine_row, kind_in
from speclog.formats.engine import recognise
from speclog.formats.prefix import split_prefix
from speclog.formats.spec import load_kinds
from speclog.formats.wraps import load_wraps
from speclog.ingest import sources
from speclog.ingest.api import ingest_paths
from speclog.ingest.batches import ChunkParser, Parsed
from speclog.ingest.cleaning import cleaned, cleaned_columns
from speclog.ingest.lines import Sieve

CORPUS = {
    "plain": "\n".join([start(), prefill(1), decode(2)]) + "\n",
    "no final newline": "\n".join([start(), decode(2)]),
    "crlf": "\r\n".join([start(), decode(2), ""]),
    "bars": f"  0%|   | 0/8\r 12%|█  | 1/8\r{decode(2)}\n\n{decode(3)}\n",
    "odd separators": f"a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n{decode(2)}\n\0\n\n\n",
    "empty": "",
    "one newline": "\n",
    "cut": start() + "\n" + decode(2)[:70],
}


def read(data: bytes, size: int = 1 << 20) -> Parsed:
    buffers = sources.blocks(io.BytesIO(data), sources.Pool(size))
    return ChunkParser().parse(buffers)


def kept(parsed: Parsed) -> list[tuple[int, str]]:
    return [(int(block.numbers[i]), block.text(i)) for block in parsed.kept for i in range(block.height)]


def line_by_line(data: bytes) -> tuple[list[tuple[int, str]], dict[str, list[dict[str, object]]]]:
    """The same by the plainest means: decode, split, clean, ask the engine."""
    text = data.decode("utf-8", "replace").removesuffix("\n")
    lines = [(no, line) for no, raw in enumerate(text.split("\n") if data else []) for line in cleaned(raw)]
    lines = [(no, line) for no, line in lines if ' HTTP/1.1" 2' not in line[-64:]]
    typed: dict[str, list[dict[str, object]]] = {}
    for no, line in lines:
        kind = kind_in(line)
        row = None if kind is None else engine_row(no, line, kind)
        if kind is not None and row is not None:
            typed.setdefault(kind.table, []).append(row)
    return lines, typed


def rows_of(parsed: Parsed) -> dict[str, list[dict[str, object]]]:
    return {
        table: [{k: v for k, v in row.items() if v is not None} for row in frame.iter_rows(named=True)]
        for table, frame in parsed.typed.items()
    }


def plain(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


def check_same(data: bytes, size: int = 1 << 20) -> Parsed:
    found = read(data, size)
    lines, typed = line_by_line(data)
    assert kept(found) == lines
    assert rows_of(found) == {table: plain(rows) for table, rows in typed.items()}
    batches = {row["line_no"] for rows in typed.values() for row in rows}
    assert [line for line in lines if line[0] not in batches] == [
        line for line in found.others.whole() if line[0] not in batches
    ]
    assert found.count == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert found.size == len(data)
    return found


@pytest.mark.parametrize("size", [256, 1 << 20])
@pytest.mark.parametrize("name", CORPUS)
def test_blocks_equal_line_by_line(name: str, size: int) -> None:
    check_same(CORPUS[name].encode(), size)


def test_every_shared_log_equals_line_by_line(shared: Path) -> None:
    paths = [p for p in sorted((shared / "logs").rglob("*")) if p.suffix in {".log", ".txt"}]
    for path in paths:
        data = path.read_bytes()
        check_same(data)
        check_same(data.replace(b"\n", b"\r\n"), 50_000)
    assert len(paths) > 40


PIECES = st.sampled_from(
    [
        *(decode(n) for n in range(3)), prefill(3), start(), "", " ", "a line", "\r", "\r\r", "\x1b[32m",
        "\x1b[0m", "\0", "[20", "[2026-01-29 01:16:05", " TP0] ", "] ", ", ", "Decode batch", "#queue-req: 0",
        '[2026-01-29 01:16:05] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK', "nan", ".5", "1e3",
        ' HTTP/1.1" 204 No Content', "  0%|   | 0/8", "sglang-1  | ", "2026-08-01T23:43:46.1Z stderr F ", "é",
        "99999999999", "x" * 40, "\ufeff",
    ]
)  # fmt: skip
EDITS = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from(["", "0", "9", ".", ",", " ", "x", "-"])), max_size=2
)


@st.composite
def log_bytes(draw: st.DrawFn) -> bytes:
    lines = []
    for _ in range(draw(st.integers(0, 12))):
        line = "".join(draw(st.lists(PIECES, min_size=1, max_size=3)))
        for place, text in draw(EDITS):
            line = line[:place] + text + line[place + 1 :]
        lines.append(line)
    data = "\n".join(lines).encode() + draw(st.sampled_from([b"", b"\n", b"\xff\xc3\n"]))
    return data.replace(b"\n", b"\r\n") if draw(st.booleans()) else data


@settings(max_examples=150, deadline=None)
@given(log_bytes(), st.sampled_from([64, 700, 1 << 20]))
def test_any_bytes_equal_line_by_line(data: bytes, size: int) -> None:
    check_same(data, size)


NUMBERS = st.one_of(
    st.integers(0, 10**9).map(str),
    st.floats(0, 1e9).map(lambda x: f"{x:.2f}"),
    st.sampled_from(
        ["0", "00", "0.00", "12345678", "123456789", "99999.99", "999999.99", "1234567.12", "1.", ".1"]
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["True", "False", "true"])), min_size=1, max_size=20)
)
def test_any_numbers_equal_line_by_line(values: list[tuple[str, str, str]]) -> None:
    lines = [
        f"[2026-01-29 01:16:{n:02d} TP0] Decode batch, #running-req: 1, #token: {a}, token usage: {b}, "
        f"cuda graph: {graph}, gen throughput (token/s): {b}, #queue-req: 0, "
        for n, (a, b, graph) in enumerate([("5", "1.50", "True"), *values])
    ]
    check_same("\n".join(lines).encode())


def test_few_and_many_odd_lines_are_cleaned_alike(shared: Path) -> None:
    lines = [*CORPUS.values(), *(wrap.sample for wrap in load_wraps())]
    for path in sorted((shared / "logs").rglob("*.log")):
        lines += path.read_bytes().decode("utf-8", "replace").split("\n")
    odd = [line for line in lines if not line.startswith("[20") and "\n" not in line]
    one_by_one = [(n, line) for n, raw in enumerate(odd) for line in cleaned(raw)]
    assert list(cleaned_columns(np.arange(len(odd)), odd).iter_rows()) == one_by_one
    assert len(odd) > 3500


SAMPLES = [sample.line for kind in load_kinds() for sample in kind.samples]
UNKNOWN = [
    f"{head} number {n}" for n in range(1500) for head in ("x", "[2026-01-29 01:16:05 TP0] y", "z", "w")
]


@pytest.mark.parametrize(
    "some", [[], SAMPLES, [*CORPUS["bars"].splitlines(), 'GET / HTTP/1.1" 200 OK', "\ufffd?"]]
)
def test_many_new_lines_are_read_as_each_alone(some: list[str]) -> None:
    data = "\n".join([*UNKNOWN, *some, *(wrap.sample for wrap in load_wraps() if some)]).encode()
    parsed = read(data.replace("\ufffd".encode(), b"\xff"))
    lines, _ = line_by_line(data)
    assert kept(parsed) == lines
    texts = dict(lines)
    others = parsed.others
    assert others.height >= len(UNKNOWN)
    for place, (number, line) in enumerate(others.whole()):
        found = others.said[others.codes[place]].text.found
        assert (found and found.kind) == recognise(split_prefix(line)[1]), line
        assert line == texts[number]


def test_broken_bytes_change_no_other_line() -> None:
    good = CORPUS["plain"].encode()
    found = check_same(good.replace(b"\n", b"\n\xff\xfe\xc3\n", 1))
    assert [n for n, _ in kept(found)] == [0, 1, 2, 3]
    assert found.typed["decode_window"]["line_no"].to_list() == [3]


@pytest.mark.parametrize("behind", [b"\0", b"\n", b"7"])
def test_a_last_line_without_its_newline_is_kept_whole(behind: bytes) -> None:
    """Noise was dropped before it, and a buffer that is used again has old bytes behind what was read."""
    access = '[2026-01-28 22:11:32] INFO:     127.0.0.1:80 - "POST /generate HTTP/1.1" 200 OK\n'
    text = (access * 3 + decode(1) + "\n" + access + decode(2)).encode()
    sifted = Sieve().sift(bytearray(text + behind + bytes(PAD)), len(text))
    assert sifted.data == f"{decode(1)}\n{decode(2)}\n".encode()
    assert sifted.numbers.tolist() == [3, 5]


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 1 << 20])
def test_blocks_are_whole_lines_and_lose_nothing(size: int, tmp_path: Path) -> None:
    data = (CORPUS["plain"] * 5 + CORPUS["cut"]).encode()
    path = tmp_path / "a.log"
    path.write_bytes(data)
    with sources.open_bytes(str(path)) as stream:
        found = [bytes(b[:n]) for b, n in sources.blocks(stream, sources.Pool(size))]
    assert b"".join(found) == data
    assert all(block.endswith(b"\n") for block in found[:-1])


def test_zstandard(tmp_path: Path, store: str) -> None:
    zstd = shutil.which("zstd")
    if zstd is None:
        pytest.skip("no zstd program here")
    path = tmp_path / "a.log"
    path.write_text(CORPUS["plain"] * 30)
    subprocess.run([zstd, "-q", str(path)], check=True)
    path.unlink()
    found = ingest_paths([tmp_path], store_target=store)
    assert [(s.status, s.windows) for s in found] == [("ingested", 1)]
    (tmp_path / "cut.log.zst").write_bytes((tmp_path / "a.log.zst").read_bytes()[:-9])
    assert [s.status for s in ingest_paths([tmp_path / "cut.log.zst"], store_target=store)] == ["unusable"]


def test_progress_bars_are_counted_not_kept() -> None:
    found = read(CORPUS["bars"].encode())
    assert [text for _, text in kept(found)] == [decode(2), "", decode(3)]
    assert found.count == 3
