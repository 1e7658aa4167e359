"""Every line of the measured table (24 SGLang versions) gives its kind and its values, by both readers."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np

from speclog.formats.block import block_of
from speclog.formats.columns import Batches, BatchReader
from speclog.formats.engine import Record, read_line
from speclog.formats.spec import load_kinds
from speclog.formats.texts import TextReader

GRAPH_ROLES = {
    "cuda_graph_begin": {"", "target verify"},
    "cuda_graph_end": {"", "target verify"},
    "cuda_graph_begin_nospec": {"target decode"},
    "cuda_graph_begin_draft": {"draft", "draft decode"},
    "cuda_graph_end_draft": {"draft", "draft decode"},
    "cuda_graph_begin_draft_extend": {"draft extend"},
    "cuda_graph_end_draft_extend": {"draft extend"},
}

# What every line of the table was made with: 8 requests x 40 rounds, 848 tokens, fixed sizes.
SCALARS: dict[str, Any] = {
    "running_req": 8, "token": 15728, "token_usage": 0.12, "full_token": 15728, "full_token_usage": 0.12,
    "swa_token": 8192, "swa_token_usage": 0.25, "mamba_num": 8, "mamba_usage": 0.05, "accept_len_raw": 2.65,
    "pre_allocated_usage": 0.05, "retracted_req": 0, "largest_len": 1536, "fwd_occupancy_pct": 91.25,
    "fwd_idle_occupancy_pct": 93.1, "est_decode_tflops_s": 20.0, "est_read_gb_s": 1500.0,
    "est_write_gb_s": 21.0,
    "new_seq": 1, "new_token": 1024, "cached_token": 256, "est_prefill_tflops_s": 100.0,
    "unbootstrapped_req": 2, "transferring_req": 1, "bootstrap_req": 2, "inflight_req": 1,
    "optimistic_req": 0,
    "prealloc_req": 2, "transfer_req": 1, "queue_req": 0, "pending_token": 0,
}  # fmt: skip


def rows(shared: Path) -> list[dict[str, str]]:
    with (shared / "formats" / "lines.tsv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def expected_kind(kind: str) -> str:
    if kind.startswith("prefix_"):
        return "load_weight_begin"
    if kind.startswith(("decode_batch", "prefill_batch")):
        return kind.split("_")[0] + "_batch"
    if kind.startswith("cuda_graph"):
        return "graph_begin" if "_begin" in kind else "graph_end"
    return {
        "uvicorn": "access",
        "server_args_shape": "server_args",
        "tqdm_capture": "progress_bar",
        "tqdm_load": "progress_bar",
    }.get(kind, kind)


def check(row: dict[str, str], record: Record, fields: dict[str, list[str]]) -> list[str]:
    """Differences between a record and what an independent reading of the line says."""
    kind, line, got = row["kind"], row["line"], record.fields
    wrong = [f"undeclared {record.extra}"] if record.extra else []
    tags = re.match(r"\[[\d: .-]+?((?: [A-Z_]+\d+)*)\]", line)
    if tags and record.prefix.rank != tags[1].strip():
        wrong.append(f"rank {record.prefix.rank!r}")
    if tags and record.prefix.ts is None:
        wrong.append("no time")
    if kind.startswith(("decode_batch", "prefill_batch")):
        return wrong + check_batch(kind, line, got)
    if kind in GRAPH_ROLES and got["role"] not in GRAPH_ROLES[kind]:
        wrong.append(f"role {got['role']!r}")
    if kind == "server_args_shape":
        expected = list(dict.fromkeys(fields[row["version"]]))
        return wrong + ([] if list(got) == expected else [f"arguments {set(expected) ^ set(got)}"])
    return wrong + (check_numbers(line, got) if record.kind.fields else [])


def check_batch(kind: str, line: str, got: dict[str, Any]) -> list[str]:
    """Each printed piece must be in the record, with its own number, and nothing else."""
    body = re.split(r"(?:Decode|Prefill) batch", line, maxsplit=1)[1]
    iteration = re.match(r" \[(\d+)\]", body)
    pieces = [p.strip() for p in re.sub(r"^(?: \[\d+\])?[.,] ", "", body).split(", ") if ": " in p]
    wrong = []
    if len(got) != len(pieces) + bool(iteration):
        wrong.append(f"{len(got)} fields of {len(pieces)} pieces")
    if iteration and got.get("iteration") != int(iteration[1]):
        wrong.append("iteration")
    scalars = SCALARS | ({"running_req": 7} if kind.startswith("prefill") else {})
    wrong += [f"{name}={value}" for name, value in got.items() if name in scalars and value != scalars[name]]
    for key, name in (
        ("accept rate", "accept_rate_raw"),
        ("gen throughput (token/s)", "gen_tok_s"),
        ("input throughput (token/s)", "input_tok_s"),
    ):
        found = re.search(re.escape(key) + r": ([\d.]+)", line)
        if (found is not None) != (name in got) or (found and float(found[1]) != got[name]):
            wrong.append(name)
    graph = re.search(r"graph: (\w+)", line)
    if (got.get("graph") if graph else None) is not (graph[1] == "True" if graph else None):
        wrong.append("graph")
    return wrong


def check_numbers(line: str, got: dict[str, Any]) -> list[str]:
    """Every number that follows a key of a line must be among the record's values."""
    message = line.split("] ", 1)[-1] if line.startswith("[") else line
    printed = [float(n) for n in re.findall(r"[=:>] ?(-?\d+(?:\.\d+)?)(?=ms|,| |\)|\.$|\. |$)", message)]
    values = [float(v) for v in got.values() if isinstance(v, (int, float))]
    listed = [float(x) for v in got.values() if isinstance(v, list) for x in v]
    return [f"number {n} was not read" for n in printed if n not in values and n not in listed]


