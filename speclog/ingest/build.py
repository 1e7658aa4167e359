"""A finished session as frames of the raw tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from speclog import __version__
from speclog.ingest import facts, versions
from speclog.ingest.batches import mark_step
from speclog.ingest.schema import conform, rows_frame
from speclog.ingest.session import Session

if TYPE_CHECKING:
    import polars as pl

PARSER_VERSION = 1
"""Raised when the same bytes would give other rows; a log read by an older one is then read again."""

Frames = dict[str, "pl.DataFrame"]


@dataclass(frozen=True, slots=True)
class Ids:
    """What ties the rows of one ingest together."""

    ingest_id: str
    run_id: str
    name: str
    source: str


def frames(session: Session, ids: Ids, size: int) -> Frames:
    """All rows of a session by raw table; ``size`` is the bytes of its log."""
    facts.derive(session)
    known = version_range(session)
    tables: Frames = {
        "raw_run": rows_frame([_run(session, ids, known)], "run"),
        "raw_ingest": rows_frame([_ingest(session, ids, size)], "ingest"),
        "raw_server_arg": rows_frame(list(_args(session)), "server_arg"),
        "raw_env_var": rows_frame(list(_env(session)), "env_var"),
        "raw_env_scan": rows_frame(
            [{"prefix": p, "line_no": session.manifest_line} for p in session.env_prefixes], "env_scan"
        ),
        "raw_fact": rows_frame(list(_facts(session)), "fact"),
        "raw_event": rows_frame([_event(session, event) for event in session.events], "event"),
        "raw_profile_window": rows_frame(
            [_profile(session, row) for row in session.profile_rows], "profile_window"
        ),
        "raw_bench_result": rows_frame([_bench(row) for row in session.bench_rows], "bench_result"),
    }
    tables["raw_decode_window"] = windows(session, known)
    tables["raw_prefill_batch"] = prefills(session)
    return {name: _stamp(frame, ids) for name, frame in tables.items() if not frame.is_empty()}


def _stamp(frame: pl.DataFrame, ids: Ids) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(ingest_id=pl.lit(ids.ingest_id), run_id=pl.lit(ids.run_id))


def _utc(session: Session, ts: datetime | None) -> datetime | None:
    """A log time in UTC when the offset is known, as printed otherwise."""
    if ts is None or session.utc_offset_s is None:
        return ts
    return ts - timedelta(seconds=session.utc_offset_s)


def version_range(session: Session) -> tuple[str | None, str | None]:
    """Oldest and newest possible engine version; both the exact one when it is known."""
    if session.version is not None:
        return session.version, session.version
    return versions.infer(session) or (None, None)


def windows(session: Session, known: tuple[str | None, str | None]) -> pl.DataFrame:
    """Rows of raw_decode_window, accept length corrected for the version's bias."""
    import polars as pl

    if not session.windows:
        return pl.DataFrame()
    frame = _shift(session, pl.concat(session.windows, how="diagonal_relaxed"))
    session.windows = []
    for name, source in (
        ("token", "full_token"),
        ("token_usage", "full_token_usage"),
        ("token", "gpu_token"),
    ):
        if name not in frame.columns and source in frame.columns:
            frame = frame.with_columns(pl.col(source).alias(name))
    if "accept_len_raw" in frame.columns:
        frame = _correct(frame, session, known)
    return conform(frame, "decode_window")


def _correct(frame: pl.DataFrame, session: Session, known: tuple[str | None, str | None]) -> pl.DataFrame:
    """0.5.3's overlap worker counts the bonus twice; <= 0.5.2 mixes prefills into windows that hold any."""
    import polars as pl

    beta = session.args.get("enable_beta_spec") == "true"
    raw = pl.col("accept_len_raw")
    frame = frame.with_columns((raw - 1 if beta else raw).alias("accept_len"))
    newest = known[1]
    if newest is not None and versions.compare_key(newest) <= (0, 5, 2):
        biased = (pl.col("prefills_since") > 0) & raw.is_not_null()
        flag = pl.when(biased).then(pl.lit("lowered by the prefills in it")).alias("accept_len_bias")
        frame = frame.with_columns(flag)
    return frame


def prefills(session: Session) -> pl.DataFrame:
    """Rows of raw_prefill_batch."""
    import polars as pl

    if not session.prefills:
        return pl.DataFrame()
    frame = _shift(session, pl.concat(session.prefills, how="diagonal_relaxed"))
    session.prefills = []
    if "token_usage" not in frame.columns and "full_token_usage" in frame.columns:
        frame = frame.with_columns(pl.col("full_token_usage").alias("token_usage"))
    return conform(frame, "prefill_batch")


