"""Compressed and linked inputs that mean harm: refused with a reason, in little memory."""

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest import archives, sources
from speclog.ingest.api import ingest_paths

LOG = ("\n".join([start(), prefill(1), decode(2)]) + "\n").encode()
MIB = 1 << 20


def zst(*blocks: tuple[int, bytes, int]) -> bytes:
    """A .zst frame without checksum, of (type, content, size) blocks: 0 raw, 1 one byte repeated."""
    frame = b"\x28\xb5\x2f\xfd\x00\x58"
    for number, (kind, content, size) in enumerate(blocks, start=1):
        frame += (int(number == len(blocks)) | kind << 1 | size << 3).to_bytes(3, "little") + content
    return frame


def zst_of(data: bytes) -> bytes:
    pieces = [data[at : at + 65536] for at in range(0, len(data), 65536)]
    return zst(*((0, piece, len(piece)) for piece in pieces))


def bomb(suffix: str, byte: bytes) -> bytes:
    """Half a GiB of one byte."""
    if suffix == ".gz":
        return gzip.compress(byte * (64 * MIB), 9) * 8
    return zst(*[(1, byte, 128 << 10)] * 4096)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("byte", [b"x", b"\n"])
def test_a_bomb_is_refused_in_little_memory(suffix: str, byte: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"a.log{suffix}"
    path.write_bytes(bomb(suffix, byte))
    code = (
        "import sys, resource\nfrom speclog.ingest.api import ingest_paths\n"
        "from speclog.ingest import lines, reader, build\n"
        "import duckdb, polars\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "(found,) = ingest_paths([sys.argv[1]], store_target=sys.argv[2])\n"
        "print(found.status, '|', found.detail)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "s.duckdb")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    said, grown_kb = done.stdout.splitlines()
    assert said.startswith("unusable")
    assert "decompression bomb" in said or (byte == b"x" and "a line of more than 32 MiB" in said)
    assert int(grown_kb) < 400_000 * (1 if sys.platform != "darwin" else 1024)
    assert not (tmp_path / "s.duckdb").exists()


def test_what_shrinks_well_is_no_bomb(tmp_path: Path, store: str) -> None:
    """A log of 20 MB that is mostly one line over and over: as repetitive as logs get."""
    noise = b'[2026-11-29 10:00:00] INFO: 127.0.0.1:%d - "POST /generate HTTP/1.1" 200 OK\n'
    many = b"".join(noise % (10_000 + n * 7919 % 50_000) for n in range(1000))
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(LOG + many * (20_000_000 // len(many)), 9))
    assert path.stat().st_size * archives.MAX_RATIO > 20_000_000 > archives.FREE_BYTES
    first, *_ = ingest_paths([path], store_target=store)
    assert first.status == "ingested"


@pytest.mark.parametrize(
    "damage", [lambda d: d[: len(d) // 2], lambda d: d[:40] + b"\xff\x00\xff" + d[43:], lambda d: d + b"rest"]
)
def test_a_damaged_archive_is_unusable(damage: object, tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(damage(gzip.compress(LOG * 20)))  # type: ignore[operator]
    (found,) = ingest_paths([path], store_target=store)
    assert found.status == "unusable"
    assert any(word in found.detail for word in ("too early", "damaged", "CRC", "Not a gzipped"))


def test_an_honest_zst_is_read(tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log.zst"
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    path.write_bytes(skippable + zst_of(LOG) + zst_of(LOG))
    with archives.open_zst(str(path)) as stream:
        assert b"".join(iter(lambda: stream.read(1000), b"")) == 2 * LOG
    first, *_ = ingest_paths([path], store_target=store)
    assert first.status == "ingested"
    path.write_bytes(path.read_bytes()[:-9])
    (cut,) = ingest_paths([path], store_target=store)
    assert (cut.status, "too early" in cut.detail) == ("unusable", True)


def test_an_endless_line_is_refused(tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as stream:
        for _ in range(40):
            stream.write(b"x" * MIB)
        stream.truncate(200 * MIB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = ingest_paths([path], store_target=store)
    assert (found.status, found.detail) == ("unusable", "a line of more than 32 MiB: not a log")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_of_a_long_file_without_a_line_of_a_server_is_said_so(tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    line = b"nginx: 10.0.0.1 said hello to 10.0.0.2\n"
    path.write_bytes(line * (140 * MIB // len(line)))
    (found,) = ingest_paths([path], store_target=store)
    assert (found.status, found.detail.startswith("no line of SGLang or vLLM")) == ("unusable", True)


def test_a_link_in_a_directory_that_leads_out_is_not_followed(tmp_path: Path, store: str) -> None:
    secret = tmp_path / "secret.log"
    secret.write_bytes(LOG)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.log").write_bytes(LOG)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "own.log").write_bytes(LOG)
    (folder / "again.log").symlink_to(folder / "own.log")
    (folder / "out.log").symlink_to("../secret.log")
    (folder / "dir").symlink_to("../elsewhere")
    found = {Path(s.path).name: s for s in ingest_paths([folder], store_target=store)}
    assert found["own.log"].status in ("ingested", "unchanged")
    assert found["again.log"].status in ("ingested", "unchanged")
    assert found["out.log"].status == "unusable"
    assert "leads out of" in found["out.log"].detail
    assert all(s.status == "unusable" for s in found.values() if "dir/" in s.path)
    (named,) = ingest_paths([folder / "out.log"], store_target=store)  # who names it wants it
    assert named.status == "unchanged"


def test_a_sidecar_that_is_a_link_out_or_too_large_is_not_read(tmp_path: Path, store: str) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"model_path": "stolen", "version": "0.5.9"}))
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.log").write_bytes(LOG)
    (folder / "a.server_info.json").symlink_to(secret)
    with (folder / "a.bench.jsonl").open("wb") as stream:
        stream.truncate(65 * MIB)
    (found,) = ingest_paths([folder / "a.log"], store_target=store)
    notes = " ".join([*found.notes])
    assert "a.server_info.json: a link that leads out of its directory" in notes
    assert "a.bench.jsonl: more than 64 MiB" in notes


def test_a_device_in_a_directory_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.log")
    (source,) = sources.expand([tmp_path])
    assert "a directory without logs" in source.problem
