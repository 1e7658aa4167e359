"""Logs whose timestamps were lost: each run is its own, and the same run stays the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sglang_lines import decode, prefill, start

from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.ingest.follow import follow_log

Ingest = Callable[..., list[IngestSummary]]
Rows = Callable[..., list[tuple[Any, ...]]]


def lines(first: float) -> list[str]:
    found = [start(), prefill(1), *(decode(2 + i, tok_s=first + i) for i in range(6))]
    return [line.partition("] ")[2] for line in found]


def text(parts: list[str]) -> str:
    return "\n".join(parts) + "\n"


ONE, TWO = lines(100.25), lines(90.5)


def test_two_files_are_two_runs(ingest: Ingest, rows: Rows) -> None:
    assert ONE[0].startswith("server_args=")
    assert ingest(text(ONE), "nt1.log")[0].status == "ingested"
    assert ingest(text(TWO), "nt2.log")[0].status == "ingested"
    assert rows("SELECT name, count(*) FROM run JOIN decode_window USING (run_id) GROUP BY 1 ORDER BY 1") == [
        ("nt1", 6), ("nt2", 6),
    ]  # fmt: skip
    again = [ingest(text(parts), name)[0].status for parts, name in ((ONE, "nt1.log"), (TWO, "copy.log"))]
    assert again == ["unchanged", "unchanged"]


def test_one_file_of_two_holds_no_copies(ingest: Ingest, rows: Rows) -> None:
    found = ingest(text(ONE + TWO))
    assert [(s.status, s.windows, s.notes) for s in found] == [("ingested", 6, [])] * 2
    assert rows("SELECT count(*) FROM decode_window") == [(12,)]


def test_a_real_copy_is_one(ingest: Ingest) -> None:
    (found,) = ingest(text(ONE[:5] + ONE))
    assert (found.windows, found.first_line) == (6, 6)
    assert found.notes == ["1 sessions are copies of others in this file: counted once"]


def test_a_log_that_grows_is_the_same_run(ingest: Ingest, rows: Rows) -> None:
    ingest(text(ONE[:4]))
    assert ingest(text(ONE))[0].status == "ingested"
    assert rows("SELECT count(*) FROM run") == [(1,)]
    assert ingest("".join(f"sglang-1  | {line}\n" for line in ONE), "docker.log")[0].status == "unchanged"


def test_a_log_that_was_followed_from_its_start_is_the_same_run(
    tmp_path: Path, store: str, rows: Rows
) -> None:
    log = tmp_path / "a.log"
    log.write_text(text(ONE[:2]))
    calls: list[None] = []

    def stop() -> bool:
        calls.append(None)
        if len(calls) == 4:
            log.write_text(text(ONE))
        return len(calls) > 8

    found = follow_log(str(log), store_target=store, stop=stop, flush_s=0, poll_s=0.01)
    assert [s.windows for s in found] == [6]
    assert rows("SELECT count(*) FROM decode_window") == [(6,)]
    assert [s.status for s in ingest_paths([log], store_target=store)] == ["unchanged"]
    assert rows("SELECT count(*) FROM run") == [(1,)]
