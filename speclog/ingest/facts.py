"""Facts about a session that follow from its lines and arguments (names: sql/tables/raw_fact.sql)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from speclog.formats.engine import Record
from speclog.formats.spec import load_kinds
from speclog.ingest.session import Session


def from_record(session: Session, line_no: int, record: Record) -> None:
    """Facts a single line gives: those its declaration names, and the few that need a rule."""
    plan = _plan(record.kind.engine, record.kind.name)
    if plan is None:
        return
    for name, fact in plan.facts:
        if name in record.fields:
            session.set_fact(fact, record.fields[name], "log", line_no)
    for name in plan.versions:
        session.set_version(record.fields.get(name), "log")
    if plan.rule is not None:
        plan.rule(session, line_no, record)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a kind of line says about its session: (field, fact), fields with a version, a rule."""

    facts: tuple[tuple[str, str], ...]
    versions: tuple[str, ...]
    rule: Callable[[Session, int, Record], None] | None


@cache
def _plan(engine: str, kind: str) -> _Plan | None:
    found = next(k for k in load_kinds() if (k.engine, k.name) == (engine, kind))
    named = {field.name for field in found.fields} | set(found.pattern.groupindex if found.pattern else ())
    facts = tuple((field.name, field.fact) for field in found.fields if field.fact)
    free = found.shape == "json"  # its fields are whatever the object has
    versions = tuple(name for name in ("version", "version_old") if free or name in named)
    rule = _RULES.get(kind)
    return _Plan(facts, versions, rule) if facts or versions or rule else None


def _weight(session: Session, line_no: int, record: Record) -> None:
    """The target's weights come first on each rank; the draft's line differs only in its model class."""
    gb = record.fields.get("mem_usage_gb")
    rank = f"load_weight_end {record.prefix.rank}"
    session.seen[rank] += 1
    if gb is not None and session.seen[rank] == 1:
        session.set_fact("weight.target_gb", gb, "log", line_no)
        session.set_fact("model.class", record.fields.get("model_class"), "log", line_no)
    elif gb is not None and session.seen[rank] == 2:
        session.set_fact("weight.draft_gb", gb, "log", line_no)


def _graph(session: Session, line_no: int, record: Record) -> None:
    role = str(record.fields.get("role", ""))
    if role in {"", "target verify", "target decode"}:
        session.set_fact("graph.enabled", True, "log", line_no)
        if "bs" in record.fields:
            session.set_fact("graph.decode_bs", record.fields["bs"], "log", line_no)


def _graph_bs(session: Session, line_no: int, record: Record) -> None:
    session.set_fact("graph.decode_bs", record.fields.get("bs"), "log", line_no)


def _graph_off(session: Session, line_no: int, record: Record) -> None:
    if record.message.lower().startswith("cuda graph is disabled"):
        session.set_fact("graph.enabled", False, "log", line_no)


def _all_reduce(session: Session, line_no: int, record: Record) -> None:
    session.set_fact("custom_all_reduce", "off", "log", line_no)


def _overlap_off(session: Session, line_no: int, record: Record) -> None:
    session.set_fact("overlap_scheduler", "off", "log", line_no)


def _spec_v1(session: Session, line_no: int, record: Record) -> None:
    name = "v1" if record.message.startswith("Spec v1") else "v2"
    session.set_fact("spec_version", name, "log", line_no)


def _spec_v2(session: Session, line_no: int, record: Record) -> None:
    session.set_fact("spec_version", "v2", "log", line_no)


def _attach(session: Session, line_no: int, record: Record) -> None:
    session.set_version(record.fields.get("sglang"), "profile")
    session.profile_mode = session.profile_mode or (None, line_no)


_RULES = {
    "load_weight_end": _weight,
    "graph_begin": _graph,
    "graph_end": _graph,
    "graph_bs": _graph_bs,
    "graph_disabled": _graph_off,
    "custom_all_reduce_off": _all_reduce,
    "overlap_off": _overlap_off,
    "spec_v1": _spec_v1,
    "spec_v2": _spec_v2,
    "profile_attach": _attach,
}


def derive(session: Session) -> None:
    """Facts that need the whole session: graphs, overlap and all-reduce from the arguments, profiling."""
    if session.args:
        _from_args(session, {name: json.loads(session.args[name]) for name in _ARGS if name in session.args})
    _profiling(session)
    if session.duplicates:
        session.set_fact("duplicate_rank_lines", session.duplicates, "log")


_ARGS = (
    "cuda_graph_config",
    "cuda_graph_bs",
    "disable_cuda_graph",
    "disable_decode_cuda_graph",
    "disable_overlap_schedule",
    "disable_custom_all_reduce",
    "tp_size",
)


def _from_args(session: Session, args: dict[str, Any]) -> None:
    line = session.args_line
    config = args.get("cuda_graph_config")
    decode = config.get("decode") if isinstance(config, dict) else None
    off = args.get("disable_cuda_graph") is True or args.get("disable_decode_cuda_graph") is True
    if off or (isinstance(decode, dict) and decode.get("backend") == "disabled"):
        session.set_fact("graph.enabled", False, "log", line)
    elif "disable_cuda_graph" in args:
        session.set_fact("graph.enabled", True, "log", line)
    bs = args.get("cuda_graph_bs") or (decode.get("bs") if isinstance(decode, dict) else None)
    enabled = session.facts.get("graph.enabled")
    if isinstance(bs, list) and bs and enabled is not None and enabled.value == "true":
        session.set_fact("graph.decode_bs", bs, "log", line)
    if "disable_overlap_schedule" in args:
        session.set_fact(
            "overlap_scheduler", "off" if args["disable_overlap_schedule"] else "on", "log", line
        )
    if args.get("disable_custom_all_reduce") is True:
        session.set_fact("custom_all_reduce", "off", "log", line)
    elif session.ready_at and "disable_custom_all_reduce" in args and _is_parallel(args.get("tp_size")):
        session.set_fact("custom_all_reduce", "on", "log", line)  # the server says so when it is not


def _is_parallel(tp_size: object) -> bool:
    return isinstance(tp_size, int) and tp_size > 1


def _profiling(session: Session) -> None:
    """Mode of the profiler if its lines are there; 'off' only when the manifest proves the variable unset."""
    if session.profile_mode is not None:
        mode, line = session.profile_mode
        session.set_fact("profiling", mode or "on", "log", line)
        return
    scanned = any("EAGLE3_PROFILE".startswith(prefix) for prefix in session.env_prefixes)
    value = session.env.get("EAGLE3_PROFILE")
    if (value is not None and value.value in {None, "", "0"}) or (value is None and scanned):
        session.set_fact("profiling", "off", "manifest", session.manifest_line)
    elif value is not None:
        session.set_fact("profiling", "on", "manifest", session.manifest_line)
