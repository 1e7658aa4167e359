"""What a launch manifest says, as run columns, environment and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from speclog.formats.engine import Record
from speclog.formats.values import told
from speclog.ingest.session import Fact, Session

_QUARTER = 900  # offsets of time zones are multiples of a quarter of an hour
_DAY = 86_400  # and none is so large
_NEVER_BLANK = ("dataset", "input_len", "output_len")
"""Of the workload; other keys may be blank: no path of a data set."""


def take(session: Session, data: Mapping[str, Any], line_no: int) -> None:
    """Record a manifest's content. Keys it lacks stay unknown."""
    session.manifest = dict(data)
    session.manifest_line = line_no
    offset = data.get("utc_offset_s")
    if isinstance(offset, (int, float)) and abs(offset) <= _DAY:
        session.utc_offset_s = int(offset)
    env = data.get("env")
    for name, value in _mapping(env).items():
        session.env[name] = Fact(None if value is None else str(value), "manifest", line_no)
    # Prefixes say what was looked for; without the variables themselves nothing says what was found.
    prefixes = data.get("env_prefixes") if isinstance(env, Mapping) else None
    session.env_prefixes = [str(prefix) for prefix in prefixes] if isinstance(prefixes, list) else []
    _versions(session, _mapping(data.get("versions")), line_no)
    _gpus(session, data.get("gpus"), line_no)
    for key in ("topology", "plugins", "node_rank"):
        if key in data and told(data[key]):
            session.set_fact(key, data[key], "manifest", line_no)
    if "other_gpu_processes" in data:
        session.set_fact("gpu.other_processes", data["other_gpu_processes"], "manifest", line_no)
    for key, value in _mapping(data.get("workload")).items():
        if key not in _NEVER_BLANK or told(value):
            session.set_fact(f"workload.{key}", value, "manifest", line_no)
    for source, what in _mapping(data.get("evidence")).items():
        for key, value in _mapping(what).items():
            session.set_fact(f"evidence.{source}.{key}", value, "manifest", line_no)
    for key, value in _mapping(data.get("model_config")).items():
        session.set_fact(f"model.{key}", value, "manifest", line_no)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _versions(session: Session, versions: Mapping[str, Any], line_no: int) -> None:
    sglang = versions.get("sglang")
    session.set_version(sglang if told(sglang) else None, "manifest")
    for name, value in versions.items():
        if value is not None and told(value):
            session.set_fact(name, value, "manifest", line_no)


def _gpus(session: Session, gpus: object, line_no: int) -> None:
    """One value where all GPUs agree, a list in their order where they do not; unknown of one, unknown."""
    rows = (
        [_mapping(gpu) for gpu in gpus] if isinstance(gpus, Sequence) and not isinstance(gpus, str) else None
    )
    if rows is None:
        return
    session.set_fact("gpu.count", len(rows), "manifest", line_no)
    if not rows:  # known to have none is not the same as unknown
        session.set_fact("gpu.name", "none", "manifest", line_no)
    for key in sorted({key for row in rows for key in row} - {"index"}):
        values = [value if told(value := row.get(key)) else None for row in rows]
        same = all(value == values[0] for value in values)
        if all(value is not None for value in values):
            session.set_fact(f"gpu.{key}", values[0] if same else values, "manifest", line_no)


def offset_from_profile(session: Session, record: Record) -> None:
    """Seconds the log's clock is ahead of UTC, from a full profile window: it ends when its line is out."""
    t0, dur = record.fields.get("t0"), record.fields.get("dur_s")
    settled = session.utc_offset_s is not None or session.flushed
    known = settled or record.fields.get("part") == 1 or record.prefix.ts is None
    if known or not isinstance(t0, float) or not isinstance(dur, float):
        return
    from datetime import UTC

    local = record.prefix.ts.replace(tzinfo=UTC).timestamp() if record.prefix.ts else 0.0
    ahead = local - (t0 + dur)
    if abs(ahead) <= _DAY:
        session.utc_offset_s = round(ahead / _QUARTER) * _QUARTER
