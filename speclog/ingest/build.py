"""Sessions and their rows as frames of the raw tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from speclog import __version__
from speclog.ingest import facts, versions
from speclog.ingest.events import event_frame, in_utc
from speclog.ingest.rows import Buffer
from speclog.ingest.schema import conform, rows_frame, table_schema
from speclog.ingest.session import Session
from speclog.store.rows import Rows

if TYPE_CHECKING:
    import polars as pl

PARSER_VERSION = 6
"""Raised when the same bytes would give other rows; a log read by an older one is then read again."""

Frames = dict[str, Rows]
Row = dict[str, Any]
Written = set[tuple[int, str, str]]
"""(session, table, name) of what was said once and is in the store."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where sessions come from: path as given, and the name of each session's run."""

    source: str
    names: Mapping[int, str]


def row_frames(buffer: Buffer, sessions: Sequence[Session]) -> Frames:
    """Rows of a buffer by raw table, ready to write; from now on its sessions' ids and clocks are settled."""
    tables: Frames = {}
    batches = dict(buffer.frames)
    if buffer.intervals:
        batches["decode_window"] = [*batches.get("decode_window", []), _intervals(buffer.intervals)]
    for table, parts in batches.items():
        frame, same = _batches(table, parts, sessions)
        if table == "decode_window":
            tables["raw_decode_detail"] = Rows(_detail(frame), same)
        tables[f"raw_{table}"] = Rows(conform(frame, table), same)
    tables["raw_event"] = Rows(event_frame(sessions, buffer))
    profile = [_profile(sessions, r) for r in buffer.profile]
    tables["raw_profile_window"] = Rows(rows_frame(profile, "profile_window"))
    return {name: rows for name, rows in tables.items() if not rows.frame.is_empty()}


def session_frames(
    sessions: Sequence[Session], origin: Origin, written: Written | None = None, *, last: bool = True
) -> Frames:
    """What is said once of each session: run, ingest, arguments, environment, facts, benchmark results.

    ``written``, kept from call to call while a log is followed, says which of these are in the store;
    ``last`` that no more lines will be read: what follows from all of a session's is said only then.
    """
    found: dict[str, list[Row]] = {}
    for session in sessions:
        whole = last or session.followed
        if whole or session.n_windows:
            facts.derive(session, whole=whole)
        ids = _ids(session)
        for table, rows in _session_rows(session, origin):
            new = rows if written is None else _unwritten(session, table, rows, written)
            for row in new:
                row.update(ids)
            found.setdefault(table, []).extend(new)
    tables = {f"raw_{table}": Rows(rows_frame(rows, table)) for table, rows in found.items() if rows}
    return tables | args_frames(sessions, written)


def args_frames(sessions: Sequence[Session], written: Written | None = None) -> Frames:
    """The arguments of sessions, of those that have not been written on the way."""
    args = _args([session for session in sessions if not session.args_written], written)
    return {} if args.is_empty() else {"raw_server_arg": Rows(args)}


def _unwritten(session: Session, table: str, rows: list[Row], written: Written) -> list[Row]:
    if table in {"run", "ingest"}:
        return rows
    new = []
    for row in rows:
        key = (session.index, table, str(row.get("name") or row.get("prefix") or row.get("line_no")))
        if key not in written:
            written.add(key)
            new.append(row)
    return new


def _session_rows(session: Session, origin: Origin) -> Iterator[tuple[str, list[Row]]]:
    yield "run", [_run(session, origin)]
    yield "env_var", [_named(name, fact) for name, fact in session.env.items()]
    yield "env_scan", [{"prefix": p, "line_no": session.manifest_line} for p in session.env_prefixes]
    yield "fact", [_named(name, fact) for name, fact in session.facts.items()]
    yield "bench_result", [_bench(row) for row in session.bench_rows]
    yield "ingest", [_ingest(session, origin)]


def _ids(session: Session) -> Row:
    return {"ingest_id": session.ingest_id, "run_id": session.run_id}


def version_range(session: Session) -> tuple[str | None, str | None]:
    """Oldest and newest possible engine version; both the exact one when it is known."""
    if session.version is not None:
        return session.version, session.version
    return versions.infer(session) or (None, None)


