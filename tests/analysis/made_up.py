"""Runs made up line by line: every number in them is known."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl

ROUNDS = 40


def window(
    batch_size: int, context: float, round_ms: float, tau: float = 1.0, **more: object
) -> dict[str, Any]:
    """A decode line whose middle context and round time are as given (up to the rounding of #token)."""
    token = round(batch_size * (context + ROUNDS * tau / 2))
    row = {
        "running_req": batch_size,
        "token": token,
        "accept_len": tau,
        "gen_tok_s": batch_size * tau * 1000 / round_ms,
        "graph": True,
        "prefills_since": 0,
        "queue_req": 0,
    }
    return row | more


def with_starts(windows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put before the windows of each batch size the line a server prints first there: never clean."""
    rows: list[dict[str, Any]] = []
    for row in windows:
        if not rows or rows[-1]["running_req"] != row["running_req"]:
            rows.append(row | {"prefills_since": 1})
        rows.append(row)
    return rows


def frames(
    name: str, windows: Sequence[dict[str, Any]], *, speculative: bool, engine: str = "sglang"
) -> dict[str, pl.DataFrame]:
    """Raw frames of one run named ``name`` whose lines start at 101."""
    key = {"ingest_id": f"i-{name}", "run_id": f"id-{name}"}
    rows = [
        key | {"source_index": 0, "line_no": 101 + place, "dp_rank": 0} | row
        for place, row in enumerate(windows)
    ]
    decode = pl.DataFrame(rows, infer_schema_length=None)
    algorithm = '"EAGLE3"' if speculative else "null"
    return {
        "raw_run": pl.DataFrame(
            [
                key
                | {"name": name, "engine": engine, "served": bool(rows), "end_reason": "shutdown"}
                | {"synthetic": True}
            ]
        ),
        "raw_server_arg": pl.DataFrame(
            [key | {"name": "speculative_algorithm", "value": algorithm, "source": "log"}]
        ),
        "raw_decode_window": decode,
        "raw_ingest": pl.DataFrame(
            [
                key
                | {"source": f"logs/{name}.log", "session_index": 0, "sha256": name, "parser_version": 1}
                | {"speclog_version": "0", "ingested_at": datetime(2026, 11, 29), "status": "complete"}
            ]
        ),
    }
