"""How long everyday questions take on a store of 10 million decode windows.

    python -m bench.store [--windows 10000000] [--runs 1000] [--store .bench/store-10m.duckdb] [--rounds 3] [--write]

Builds the store once (runs of one machine, half of them speculative, at six batch sizes; about two minutes),
then times the commands as a user runs them, each in its own process (about a minute). Prints; asserts nothing;
``--write`` puts the figures into docs/performance.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from bench import section
from speclog.store import open_store

BATCHES = (1, 2, 4, 8, 16, 32)
START = datetime(2026, 1, 1)
CANDIDATE, BASELINE = "run-0000", "run-0001"


def run_frames(number: int, windows: int) -> dict[str, pl.DataFrame]:
    """One run: even numbers speculate. A level lasts windows/6 lines; a request lasts 30 of them."""
    rng = np.random.default_rng(number)
    speculative = number % 2 == 0
    run_id = f"{number:024x}"
    ids = {"ingest_id": f"{run_id}-1", "run_id": run_id}
    line = np.arange(windows)
    batch = np.array(BATCHES)[np.minimum(line * len(BATCHES) // windows, len(BATCHES) - 1)]
    place = line % 30
    accept = rng.normal(2.4, 0.08, windows).clip(1.05, 5.9) if speculative else np.ones(windows)
    context = 200 + (place + 0.5) * 40 * accept.mean()
    round_ms = (
        (9.0 + 0.16 * batch + 0.0022 * context) if speculative else (5.6 + 0.05 * batch + 0.0005 * context)
    )
    round_ms = round_ms * rng.normal(1, 0.01, windows)
    start = START + timedelta(hours=number)
    decode = pl.DataFrame(
        {
            "source_index": np.zeros(windows, dtype=np.int32),
            "line_no": line + 10,
            "ts": pl.Series(line * 1000).cast(pl.Duration("ms")) + start,
            "running_req": batch.astype(np.int32),
            "token": (batch * (context + 20 * accept)).astype(np.int64),
            "token_usage": np.full(windows, 0.2),
            "accept_len": accept if speculative else pl.Series([None] * windows, dtype=pl.Float64),
            "accept_len_raw": accept if speculative else pl.Series([None] * windows, dtype=pl.Float64),
            "graph": np.full(windows, True),
            "gen_tok_s": batch * accept / round_ms * 1000,
            "queue_req": np.zeros(windows, dtype=np.int32),
            "prefills_since": (place == 0).astype(np.int32),
            "warmup": np.full(windows, False),
        }
    ).with_columns(pl.lit(value).alias(key) for key, value in ids.items())
    arguments = {
        "model_path": '"meta-llama/Llama-3.1-8B-Instruct"',
        "speculative_algorithm": '"EAGLE3"' if speculative else "null",
        "speculative_num_steps": "5" if speculative else "null",
        "speculative_eagle_topk": "1" if speculative else "null",
        "speculative_num_draft_tokens": "6" if speculative else "null",
        "tp_size": "1",
        "dp_size": "1",
        "decode_log_interval": "40",
        **{f"argument_{n}": str(n) for n in range(150)},  # a server prints about this many
    }
    end = start + timedelta(seconds=windows)
    return {
        "raw_run": pl.DataFrame(
            [
                {
                    **ids,
                    "name": f"run-{number:04d}",
                    "engine": "sglang",
                    "version": "0.5.9",
                    "started_at": start,
                    "ended_at": end,
                    "served": True,
                    "end_reason": "shutdown",
                    "synthetic": True,
                    "server_args_line": 1,
                }
            ]
        ),
        "raw_server_arg": pl.DataFrame(
            [
                {**ids, "name": name, "value": value, "source": "server_args", "line_no": 1}
                for name, value in arguments.items()
            ]
        ),
        "raw_env_var": pl.DataFrame(
            [
                {**ids, "name": f"NCCL_{n}", "value": str(n), "source": "manifest", "line_no": 2}
                for n in range(10)
            ]
        ),
        "raw_env_scan": pl.DataFrame([{**ids, "prefix": "NCCL_", "line_no": 2}]),
        "raw_decode_window": decode,
        "raw_ingest": pl.DataFrame(
            [
                {
                    **ids,
                    "source": f"/logs/run-{number:04d}.log",
                    "session_index": 0,
                    "sha256": run_id,
                    "parser_version": 1,
                    "speclog_version": "0",
                    "ingested_at": end,
                    "status": "complete",
                    "first_line": 1,
                    "last_line": windows + 10,
                    "lines": windows + 10,
                }
            ]
        ),
    }


def build(target: str, windows: int, runs: int) -> None:
    """Fill the store, twenty runs a transaction; a store that has its rows already is left alone."""
    each = windows // runs
    with open_store(target, read_only=False) as store:
        have = store.rows("SELECT count(*) FROM raw_run")[0][0]
        began = time.perf_counter()
        for first in range(have, runs, 20):
            batch = [run_frames(number, each) for number in range(first, min(first + 20, runs))]
            store.append(
                {
                    table: pl.concat([one[table] for one in batch], how="vertical_relaxed")
                    for table in batch[0]
                }
            )
        if have < runs:
            seconds = time.perf_counter() - began
            print(f"built: {(runs - have) * each:,} windows in {seconds:.0f} s")


def main() -> None:
    """Parse the options, build, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--windows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--store", default=".bench/store-10m.duckdb")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md, section bench-store")
    options = parser.parse_args()
    Path(options.store).parent.mkdir(parents=True, exist_ok=True)
    build(options.store, options.windows, options.runs)
    lines = show(options.store, options.rounds)
    if options.write:
        section.write("bench-store", lines)


def questions(scratch: str) -> dict[str, list[str]]:
    """What is asked: name -> arguments of the command."""
    candidate, baseline = f"{0:024x}", f"{1:024x}"
    pair = f"candidate = '{candidate}' AND baseline = '{baseline}'"
    return {
        "`speclog runs`": ["runs"],
        "levels of one run (`level`)": ["sql", f"FROM level WHERE run_id = '{candidate}'"],
        "numbers of one pair (`level_pair`)": ["sql", f"FROM level_pair WHERE {pair}"],
        "verdict and numbers of one pair (`break_even`)": ["sql", f"FROM break_even WHERE {pair}"],
        "factors of one pair (`comparison_factor`)": ["sql", f"FROM comparison_factor WHERE {pair}"],
        "`speclog check` of one pair": [
            "check",
            "--vs",
            BASELINE,
            "--run",
            CANDIDATE,
            "--fail-on",
            "regression",
        ],
        "one report": ["report", "--vs", BASELINE, "--run", CANDIDATE, "--out-dir", scratch],
    }


def show(target: str, rounds: int) -> list[str]:
    """Time every question; the section's lines."""
    with open_store(target) as store:
        windows = store.rows("SELECT count(*) FROM raw_decode_window")[0][0]
        runs = store.rows("SELECT count(*) FROM raw_run")[0][0]
        size = store.size() or 0
    head = (
        f"{section.machine()} {windows:,} decode windows, {runs} runs, {size / 1e6:.0f} MB; best of {rounds}."
    )
    print(head)
    with tempfile.TemporaryDirectory() as scratch:
        return [head, "", *section.table(target, questions(scratch), rounds)]


if __name__ == "__main__":
    main()
