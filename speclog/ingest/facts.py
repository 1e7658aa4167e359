"""Facts about a session that follow from its lines and arguments (names: sql/tables/raw_fact.sql)."""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from speclog.formats.engine import Record, Understood
from speclog.formats.spec import load_kinds
from speclog.ingest import manifest
from speclog.ingest.session import Mark, Session, fact_text
from speclog.ingest.versions import line_flags

Rule = Callable[[Session, int, Record], None]


@dataclass(frozen=True, slots=True)
class Told:
    """What a message says about its session: facts as text, exact versions, marks of the version, a rule."""

    facts: tuple[tuple[str, str | None], ...] = ()
    versions: tuple[str, ...] = ()
    layout: Set[str] = frozenset()
    rule: Rule | None = None


def told(found: Understood) -> Told | None:
    """What a message says about its session, worked out once; None for nothing."""
    if found.told is None:
        found.told = _tell(found) or NOTHING
    return None if found.told is NOTHING else found.told


NOTHING = Told()


def _tell(found: Understood) -> Told | None:
    plan = _plan(found.kind.engine, found.kind.name)
    layout = line_flags(found.kind.name, found.message)
    if plan is None:
        return Told(layout=layout) if layout else None
    fields = found.fields[0]
    facts = tuple((fact, fact_text(fields[name])) for name, fact in plan.facts if name in fields)
    versions = tuple(v for name in plan.versions if isinstance(v := fields.get(name), str))
    return Told(facts, versions, layout, plan.rule)


def take(session: Session, line_no: int, said: Told, record: Callable[[], Record]) -> None:
    """Let a session know what a line of it said."""
    for name, text in said.facts:
        session.note(name, text, "log", line_no)
    for version in said.versions:
        session.set_version(version, "log")
    if said.layout:
        session.layout |= said.layout
    if said.rule is not None:
        said.rule(session, line_no, record())


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a kind of line says about its session: (field, fact), fields with a version, a rule."""

    facts: tuple[tuple[str, str], ...]
    versions: tuple[str, ...]
    rule: Rule | None


@cache
def _plan(engine: str, kind: str) -> _Plan | None:
    found = next(k for k in load_kinds() if (k.engine, k.name) == (engine, kind))
    named = {field.name for field in found.fields} | set(found.pattern.groupindex if found.pattern else ())
    facts = tuple((field.name, field.fact) for field in found.fields if field.fact)
    free = found.shape == "json"  # its fields are whatever the object has
    versions = tuple(name for name in ("version", "version_old") if free or name in named)
    rule = _RULES.get(kind)
    return _Plan(facts, versions, rule) if facts or versions or rule else None


_MAX_LOADS = 1000


def _weight(session: Session, line_no: int, record: Record) -> None:
    """The target's weights come first on each rank; the draft's line differs only in its model class."""
    gb = record.fields.get("mem_usage_gb")
    rank = record.prefix.rank
    session.weights[rank] += 1
    if len(session.loads) < _MAX_LOADS:
        session.loads.append((line_no, rank))
    if gb is not None and session.weights[rank] == 1:
        session.set_fact("weight.target_gb", gb, "log", line_no)
        session.set_fact("model.class", record.fields.get("model_class"), "log", line_no)
    elif gb is not None and session.weights[rank] == 2:
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


def _manifest(session: Session, line_no: int, record: Record) -> None:
    manifest.take(session, record.fields, line_no)


def _workload(session: Session, line_no: int, record: Record) -> None:
    """A workload step begins or ends."""
    begins = record.fields.get("event") == "begin"
    step = record.fields.get("step")
    mark = Mark(
        line_no,
        str(step) if begins and step is not None else None,
        record.fields.get("kind") == "warmup" if begins else None,
    )
    session.marks.append(mark)


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
    "speclog_manifest": _manifest,
    "speclog_workload": _workload,
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