def _shift(session: Session, frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    if session.utc_offset_s:
        return frame.with_columns(pl.col("ts") - pl.duration(seconds=session.utc_offset_s))
    return frame


def _run(session: Session, ids: Ids, known: tuple[str | None, str | None]) -> dict[str, Any]:
    manifest = session.manifest
    return {
        "name": ids.name,
        "engine": session.engine or "sglang",
        "version": session.version,
        "version_min": known[0],
        "version_max": known[1],
        "version_source": session.version_source or ("inferred" if known[0] else None),
        "started_at": _utc(session, session.started_at),
        "ended_at": _utc(session, session.ended_at),
        "ready_at": _utc(session, session.ready_at),
        "utc_offset_s": session.utc_offset_s,
        "served": session.n_windows > 0,
        "end_reason": end_reason(session),
        "synthetic": session.synthetic,
        "profile": _text(manifest.get("profile")),
        "overlays": _texts(manifest.get("overlays")),
        "arm": _text(manifest.get("arm")),
        "repeat": manifest.get("repeat") if isinstance(manifest.get("repeat"), int) else None,
        "argv": _texts(manifest.get("argv")),
        "host_hash": _text(manifest.get("host_hash")),
        "git_commit": _text(manifest.get("git_commit")),
        "manifest_line": session.manifest_line,
        "server_args_line": session.args_line,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _texts(value: object) -> list[str] | None:
    return [str(item) for item in value] if isinstance(value, list) else None


def end_reason(session: Session) -> str:
    """How the session ended: the first event below its last decode line that ends a server.

    'shutdown', 'crash', 'oom' or 'killed'; 'open' when the log just stops. A server that another one follows
    in the same file, or whose launcher said so, was killed.
    """
    from speclog.formats.spec import load_kinds

    reasons = {kind.name: kind.end_reason for kind in load_kinds() if kind.end_reason}
    for event in session.events:
        if event["kind"] in reasons and event["line_no"] > session.last_window_line:
            return reasons[event["kind"]]
    if session.ended:
        ends = [event["fields"] for event in session.events if event["kind"] == "speclog_end"]
        return "shutdown" if ends and ends[-1].get("exit_code") == 0 else "killed"
    return "killed" if session.followed else "open"


def _ingest(session: Session, ids: Ids, size: int) -> dict[str, Any]:
    return {
        "source": ids.source,
        "session_index": session.index,
        "sha256": session.digest.hexdigest(),
        "parser_version": PARSER_VERSION,
        "speclog_version": __version__,
        "ingested_at": datetime.now(UTC).replace(tzinfo=None),
        "status": "complete",
        "bytes": size,
        "lines": session.last_line - session.first_line + 1,
        "first_line": session.first_line,
        "last_line": session.last_line,
        "unknown_lines": session.unknown,
        "unknown_samples": session.unknown_samples,
        "sidecars": session.sidecars,
    }


def _args(session: Session) -> Iterable[dict[str, Any]]:
    for name, value in session.args.items():
        yield {"name": name, "value": value, "source": session.args_source, "line_no": session.args_line}


def _env(session: Session) -> Iterable[dict[str, Any]]:
    for name, fact in session.env.items():
        yield {"name": name, "value": fact.value, "source": fact.source, "line_no": fact.line_no}


def _facts(session: Session) -> Iterable[dict[str, Any]]:
    for name, fact in session.facts.items():
        yield {"name": name, "value": fact.value, "source": fact.source, "line_no": fact.line_no}


def _event(session: Session, event: dict[str, Any]) -> dict[str, Any]:
    fields = event["fields"]
    return event | {
        "ts": _utc(session, event["ts"]),
        "message": event["message"].rstrip(),
        "fields": json.dumps(fields, ensure_ascii=False) if fields else None,
    }


def _profile(session: Session, row: dict[str, Any]) -> dict[str, Any]:
    mark = mark_step(session.marks, row["line_no"])
    step = {"step": mark.step, "warmup": mark.warmup} if mark else {}
    return row | step | {"ts": _utc(session, row["ts"])}


def _bench(row: dict[str, Any]) -> dict[str, Any]:
    from speclog.ingest.schema import table_schema

    known = table_schema("bench_result")
    spare = {name: value for name, value in row.items() if name not in known}
    kept = {name: value for name, value in row.items() if name in known}
    return kept | ({"extra": json.dumps(spare, ensure_ascii=False)} if spare else {})