def _batches(
    table: str, parts: list[pl.DataFrame], sessions: Sequence[Session]
) -> tuple[pl.DataFrame, dict[str, object]]:
    """Batch rows in UTC, accept length corrected, pool sizes under their plain names; what all rows share.

    Their ids are among what they share if all are of one session, else columns.
    """
    import polars as pl

    frame = parts[0] if len(parts) == 1 else pl.concat(parts, how="diagonal_relaxed")
    used = [sessions[index] for index in frame["session"].unique().to_list()]
    same: dict[str, object] = {}
    if len(used) == 1 and frame["source_index"].n_unique() == 1:
        same = {**_ids(used[0]), "source_index": int(frame["source_index"][0])}
        frame = _in_utc(frame, used).drop("source_index")
    else:
        frame = _with_ids(_in_utc(frame, used), used)
    plain = {"token_usage": ["full_token_usage"]}
    if table == "decode_window":
        plain["token"] = ["full_token", "gpu_token"]
        frame = _correct(frame, used)
    for name, sources in plain.items():
        known = [pl.col(source) for source in (name, *sources) if source in frame.columns]
        if len(known) > 1 or name not in frame.columns:
            frame = frame.with_columns(pl.coalesce(known).alias(name)) if known else frame
    return frame, same


def _intervals(rows: list[Row]) -> pl.DataFrame:
    """Windows reported for intervals of time (vLLM): shares instead of per cent, one engine a DP rank."""
    import polars as pl

    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("session").cast(pl.Int64))
    if "kv_usage_pct" in frame.columns:
        frame = frame.with_columns((pl.col("kv_usage_pct") / 100).alias("token_usage")).drop("kv_usage_pct")
    return frame.with_columns(pl.col("prefills_since").cast(pl.Int32), pl.col("source_index").cast(pl.Int32))


def _in_utc(frame: pl.DataFrame, used: Sequence[Session]) -> pl.DataFrame:
    """``ts`` in UTC where a session's offset is known."""
    import polars as pl

    if not any(s.utc_offset_s for s in used):
        return frame
    offset = _by_session(used, lambda s: s.utc_offset_s or 0, pl.Int64())
    return frame.with_columns(pl.col("ts") - pl.duration(seconds=offset))


def _with_ids(frame: pl.DataFrame, used: Sequence[Session]) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(
        _by_session(used, lambda s: s.ingest_id, pl.String()).alias("ingest_id"),
        _by_session(used, lambda s: s.run_id, pl.String()).alias("run_id"),
    )


def _by_session(used: Sequence[Session], value: Any, dtype: pl.DataType) -> pl.Expr:
    import polars as pl

    values = {session.index: value(session) for session in used}
    if len(values) == 1:
        return pl.lit(next(iter(values.values())), dtype)
    return pl.col("session").replace_strict(values, return_dtype=dtype)


def _correct(frame: pl.DataFrame, used: Sequence[Session]) -> pl.DataFrame:
    """0.5.3's overlap worker counts the bonus twice; <= 0.5.2 mixes prefills into windows that hold any."""
    import polars as pl

    if "accept_len_raw" not in frame.columns:
        return frame
    raw = pl.col("accept_len_raw")
    beta = [s.index for s in used if s.args.get("enable_beta_spec") == "true"]
    right = pl.when(pl.col("session").is_in(beta)).then(raw - 1).otherwise(raw) if beta else raw
    frame = frame.with_columns(right.alias("accept_len"))
    old = [s.index for s in used if _mixes_prefills(s)]
    if old:
        biased = (pl.col("prefills_since") > 0) & raw.is_not_null() & pl.col("session").is_in(old)
        flag = pl.when(biased).then(pl.lit("lowered by the prefills in it"))
        frame = frame.with_columns(flag.alias("accept_len_bias"))
    return frame


def _mixes_prefills(session: Session) -> bool:
    newest = version_range(session)[1]
    return newest is not None and versions.compare_key(newest) <= (0, 5, 2)


