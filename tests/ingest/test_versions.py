"""The version that lines allow, for every version whose lines were measured."""

import csv
from itertools import product
from pathlib import Path
from typing import Any

from speclog.ingest.reader import LogReader
from speclog.ingest.versions import compare_key, infer


def test_every_measured_version_lies_in_its_inferred_range(shared: Path) -> None:
    by_version: dict[str, list[str]] = {}
    with (shared / "formats" / "lines.tsv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["kind"] in {"decode_batch_spec", "prefill_batch", "kv_cache_alloc", "load_weight_end", "cuda_graph_begin",  # noqa: E501
                               "cuda_graph_end", "max_total_num_tokens", "torch_dist_begin", "server_args_shape"}:  # fmt: skip  # noqa: E501
                by_version.setdefault(row["version"], []).append(row["line"])
    found: dict[str, Any] = {}
    for version, lines in by_version.items():
        lines.sort(key=lambda line: "server_args=" not in line)
        reader = LogReader()
        reader.feed(("\n".join(lines) + "\n").encode())
        found[version] = infer(reader.sessions[-1])
        low, high = found[version]
        assert compare_key(low) <= compare_key(version), (version, found[version])
        assert high is None or compare_key(version) <= compare_key(high), (version, found[version])
    print(found)
    assert len(found) == 24


def test_what_is_left_of_a_log_does_not_exclude_its_version(shared: Path) -> None:
    """Each batch line alone, and with one start-up line: less is known then, and nothing wrong."""
    batches: dict[str, list[str]] = {}
    starts: dict[str, list[str]] = {}
    with (shared / "formats" / "lines.tsv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["kind"].startswith(("decode_batch", "prefill_batch")):
                batches.setdefault(row["version"], [""]).append(row["line"])
            elif row["kind"].startswith(
                ("cuda_graph_begin", "load_weight_end", "kv_cache", "max_total", "serv")
            ):
                starts.setdefault(row["version"], [""]).append(row["line"])
    wrong = []
    for version, lines in batches.items():
        for line, before in product(lines, starts[version]):
            reader = LogReader()
            reader.feed(f"{before}\n{line}\n".encode())
            low, high = infer(reader.sessions[-1]) or ("0", None)
            if compare_key(version) < compare_key(low) or (high and compare_key(high) < compare_key(version)):
                wrong.append((version, low, high, line[:60], before[:60]))
    assert not wrong


def test_a_batch_line_behind_the_rest_of_a_wrapped_bar_tells_its_version() -> None:
    """What is left of the wrapper before the bar is a line of the same number."""
    bar = "sglang-1  | \r 50%|#####     | 4/8 [00:02<00:02,  1.90it/s]\r"
    decode = (
        "[2026-01-29 01:16:05 TP0] Decode batch. #running-req: 1, #token: 5, token usage: 0.12, "
        "cuda graph: True, gen throughput (token/s): 320.00, #queue-req: 0"
    )
    prefill = (
        "[2026-01-29 01:16:05 TP0] Prefill batch. #new-seq: 1, #new-token: 1024, #cached-token: 256, "
        "token usage: 0.12, #running-req: 7, #queue-req: 0"
    )
    for lines in ((decode,), (prefill, decode), (f"{prefill}\r{decode}",), (f"{decode}\r{prefill}",)):
        reader = LogReader()
        reader.feed("".join(f"{bar}{text}\n" for text in lines).encode())
        assert infer(reader.sessions[-1]) == ("0.4.6", "0.4.8")
        assert reader.sessions[-1].first_decode == decode
        assert reader.sessions[-1].identity in {prefill, decode}
