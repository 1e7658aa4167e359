"""What is not a file can be read but once: nothing of it may be lost."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.ingest.follow import follow_log

SMALL = [start(), prefill(1), decode(2), decode(3)]
BIG = [start(), *(decode(2 + i % 50, tok_s=100 + i) for i in range(4000))]


def through_a_fifo(
    tmp_path: Path, lines: list[str], store: str, *, follow: bool = False
) -> list[IngestSummary]:
    fifo = tmp_path / "server"
    os.mkfifo(fifo)

    def write() -> None:
        fifo.write_text("\n".join(lines) + "\n")

    writer = threading.Thread(target=write)
    writer.start()
    found = follow_log(str(fifo), store_target=store) if follow else ingest_paths([fifo], store_target=store)
    writer.join()
    return found


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(("lines", "windows"), [(SMALL, 2), (BIG, 4000)])
def test_a_named_pipe_is_read_whole(
    tmp_path: Path, store: str, lines: list[str], windows: int, *, follow: bool
) -> None:
    (found,) = through_a_fifo(tmp_path, lines, store, follow=follow)
    assert (found.status, found.windows, found.lines) == ("ingested", windows, len(lines))
    assert found.first_line == 1


@pytest.mark.parametrize("name", ["/dev/stdin", "-"])
def test_standard_input_is_read_whole_by_any_name(tmp_path: Path, store: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speclog", "--store", store, "ingest", name],
        input="\n".join(BIG) + "\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "ingested: run stdin" in done.stdout
    assert "4000 decode windows" in done.stdout
    again = tmp_path / "file.log"
    again.write_text("\n".join(BIG) + "\n")
    assert [s.status for s in ingest_paths([again], store_target=store)] == ["unchanged"]
