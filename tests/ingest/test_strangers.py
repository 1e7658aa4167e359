"""Lines of two servers in one log never make one run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sglang_lines import ARGS, decode, prefill, start

from speclog.ingest.api import IngestSummary
from speclog.ingest.follow import follow_log

Ingest = Callable[..., list[IngestSummary]]
Rows = Callable[..., list[tuple[Any, ...]]]

SPEC_ARGS = ARGS.replace("speculative_algorithm=None", "speculative_algorithm='EAGLE3'")
VLLM = (
    "INFO 01-29 01:16:{:02d} [loggers.py:273] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: 55.6 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.8%, "
    "Prefix cache hit rate: 0.0%"
)
BANNER = "INFO 01-29 01:16:01 [api_server.py:1287] vLLM API server version 0.25.1"
ENGINE = "INFO 01-29 01:16:01 [core.py:114] Initializing a V1 LLM engine (v0.25.1) with config: model='m'"


def spec(second: int) -> str:
    return decode(second).replace("cuda graph", "accept len: 2.13, accept rate: 0.50, cuda graph")


def loaded(second: int) -> str:
    return (
        f"[2026-01-29 01:16:{second:02d}] Load weight end. elapsed=1.00 s, type=LlamaForCausalLM, "
        "avail mem=60.00 GB, mem usage=15.00 GB."
    )


def text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def refused(found: list[IngestSummary]) -> list[str]:
    return [s.detail for s in found if s.status == "unusable"]


def test_decode_lines_with_and_without_accept_length(ingest: Ingest, rows: Rows) -> None:
    lines = [line for i in range(10, 40, 2) for line in (decode(i), spec(i + 1))]
    found = ingest(text(start(0, SPEC_ARGS), *lines))
    assert [s.status for s in found] == ["unusable"]
    assert refused(found)[0].startswith("15 of 30 decode lines have an accept length, which a server prints")
    assert rows("SELECT count(*) FROM run") == [(0,)]


def test_a_server_that_serves_while_another_starts(ingest: Ingest, rows: Rows) -> None:
    found = ingest(text(start(0), loaded(1), decode(2), decode(3), start(4), decode(5), loaded(6), decode(7)))
    assert [s.status for s in found] == ["ingested", "unusable"]
    assert refused(found)[0].startswith("line 6 is a batch, before the weights were loaded in line 7")
    assert rows("SELECT line_no FROM decode_window ORDER BY 1") == [(3,), (4,)]


def test_two_servers_that_start_together(ingest: Ingest) -> None:
    lines = [start(0), start(1), loaded(2), loaded(3), prefill(4), decode(5), prefill(6), decode(7)]
    found = ingest(text(*lines))
    assert refused(found)[0].startswith("weights were loaded more than once after line 2")


def test_one_server_after_the_other_is_two_runs(ingest: Ingest) -> None:
    one = [start(0), loaded(1), prefill(2), decode(3), decode(4)]
    two = [start(5, SPEC_ARGS), loaded(6), loaded(7), prefill(8), spec(9), spec(10)]
    found = ingest(text(*one, *two, start(11), start(12), loaded(13), decode(14)))
    assert [(s.status, s.windows) for s in found] == [
        ("ingested", 2), ("ingested", 2), ("ingested", 0), ("ingested", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("order", [1, -1])
def test_engines_that_take_turns(ingest: Ingest, rows: Rows, order: int) -> None:
    lines = [(decode(i), VLLM.format(i))[::order] for i in range(10, 20)]
    found = ingest(text(*([start()] if order > 0 else [BANNER]), *(line for pair in lines for line in pair)))
    assert [s.status for s in found] == ["unusable"]
    assert "is another engine's" in found[0].detail
    assert rows("SELECT count(*) FROM run") == [(0,)]


def test_another_engines_lines_set_no_version(ingest: Ingest, rows: Rows) -> None:
    ingest(text(start(), ENGINE, decode(2), decode(3)))
    assert rows("SELECT engine, version FROM run") == [("sglang", None)]


def test_an_engine_after_the_other_is_two_runs(ingest: Ingest, rows: Rows) -> None:
    found = ingest(text(start(), decode(2), decode(3), BANNER, ENGINE, VLLM.format(4), VLLM.format(5)))
    assert [s.status for s in found] == ["ingested", "ingested"]
    assert rows("SELECT engine, version FROM run ORDER BY 1") == [("sglang", None), ("vllm", "0.25.1")]


def test_a_followed_run_goes_when_a_second_server_shows(tmp_path: Path, store: str, rows: Rows) -> None:
    log = tmp_path / "a.log"
    log.write_text(text(start(0), decode(1), decode(2)))
    seen: list[int] = []

    def stop() -> bool:
        seen.append(rows("SELECT count(*) FROM run")[0][0])
        if len(seen) == 4:
            with log.open("a") as more:
                more.write(text(spec(3), decode(4), spec(5)))
        return len(seen) > 8

    (found,) = follow_log(str(log), store_target=store, stop=stop, flush_s=0, poll_s=0.01)
    assert found.status == "unusable"
    assert max(seen) == 1
    assert rows("SELECT count(*) FROM run") == [(0,)]


def test_arguments_of_a_plain_server_are_not_those_of_windows_with_an_accept_length(
    ingest: Ingest, rows: Rows
) -> None:
    """The speculating server's arguments came first: the windows were read as the plain one's, tau 1."""
    first, second = ingest(text(start(0, SPEC_ARGS), start(1), *(spec(2 + i) for i in range(5))))
    assert (first.status, second.status) == ("ingested", "unusable")
    assert "line 2 says that the server does not speculate" in second.detail
    assert rows("SELECT count(*) FROM decode_window") == [(0,)]
