"""Bytes to lines: both ways of splitting agree, and nothing that looks like a line's end to others is one."""

import shutil
import subprocess
from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest import lines, sources
from speclog.ingest.api import ingest_paths
from speclog.ingest.batches import parse_chunk

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


@pytest.mark.parametrize("name", CORPUS)
def test_both_ways_of_splitting_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = CORPUS[name].encode()
    assert lines.fast_lines(data).rows() == lines.plain_lines(data).rows()
    fast = parse_chunk(data)
    monkeypatch.setattr(lines, "fast_lines", lines.plain_lines)
    plain = parse_chunk(data)
    assert fast.kept.equals(plain.kept)
    assert fast.count == plain.count
    assert {t: f.rows() for t, f in fast.typed.items()} == {t: f.rows() for t, f in plain.typed.items()}


def test_broken_bytes_change_no_other_line() -> None:
    good = CORPUS["plain"].encode()
    broken = good.replace(b"\n", b"\n\xff\xfe\xc3\n", 1)
    found = parse_chunk(broken)
    assert found.replaced
    assert [n for n, _ in found.kept.iter_rows()] == [0, 1, 2, 3]
    assert found.typed["decode_window"]["line_no"].to_list() == [3]


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 1 << 20])
def test_chunks_are_whole_lines_and_lose_nothing(size: int, tmp_path: Path) -> None:
    data = (CORPUS["plain"] * 5 + CORPUS["cut"]).encode()
    path = tmp_path / "a.log"
    path.write_bytes(data)
    with sources.open_bytes(str(path)) as stream:
        found = list(sources.chunks(stream, size))
    assert b"".join(found) == data
    assert all(chunk.endswith(b"\n") for chunk in found[:-1])


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
    found = parse_chunk(CORPUS["bars"].encode())
    assert found.kept["text"].to_list() == [decode(2), "", decode(3)]
    assert found.count == 3
