"""Client results: tables and JSONL of every tool give the same columns, and contradictions are named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sglang_lines import decode, start

from speclog.formats.bench import read_jsonl_line, read_tables
from speclog.ingest.api import ingest_paths
from speclog.ingest.doubts import doubts

TABLE = """benchmark_args=Namespace(dataset_name='random', random_input_len=1024, random_output_len=256)
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max reqeuest concurrency:                8
Successful requests:                     24
Benchmark duration (s):                  4.02
Total input tokens:                      3072
Total generated tokens:                  6144
Total generated tokens (retokenized):    6140
Request throughput (req/s):              5.97
Input token throughput (tok/s):          764.18
Output token throughput (tok/s):         1528.36
Total token throughput (tok/s):          2292.54
Concurrency:                             7.97
Accept length:                           2.65
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   1335.90
Median E2E Latency (ms):                 1338.99
---------------Time to First Token----------------
Mean TTFT (ms):                          88.10
==================================================
Mean TTFT (ms):                          99999
"""


def test_table() -> None:
    ((line, row),) = read_tables(TABLE.splitlines())
    assert line == 2
    assert row == {
        "tool": "bench_serving", "backend": "sglang", "request_rate": float("inf"), "max_concurrency": 8,
        "completed": 24, "duration_s": 4.02, "total_input_tokens": 3072, "total_output_tokens": 6144,
        "total_output_tokens_retokenized": 6140, "request_req_s": 5.97, "input_tok_s": 764.18,
        "output_tok_s": 1528.36, "total_tok_s": 2292.54, "concurrency": 7.97, "accept_len": 2.65,
        "e2e_mean_ms": 1335.9, "e2e_median_ms": 1338.99, "ttft_mean_ms": 88.1,
        "dataset": "random", "input_len": 1024, "output_len": 256,
    }  # fmt: skip
    assert doubts(row, ceiling=4) == []


def test_one_batch_server() -> None:
    text = ["batch size: 8", "input_len: 1024", "output_len: 256", "latency: 3.21 s", "last_ttft: 0.12 s",
            "input throughput: 68266.67 tok/s", "output throughput: 662.75 tok/s", "acc_length: 2.65 "]  # fmt: skip  # noqa: E501
    ((_, row),) = read_tables(text)
    assert row == {
        "tool": "bench_one_batch_server", "max_concurrency": 8, "input_len": 1024, "output_len": 256,
        "duration_s": 3.21, "ttft_mean_s": 0.12, "input_tok_s": 68266.67, "output_tok_s": 662.75, "accept_len": 2.65,  # noqa: E501
    }  # fmt: skip
    line = {
        "run_name": "r",
        "batch_size": 8,
        "input_len": 1024,
        "output_throughput": 662.75,
        "acc_length": -1,
    }
    found = read_jsonl_line(json.dumps(line))
    assert found is not None
    assert found[0] == {
        "tool": "bench_one_batch_server", "tag": "r", "max_concurrency": 8, "input_len": 1024, "output_tok_s": 662.75,  # noqa: E501
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"peak_output_tok_s": 8.0}, "peak output throughput 8 tok/s is below the mean"),
        ({"ttft_mean_ms": 1335.9}, "nothing was streamed"),
        ({"total_output_tokens_retokenized": 18360}, "the returned text has 18360 tokens"),
        ({"accept_len": 4.2}, "above its ceiling 4"),
        ({"accept_len": 0.8}, "below 1"),
        ({"output_tok_s": 3000.0}, "is not 6144 tokens"),
        ({"concurrency": 20.0}, "above the limit 8"),
        ({"tpot_mean_ms": 0.0}, "time per output token is 0"),
    ],
)
def test_doubts(changes: dict[str, Any], reason: str) -> None:
    ((_, row),) = read_tables(TABLE.splitlines())
    found = doubts(row | changes, ceiling=4)
    assert len(found) == 1
    assert reason in found[0]


def test_results_beside_a_log_belong_to_it(
    tmp_path: Path, store: str, rows: Callable[..., list[tuple[Any, ...]]]
) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"{start()}\n{decode(1)}\n")
    (tmp_path / "a.bench_c8.txt").write_text(TABLE)
    (tmp_path / "a.server_info.json").write_text('{"version": "0.5.9", "max_total_num_tokens": 4578}')
    every = sorted(tmp_path.glob("a.*"))
    found = ingest_paths(every, store_target=store)
    assert [(s.run, s.version, s.bench_results) for s in found] == [("a", "0.5.9", 1)]
    assert rows("SELECT source, line_no, accept_len FROM bench_result") == [("a.bench_c8.txt", 2, 2.65)]
    assert [s.detail for s in ingest_paths([every[0]], store_target=store)] == [
        "belongs to a.log beside it: ingest that"
    ]


def test_results_without_a_log(
    tmp_path: Path, store: str, rows: Callable[..., list[tuple[Any, ...]]]
) -> None:
    path = tmp_path / "results.txt"
    path.write_text(TABLE + TABLE.replace("4.02", "5.02"))
    found = ingest_paths([path], store_target=store)
    assert [(s.status, s.bench_results, s.served) for s in found] == [("ingested", 2, False)]
    assert rows("SELECT count(*) FROM bench_result") == [(2,)]


def test_shared_tables(shared: Path) -> None:
    """Real tables of an old and of a newer version."""
    counts = {}
    for name in (
        "27-bench-tables-dsv32-mtp-accept-length-cookbook.md.txt",
        "28-bench-tables-kimi-k2-thinking-cpu-offload-old-format.txt",
    ):
        text = (shared / "logs" / "public" / name).read_text(encoding="utf-8")
        found = list(read_tables(text.splitlines()))
        counts[name[:2]] = len(found)
        assert all(
            {"output_tok_s", "duration_s", "completed", "e2e_mean_ms"} <= row.keys() for _, row in found
        )
        assert len(found) == text.count("Serving Benchmark Result")
    assert counts["27"] >= 2


def test_a_benchmark_without_clients_is_not_one_of_a_server() -> None:
    offline = {
        "backend": "engine",
        "successful_requests": 10,
        "total_latency": 3.0,
        "output_throughput": 333.0,
    }
    assert read_jsonl_line(json.dumps(offline)) is None
