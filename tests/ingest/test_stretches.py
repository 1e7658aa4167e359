"""A long file is read in stretches by place: every byte once; lines met before are known by every byte."""

import random
from pathlib import Path

import numpy as np
import pytest
from sglang_lines import decode, start

from speclog.formats.block import padded
from speclog.formats.known import MOST, Keys, Memory, Shelf
from speclog.ingest import parallel
from speclog.ingest.batches import ChunkParser
from speclog.ingest.lines import blank_lines_at_end
from speclog.ingest.sources import Pool
from speclog.ingest.stretch import FileStretches


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
        source = FileStretches(file, Pool(4096), lambda: size)
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
        source = FileStretches(file, Pool(4096), lambda: 1 << 22)
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
