"""Lines made to be costly: what is done for each is bounded by what they say, not by how many there are."""

import io
from pathlib import Path

import pytest
from sglang_lines import decode, start

from speclog.formats import columns
from speclog.ingest import parallel, sources, tail
from speclog.ingest.batches import ChunkParser, Parsed
from speclog.ingest.follow import follow_log
from speclog.ingest.lines import BLANKS
from speclog.ingest.reader import LogReader
from speclog.store import open_store


def kept(parts: list[Parsed]) -> list[tuple[int, str]]:
    found, first = [], 0
    for part in parts:
        found += [(first + int(b.numbers[i]), b.text(i)) for b in part.kept for i in range(b.height)]
        first += part.count
    return found


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [64, 1000, 1 << 20])
def test_of_many_blank_lines_a_few_are_kept_wherever_blocks_end(
    size: int, newline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    lines = [start(), *[""] * 3, decode(1), *[""] * 5000, decode(2), *[""] * BLANKS, decode(3), *[""] * 200]
    path.write_bytes((newline.join(lines) + newline).encode())
    monkeypatch.setattr(parallel, "BLOCK", size)
    monkeypatch.setattr(parallel, "STRETCH", 4 * size)
    with parallel.parsed_chunks(str(path)) as chunks:
        parts = list(chunks)
    assert sum(part.count for part in parts) == len(lines)
    found = kept(parts)
    places = [n for n, text in enumerate(lines) if text]
    assert [(n, text) for n, text in found if text] == [(n, lines[n]) for n in places]
    blank = [n for n, text in found if not text]
    expected = [(1, 3), (5, BLANKS), (5006, BLANKS), (5007 + BLANKS, BLANKS)]
    assert blank == [n for first, count in expected for n in range(first, first + count)]


def test_short_lines_make_short_stretches_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_text(start() + "\n" + "x\n" * 50_000 + decode(1) + "\n")
    monkeypatch.setattr(parallel, "BLOCK", 4096)
    monkeypatch.setattr(parallel, "STRETCH", 1 << 16)
    with parallel.parsed_chunks(str(path)) as chunks:
        parts = list(chunks)
    assert sum(part.count for part in parts) == 50_002
    assert max(part.count for part in parts) < 4096  # of 65,536 bytes were they of usual length
    assert [part.typed["decode_window"].height for part in parts if part.typed] == [1]


def test_stretches_of_usual_lines_are_bounded_by_their_bytes() -> None:
    data = (decode(1) + "\n").encode() * 2000
    groups = list(sources.stretches(sources.blocks(io.BytesIO(data), sources.Pool(4096)), 1 << 16))
    assert b"".join(bytes(b[:n]) for group in groups for b, n in group) == data
    assert all(sum(n for _, n in group) >= 1 << 16 for group in groups[:-1])


def test_a_batch_line_that_is_cut_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = columns.engine_row
    monkeypatch.setattr(columns, "engine_row", lambda *of: asked.append(of) or real(*of))
    reader = LogReader()
    reader.feed((start() + "\n" + "".join(decode(n % 60)[:60] + "\n" for n in range(500))).encode())
    assert len(asked) == 1
    assert reader.sessions[0].unknown == 500


def test_a_text_is_understood_once_for_all_its_lines() -> None:
    parser = ChunkParser()
    data = "".join(
        f"[2026-01-29 01:16:{n % 60:02d} TP{n % 8}] Load weight begin. avail mem=1.0 GB\n" for n in range(900)
    )
    padded = bytearray(data.encode() + bytes(4096))
    found = parser.parse([(padded, len(data))])
    assert found.others.height == 900
    assert len(found.others.said) == 8
    assert len({id(said.text) for said in found.others.said}) == 1


@pytest.mark.parametrize("between", ["", "[2026-01-29 01:16:00] an unknown line\n"])
def test_arguments_that_cannot_be_read_begin_one_session(between: str) -> None:
    head = "[2026-01-29 01:16:00] server_args=ServerArgs(\n"
    reader = LogReader()
    reader.feed((start() + "\n" + (head + between) * 1000 + decode(1) + "\n").encode())
    assert len(reader.sessions) == 2
    assert reader.sessions[1].n_windows == 1
    assert reader.sessions[1].unknown == 999 + 1001 * bool(between)


def test_a_followed_line_that_never_ends_is_given_up_and_what_came_before_is_kept(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LONGEST_LINE", 10_000)
    path = tmp_path / "a.log"
    path.write_text(start() + "\n" + decode(1) + "\n" + "x" * 20_000)
    with path.open("a") as file:
        reads = iter(range(100))

        def stop() -> bool:
            file.write("x" * 9000)
            file.flush()
            return next(reads) > 90

        found = follow_log(str(path), store_target=store, stop=stop, flush_s=0.01, poll_s=0.001)
    assert [summary.status for summary in found] == ["ingested", "unusable"]
    assert "a line of more than" in found[1].detail
    with open_store(store) as opened:
        assert opened.rows("SELECT count(*) FROM decode_window") == [(1,)]
