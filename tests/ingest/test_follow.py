"""A log that grows under the reader: no row lost, none twice, through rotation and truncation."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths
from speclog.ingest.follow import follow_log
from speclog.ingest.reader import LogReader
from speclog.ingest.tail import whole_lines
from speclog.store import open_store


class Follower:
    """`follow_log` on a thread, stopped when the test has written all it wants."""

    def __init__(self, path: Path, store: str) -> None:
        self._stop = threading.Event()
        options = {"store_target": store, "stop": self._stop.is_set, "flush_s": 0.2, "poll_s": 0.02}
        self._thread = threading.Thread(target=follow_log, args=(str(path),), kwargs=options)
        LogReader()  # what it needs is loaded: it looks at the log at once
        self._thread.start()

    def end(self) -> None:
        time.sleep(0.3)
        self._stop.set()
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()


@pytest.fixture
def follow(tmp_path: Path, store: str) -> Iterator[Callable[[Path], Follower]]:
    yield lambda path: Follower(path, store)


def numbered(n: int) -> str:
    return decode(n % 60, token=1000 + n) + "\n"


def tokens(store: str) -> list[int]:
    with open_store(store) as opened:
        return [row[0] for row in opened.rows("SELECT token FROM decode_window ORDER BY line_no")]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_growing_log(tmp_path: Path, store: str, follow: Any) -> None:
    path = tmp_path / "a.log"
    follower = follow(path)  # before the file is there
    append(path, start() + "\n")
    for n in range(60):
        text = numbered(n)
        append(path, text[:30])
        time.sleep(0.01)
        append(path, text[30:])
        if n % 20 == 0:
            append(path, prefill(n % 60) + "\n")
    follower.end()
    assert tokens(store) == [1000 + n for n in range(60)]
    with open_store(store) as opened:
        assert opened.rows("SELECT count(*), max(windows), bool_and(served) FROM run") == [(1, 60, True)]
        assert opened.rows("SELECT count(*) FROM server_arg") == [(4,)]
        assert opened.rows("SELECT count(*) > 1, count(DISTINCT ingest_id) FROM raw_ingest") == [(True, 1)]
    # What was followed is what is there: reading the file now changes nothing.
    assert [s.status for s in ingest_paths([path], store_target=store)] == ["unchanged"]


def test_rotation_by_rename_in_mid_line(tmp_path: Path, store: str, follow: Any) -> None:
    path = tmp_path / "a.log"
    append(path, start() + "\n")
    follower = follow(path)
    writer = path.open("a")
    for n in range(90):
        text = numbered(n)
        if n % 30 == 29:
            writer.write(text[:50])
            writer.flush()
            path.rename(tmp_path / f"a.log.{n}")
            path.touch()  # logrotate's "create": the writer has not noticed yet
            time.sleep(0.1)
            writer.write(text[50:])
            writer.flush()
            writer.close()
            writer = path.open("a")
        else:
            writer.write(text)
            writer.flush()
        time.sleep(0.002)
    writer.close()
    follower.end()
    assert tokens(store) == [1000 + n for n in range(90)]


def test_truncation_in_place_in_mid_line(tmp_path: Path, store: str, follow: Any) -> None:
    """logrotate's "copytruncate": a copy is made, the file is cut, the writer goes on in mid-line."""
    path = tmp_path / "a.log"
    append(path, start() + "\n")
    follower = follow(path)
    for n in range(90):
        text = numbered(n)
        if n % 30 == 29:
            append(path, text[:50])
            (tmp_path / f"a.log.{n}").write_bytes(path.read_bytes())
            os.truncate(path, 0)
            append(path, text[50:])
        else:
            append(path, text)
        time.sleep(0.002)
    follower.end()
    assert tokens(store) == [1000 + n for n in range(90)]


def test_a_cut_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    """When the next file starts with a line of its own, the cut line ends where it was cut."""
    path = tmp_path / "a.log"
    path.write_text("[2026-01-29 01:16:02] Decode batch, #runn")
    blocks = whole_lines(str(path), poll_s=0.01)
    assert next(blocks) == b""
    path.rename(tmp_path / "a.log.1")
    path.write_text(numbered(1))
    found = b""
    while not found:
        found = next(blocks)
    blocks.close()  # type: ignore[attr-defined]
    assert found.decode() == "[2026-01-29 01:16:02] Decode batch, #runn\n" + numbered(1)


