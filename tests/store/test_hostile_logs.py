"""Hostile lines that the fuzzer found: each is read or refused, never a traceback."""

from pathlib import Path

import pytest
from mutants import corpus

from speclog.ingest.api import ingest_paths

LINES = {
    "31 February": b"[2026-02-31 10:00:00] something",
    "year 0": b"[0000-00-00 00:00:00] something",
    "deep JSON": b"SPECLOG_MANIFEST v=1 " + b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "a counter beyond 64 bits": b"[2026-11-29 15:00:50] Decode batch, #running-req: 99999999999999999999, "
    b"#token: 5, token usage: 0.00, cuda graph: True, gen throughput (token/s): 1.00, #queue-req: 0",
}


@pytest.mark.parametrize("name", LINES)
def test_a_hostile_line_costs_no_other(target: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(corpus()[0]) + LINES[name] + b"\n")
    first, *_ = ingest_paths([path], store_target=target)
    assert first.status == "ingested"
    assert first.windows >= 64
