"""A long file is read in stretches by place: every byte once; lines met before are known by every byte."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from sglang_lines import decode, start

from speclog.formats.block import padded
from speclog.formats.known import MOST, Keys, Memory, Shelf
from speclog.ingest import parallel
from speclog.ingest.api import ingest_paths
from speclog.ingest.batches import ChunkParser
from speclog.ingest.lines import blank_lines_at_end
from speclog.ingest.reader import LogReader
from speclog.ingest.sources import Pool
from speclog.ingest.stretch import FileStretches
from speclog.store import open_store


def log(lines: int = 3000) -> bytes:
    r = random.Random(5)
    some = [start(), *(decode(n % 60) for n in range(lines))]
    for place in r.sample(range(1, lines), lines // 15):
        some[place] = r.choice(["", "\n" * 100, "\r\n" * 70, "x\n" * 300, "y" * 9000, "  0%|   | 0/8\r"])
    return "\n".join(some).encode()


@pytest.mark.parametrize("size", [1, 100, 5000, 70_000, 1 << 22])
@pytest.mark.parametrize("ending", [b"", b"\n", b"\n" * 200])
def test_stretches_of_a_file_are_its_lines_in_order(size: int, ending: bytes, tmp_path: Path) -> None:
    data = log(100 if size < 100 else 3000) + ending
    path = tmp_path / "a.log"
    path.write_bytes(data)
    found: dict[int, bytes] = {}
    with path.open("rb", buffering=0) as file:
        source = FileStretches(file, Pool(4096), lambda _: size)
        stretch = source.take()
        while stretch is not None:
            blanks = blank_lines_at_end(bytearray(data[: stretch.start]), stretch.start, 0)
            assert stretch.blanks == blanks
            taken = b""
            for place, (buffer, n) in enumerate(stretch.buffers):
                taken += bytes(buffer[:n])
                if place == 1:
                    break  # the rest comes again
            source.give_back(stretch, len(taken))
            found[stretch.start] = taken
            stretch = source.take()
    assert b"".join(found[place] for place in sorted(found)) == data
    assert all(part.endswith(b"\n") for _, part in sorted(found.items())[:-1])


def test_long_and_short_files_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(log())
    found = []
    for long in (1, 1 << 30):
        monkeypatch.setattr(parallel, "_LONG", long)
        monkeypatch.setattr(parallel, "BLOCK", 4096)
        monkeypatch.setattr(parallel, "STRETCH", 1 << 14)
        first, size, lines = 0, 0, []
        with parallel.parsed_chunks(str(path)) as chunks:
            for part in chunks:  # its buffers are used again behind the next
                lines += [(first + int(b.numbers[i]), b.text(i)) for b in part.kept for i in range(b.height)]
                first += part.count
                size += part.size
        assert size == path.stat().st_size
        found.append((first, lines))
    assert found[0] == found[1]


def test_no_more_of_a_stretch_is_read_than_memory_is_for(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x\n" * 500_000)
    with path.open("rb", buffering=0) as file:
        source = FileStretches(file, Pool(4096), lambda _: 1 << 22)
        stretch = source.take()
        assert stretch is not None
        found = ChunkParser().parse(stretch.buffers, enough=1 << 16)
        source.give_back(stretch, found.size)
        following = source.take()
    assert found.size < 8192
    assert following is not None
    assert following.start == found.size


def keys(texts: list[bytes], mark: int = 0) -> Keys:
    ends = np.cumsum([len(text) for text in texts])
    starts = ends - np.array([len(text) for text in texts])
    return Keys.of(padded(b"".join(texts)), starts, ends, np.full(len(texts), mark))


def test_a_key_is_found_by_every_byte_of_it() -> None:
    r = random.Random(1)
    lengths = [0, 1, 7, 31, 32, 33, 63, 64, 65, 100, 511, 512]
    texts = sorted({r.randbytes(n) for n in lengths for _ in range(80)})
    known = {(n % 2, text): n for n, text in enumerate(texts[::2])}
    shelf = Shelf(known)
    for mark in (0, 1):
        found = [shelf.values[i] if i >= 0 else None for i in shelf.find(keys(texts, mark)).tolist()]
        assert found == [known.get((mark, text)) for text in texts]
    for text in texts[::2]:
        near = [text[:i] + bytes([text[i] ^ 1]) + text[i + 1 :] for i in range(len(text))]
        found = [shelf.values[i] if i >= 0 else None for i in shelf.find(keys(near)).tolist()]
        assert found == [known.get((0, other)) for other in near]


def test_what_was_met_twice_is_remembered_until_there_is_too_much() -> None:
    memory: Memory[int] = Memory()
    memory.met([((0, b"a"), 1), ((0, b"b"), 2), ((0, b"c" * 600), 3)])
    assert memory.shelf.find(keys([b"a", b"b"])).tolist() == [-1, -1]
    memory.met([((0, b"b"), 2), ((0, b"c" * 600), 3)])
    assert [memory.shelf.values[i] for i in memory.shelf.find(keys([b"a", b"b"])).tolist() if i >= 0] == [2]
    for numbers in (range(5000), range(5000, 10_000)):
        for _ in range(2):
            memory.met(((0, b"%d" % n), n) for n in numbers)
    assert len(memory.shelf.values) <= MOST
    assert memory.shelf.find(keys([b"9999"])).tolist() != [-1]


def test_where_stretches_end_changes_nothing(
    tmp_path: Path, store: str, example_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers one after the other, access lines between what is kept: their times, too, are their own."""
    access = '\nINFO:     127.0.0.1:5000 - "POST /generate HTTP/1.1" 200 OK'
    texts = [
        (example_logs / "h200-llama8b" / f"{name}.log").read_text().rstrip("\n").replace("\n", access + "\n")
        for name in ("base", "eagle3-s5-a2.1", "eagle3-s2-a2.1")
    ]
    texts[1] += 400 * f"\n[2031-01-01 00:00:00]{access[1:]}"  # behind the last kept line of the second server
    path = tmp_path / "three.log"
    path.write_text("\n".join(texts) + "\n")
    asked = (
        "SELECT COLUMNS(* EXCLUDE (ingest_id)) FROM raw_run ORDER BY run_id",
        "SELECT COLUMNS(* EXCLUDE (ingest_id)) FROM raw_decode_window ORDER BY run_id, line_no",
        "SELECT COLUMNS(* EXCLUDE (ingest_id)) FROM raw_event ORDER BY run_id, line_no",
        "SELECT run_id, sha256, first_line, last_line, lines, bytes FROM raw_ingest ORDER BY run_id",
    )
    found = []
    for place, (long, block, stretch) in enumerate(
        ((1 << 30, 1 << 21, 1 << 24), (1, 4096, 1 << 14), (1, 999, 1))
    ):
        target = str(shutil.copy(store, tmp_path / f"{place}.duckdb"))
        monkeypatch.setattr(parallel, "_LONG", long)
        monkeypatch.setattr(parallel, "BLOCK", block)
        monkeypatch.setattr(parallel, "STRETCH", stretch)
        ingest_paths([path], store_target=target)
        with open_store(target) as opened:
            found.append([opened.rows(sql) for sql in asked])
    with open_store(target) as opened:
        times = opened.rows("SELECT started_at, ended_at FROM run ORDER BY first_line")
    assert [[f"{at:%H:%M:%S}" for at in both] for both in times] == [
        ["15:03:14", "15:04:05"], ["14:57:02", "14:58:47"], ["15:05:56", "15:06:56"],
    ]  # fmt: skip
    assert found[1] == found[0]
    assert found[2][:3] == found[0][:3]  # a line each: too short to say at which byte a server begins


def test_access_lines_without_a_time_do_not_turn_a_run_back() -> None:
    reader = LogReader()
    access = 'INFO:     127.0.0.1:5000 - "POST /generate HTTP/1.1" 200 OK\n' * 400
    reader.feed(f"{start()}\n{decode(10)}\n".encode())
    reader.feed(f"{decode(20)}\n{access}".encode())
    (session,) = reader.finish()
    assert session.ended_at is not None
    assert session.ended_at.second == 20
    reader.feed(
        f'{access}[2026-01-29 01:16:40] INFO:     127.0.0.1:5000 - "GET /x HTTP/1.1" 200 OK\n'.encode()
    )
    reader.finish()
    assert session.ended_at.second == 40