def _detail(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of raw_decode_detail: those that have any of its values."""
    import polars as pl

    keys = ("ingest_id", "run_id", "source_index", "line_no")
    values = [n for n in table_schema("decode_detail") if n in frame.columns and n not in keys]
    if not values:
        return pl.DataFrame()
    return conform(frame.filter(pl.any_horizontal(pl.col(values).is_not_null())), "decode_detail")


def _run(session: Session, origin: Origin) -> Row:
    manifest = session.manifest
    low, high = version_range(session)
    return {
        "name": origin.names[session.index],
        "engine": session.engine or "sglang",
        "version": session.version,
        "version_min": low,
        "version_max": high,
        "version_source": session.version_source or ("inferred" if low else None),
        "started_at": in_utc(session, session.started_at),
        "ended_at": in_utc(session, session.ended_at),
        "ready_at": in_utc(session, session.ready_at),
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
        "last_line": session.last_line,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _texts(value: object) -> list[str] | None:
    return [str(item) for item in value] if isinstance(value, list) else None


def end_reason(session: Session) -> str:
    """How the session ended: the first line below its last decode line that ends a server.

    'shutdown', 'crash', 'oom' or 'killed'; 'open' when the log just stops. A server that another one follows
    in the same file, or whose launcher said so, was killed.
    """
    for line_no, reason in session.ends:
        if line_no > session.last_window_line:
            return reason
    if session.ended is not None:
        return "shutdown" if session.ended.get("exit_code") == 0 else "killed"
    return "killed" if session.followed else "open"


def _ingest(session: Session, origin: Origin) -> Row:
    return {
        "source": origin.source,
        "session_index": session.index,
        "sha256": session.digest.hexdigest(),
        "parser_version": PARSER_VERSION,
        "speclog_version": __version__,
        "ingested_at": datetime.now(UTC).replace(tzinfo=None),
        "status": "complete",
        "bytes": session.size,
        "lines": session.lines,
        "first_line": session.first_line,
        "last_line": session.last_line,
        "unknown_lines": session.unknown,
        "unknown_samples": session.unknown_samples,
        "sidecars": session.sidecars,
    }


def _args(sessions: Sequence[Session], written: Written | None) -> pl.DataFrame:
    """Arguments as rows: hundreds a session, so their columns are joined, not made row by row."""
    import polars as pl

    every = [(s, s.args if written is None else _new_args(s, written)) for s in sessions]
    counts = [len(args) for _, args in every]
    names = [name for _, args in every for name in args]
    values = [value for _, args in every for value in args.values()]
    of_session = {
        "ingest_id": [s.ingest_id for s, _ in every],
        "run_id": [s.run_id for s, _ in every],
        "source": [s.args_source for s, _ in every],
        "line_no": [s.args_line for s, _ in every],
    }
    frame = pl.DataFrame(of_session, schema_overrides={"line_no": pl.Int64})
    places = pl.Series(range(len(every)), dtype=pl.UInt32).repeat_by(pl.Series(counts)).explode()
    rows = frame[places.drop_nulls()].with_columns(name=pl.Series(names), value=pl.Series(values))
    return conform(rows, "server_arg")


def _new_args(session: Session, written: Written) -> dict[str, str]:
    found = {n: v for n, v in session.args.items() if (session.index, "server_arg", n) not in written}
    written.update((session.index, "server_arg", name) for name in found)
    return found


def _named(name: str, fact: Any) -> Row:
    return {"name": name, "value": fact.value, "source": fact.source, "line_no": fact.line_no}


def _profile(sessions: Sequence[Session], row: Row) -> Row:
    session = sessions[row["session"]]
    mark = session.mark_at(row["line_no"])
    step = {"step": mark.step, "warmup": mark.warmup} if mark else {}
    return row | step | _ids(session) | {"ts": in_utc(session, row["ts"])}


def _bench(row: Row) -> Row:
    known = table_schema("bench_result")
    spare = {name: value for name, value in row.items() if name not in known}
    kept = {name: value for name, value in row.items() if name in known}
    return kept | ({"extra": json.dumps(spare, ensure_ascii=False)} if spare else {})