def server_args_fields(shared: Path) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    with (shared / "formats" / "server_args_fields.tsv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            fields.setdefault(row["version"], []).append(row["field"])
    return fields


def test_every_line_gives_its_kind_and_fields(shared: Path) -> None:
    every, fields = rows(shared), server_args_fields(shared)
    wrong: list[tuple[str, str, object]] = []
    for row in every:
        record = read_line(row["line"])
        if record is None or record.kind.name != expected_kind(row["kind"]):
            wrong.append((row["version"], row["kind"], record and record.kind.name))
        else:
            wrong += [(row["version"], row["kind"], text) for text in check(row, record, fields)]
    print(f"checked {len(every)} lines of {len({row['kind'] for row in every})} kinds")
    assert len(every) == 867
    assert wrong == []


SLOW = 12
"""Batch lines of the table that have no layout: DSPARK's, whose value holds commas."""


def test_columns_equal_the_engine(shared: Path) -> None:
    """The fast reader and the engine agree on every batch line of every version."""
    kinds = {kind.name: kind for kind in load_kinds()}
    checked = 0
    for name in ("decode_batch", "prefill_batch"):
        lines = [row["line"] for row in rows(shared) if expected_kind(row["kind"]) == name]
        block = block_of("\n".join(lines).encode(), np.arange(1, len(lines) + 1))
        batches = Batches()
        rest, others = BatchReader().read(block, batches, TextReader(lambda text: False))
        assert (len(rest), others.whole()) == (0, [])
        assert sum(len(rows) for rows in batches.slow.values()) <= SLOW
        found = batches.frames()[kinds[name].table]
        names = {field.name for field in kinds[name].fields} | {"iteration"}
        for line, got in zip(lines, found.iter_rows(named=True), strict=True):
            record = read_line(line)
            assert record is not None
            assert got["ts"] == record.prefix.ts
            assert {k: v for k, v in got.items() if v is not None and k in names} == record.fields, line
            ranks = [got.get(c) for c in ("dp_rank", "pp_rank", "tp_rank", "ep_rank")]
            assert ranks == [record.prefix.number(t) for t in ("DP", "PP", "TP", "EP")]
            checked += 1
    print(f"checked {checked} batch lines")
    assert checked == 251