def test_a_crash_is_written_though_nothing_follows_it(tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    trace = "[2026-01-29 01:16:09] Scheduler hit an exception: Traceback (most recent call last):\n  File 1\nValueError: x\n"  # noqa: E501
    path.write_text(start() + "\n" + numbered(1) + trace)
    seen: list[int] = []

    def stop() -> bool:
        with open_store(store) as opened:
            seen.append(opened.rows("SELECT count(*) FROM event WHERE kind = 'traceback'")[0][0])
        return seen[-1] == 1

    follow_log(str(path), store_target=store, stop=stop, flush_s=0.05, poll_s=0.05)
    with open_store(store) as opened:
        assert opened.rows("SELECT message, line_end - line_no FROM event WHERE kind = 'traceback'")[0] == (
            trace.split("] ", 1)[1].rstrip("\n"), 2,
        )  # fmt: skip
        assert opened.rows("SELECT end_reason FROM run") == [("crash",)]


def test_what_is_said_of_a_session_is_what_the_whole_log_gives(tmp_path: Path, store: str) -> None:
    """Whenever it was written in between: counts, what later lines contradict, and where a server ends."""
    lines = [
        start(), "[2026-01-29 01:16:01] Cuda graph is disabled because of using torch native attention",
        *(decode(2 + i, rank=f" TP{rank}") for i in range(4) for rank in (0, 1)),
        "[2026-01-29 01:16:10] Attention backend not specified. Use fa3 backend by default.",
        start(11), *(decode(12 + i, rank=f" TP{rank}") for i in range(3) for rank in (0, 1)),
    ]  # fmt: skip
    followed, whole = tmp_path / "a.log", tmp_path / "b.log"
    left = [line + "\n" for line in lines]
    whole.write_text("".join(left))
    followed.touch()

    def stop() -> bool:
        if left:
            append(followed, left.pop(0))
        return not left

    follow_log(str(followed), store_target=store, stop=stop, flush_s=0, poll_s=0.001)
    queries = (
        "SELECT f.run_id, f.name, f.value FROM fact AS f ORDER BY ALL",
        "SELECT run_id, end_reason, version_min, version_max, ended_at, last_line FROM run ORDER BY ALL",
    )
    with open_store(store) as opened:
        found = [opened.rows(sql) for sql in queries]
    with open_store(store, read_only=False) as opened:
        opened.script("DELETE FROM raw_ingest")
    ingest_paths([whole], store_target=store)
    with open_store(store) as opened:
        assert [opened.rows(sql) for sql in queries] == found
    assert sorted(v for _, name, v in found[0] if name == "duplicate_rank_lines") == ["3", "4"]
    assert ("graph.enabled", "false") in [fact[1:] for fact in found[0]]


class Writer:
    """A server's standard output, opened with ``>``: where the log is truncated it goes on at its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        path.touch()

    def write(self, text: str) -> None:
        with self.path.open("r+b") as file:
            file.seek(self._at)
            file.write(text.encode())
        self._at += len(text)

    def truncate(self) -> None:
        for number in (2, 1):
            old = self.path.with_name(f"{self.path.name}.{number}")
            if old.exists():
                old.rename(f"{self.path}.{number + 1}")
        self.path.with_name(f"{self.path.name}.1").write_bytes(self.path.read_bytes())
        os.truncate(self.path, 0)


def read(blocks: Iterator[bytes]) -> str:
    """What there is to read now."""
    found = b""
    while (block := next(blocks)) or (block := next(blocks)):
        found += block
    return found.decode()


@pytest.mark.parametrize("cut", [0, 1, 30, 150, -1])
@pytest.mark.parametrize("seen", [True, False], ids=["each cut is seen", "two at once"])
def test_a_writer_that_goes_on_at_its_place(tmp_path: Path, cut: int, seen: bool) -> None:
    """Before what it writes then stand as many NULs as it had written."""
    lines = [numbered(n) for n in range(40)]
    writer = Writer(tmp_path / "a.log")
    blocks = whole_lines(str(writer.path), poll_s=0)
    writer.write("".join(lines[:10]))
    text = read(blocks)
    for start_at in (10, 20):
        writer.write("".join(lines[start_at : start_at + 5]))
        writer.write(lines[start_at + 5][:cut])
        text += read(blocks) if seen else ""
        writer.truncate()
        text += read(blocks) if seen else ""
        writer.write(lines[start_at + 5][cut:])
        writer.write("".join(lines[start_at + 6 : start_at + 10]))
        text += read(blocks) if seen else ""
    writer.write("".join(lines[30:]))
    text += read(blocks) + read(blocks)
    assert text == "".join(lines)


@pytest.mark.parametrize("place", ["(token/s)", "2026-01-29", "#token"])
def test_a_line_cut_before_what_other_lines_begin_with(tmp_path: Path, place: str) -> None:
    line = numbered(7)
    at = line.index(place)
    path = tmp_path / "a.log"
    path.write_text(numbered(6) + line[:at])
    blocks = whole_lines(str(path), poll_s=0)
    text = read(blocks)
    path.rename(tmp_path / "a.log.1")
    path.write_text(line[at:] + numbered(8))
    assert text + read(blocks) + read(blocks) == numbered(6) + line + numbered(8)
