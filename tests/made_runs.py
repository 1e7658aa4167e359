"""Frames of made-up runs, as ingest would append them, for tests of the store."""

import hashlib
from datetime import datetime, timedelta

import polars as pl

START = datetime(2026, 11, 1, 12)


def frames(
    name: str,
    *,
    speculative: bool = True,
    windows: int = 20,
    ingest: str = "1",
    at: datetime = START,
    model: str = "meta-llama/Llama-3.1-8B",
    host: str = "host",
) -> dict[str, pl.DataFrame]:
    """One run of one log: its arguments, its decode windows, two events and its ingest row.

    ``ingest`` tells ingests of the same run apart (its sha256 follows it); ``at`` is when it was ingested.
    """
    run_id = hashlib.sha256(f"{host}/{name}".encode()).hexdigest()[:24]
    ids = {"ingest_id": f"{run_id}-{ingest}", "run_id": run_id}
    arguments = {
        "model_path": f'"{model}"',
        "tp_size": "8",
        "speculative_algorithm": '"EAGLE3"' if speculative else "null",
        "speculative_num_steps": "5" if speculative else "null",
        "decode_log_interval": "40",
    }
    return {
        "raw_run": pl.DataFrame(
            [{**ids, "name": name, "engine": "sglang", "version": "0.5.9", "started_at": START,
              "served": True, "end_reason": "shutdown", "synthetic": True,
              "ended_at": START + timedelta(seconds=windows)}]
        ),
        "raw_server_arg": pl.DataFrame(
            [{**ids, "name": key, "value": value, "source": "server_args", "line_no": 1}
             for key, value in arguments.items()]
        ),
        "raw_decode_window": pl.DataFrame([{**ids, **_window(n, speculative)} for n in range(windows)]),
        "raw_event": pl.DataFrame(
            [{**ids, "source_index": 0, "line_no": n, "line_end": n, "kind": kind,
              "message": "it's; 'quoted' \x1b[31m"}
             for n, kind in ((2, "ready"), (windows + 3, "shutdown"))]
        ),
        "raw_ingest": pl.DataFrame(
            [{**ids, "source": f"/logs/{name}.log", "session_index": 0, "parser_version": 1,
              "speclog_version": "0",
              "sha256": hashlib.sha256(f"{run_id}{ingest}".encode()).hexdigest(), "ingested_at": at,
              "status": "complete", "first_line": 1, "last_line": windows + 3, "lines": windows + 3}]
        ),
    }  # fmt: skip


def _window(n: int, speculative: bool) -> dict[str, object]:
    batch, accept = 1, 2.1 + 0.01 * (n % 7) if speculative else None
    round_ms = (29.9 if speculative else 15.9) + 0.002 * n + 0.05 * (n % 3)
    return {
        "source_index": 0,
        "line_no": n + 3,
        "ts": START + timedelta(seconds=n),
        "running_req": batch,
        "token": 500 + 84 * n if speculative else 500 + 40 * n,
        "token_usage": 0.1,
        "accept_len": accept,
        "accept_len_raw": accept,
        "graph": True,
        "gen_tok_s": batch * (accept or 1.0) / round_ms * 1000,
        "queue_req": 0,
        "prefills_since": 1 if n == 0 else 0,
        "warmup": False,
    }
