"""Facts about a session that follow from its lines and arguments (names: sql/tables/raw_fact.sql)."""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from speclog.formats.engine import Fields, Record, Understood
from speclog.formats.spec import load_kinds
from speclog.ingest import manifest
from speclog.ingest.session import Mark, Session, fact_text
from speclog.ingest.versions import line_flags

Rule = Callable[[Session, int, Record], None]
"""What a line does to its session that depends on the session, the line's number or its rank."""

Says = Callable[[str, Fields], list[tuple[str, object]]]
"""The facts that a message and its fields give, whoever prints it."""


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
    facts: list[tuple[str, object]] = [(fact, fields[name]) for name, fact in plan.facts if name in fields]
    facts += plan.says(found.message, fields) if plan.says is not None else []
    versions = tuple(v for name in plan.versions if isinstance(v := fields.get(name), str))
    return Told(tuple((fact, fact_text(value)) for fact, value in facts), versions, layout, plan.rule)


def take(session: Session, line_no: int, said: Told) -> None:
    """Let a session know what a line of it said; its rule, if there is one, is left to be followed."""
    for name, text in said.facts:
        session.note(name, text, "log", line_no)
    for version in said.versions:
        session.set_version(version, "log")
    if said.layout:
        session.layout |= said.layout


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a kind of line says: (field, fact), fields with a version, facts that need a rule, a rule."""

    facts: tuple[tuple[str, str], ...]
    versions: tuple[str, ...]
    says: Says | None
    rule: Rule | None


@cache
def _plan(engine: str, kind: str) -> _Plan | None:
    found = next(k for k in load_kinds() if (k.engine, k.name) == (engine, kind))
    named = {field.name for field in found.fields} | set(found.pattern.groupindex if found.pattern else ())
    facts = tuple((field.name, field.fact) for field in found.fields if field.fact)
    free = found.shape == "json"  # its fields are whatever the object has
    versions = tuple(name for name in ("version", "version_old") if free or name in named)
    says, rule = _SAYS.get(kind), _RULES.get(kind)
    return _Plan(facts, versions, says, rule) if facts or versions or says or rule else None


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


def _graph(message: str, fields: Fields) -> list[tuple[str, object]]:
    if str(fields.get("role", "")) not in {"", "target verify", "target decode"}:
        return []
    return [("graph.enabled", True), *([("graph.decode_bs", fields["bs"])] if "bs" in fields else [])]


def _graph_bs(message: str, fields: Fields) -> list[tuple[str, object]]:
    return [("graph.decode_bs", fields.get("bs"))]


def _graph_off(message: str, fields: Fields) -> list[tuple[str, object]]:
    return [("graph.enabled", False)] if message.lower().startswith("cuda graph is disabled") else []


def _all_reduce(message: str, fields: Fields) -> list[tuple[str, object]]:
    return [("custom_all_reduce", "off")]


def _overlap_off(message: str, fields: Fields) -> list[tuple[str, object]]:
    return [("overlap_scheduler", "off")]


def _spec_v1(message: str, fields: Fields) -> list[tuple[str, object]]:
    return [("spec_version", "v1" if message.startswith("Spec v1") else "v2")]


def _spec_v2(message: str, fields: Fields) -> list[tuple[str, object]]:
    return [("spec_version", "v2")]


_SAYS: dict[str, Says] = {
    "graph_begin": _graph,
    "graph_end": _graph,
    "graph_bs": _graph_bs,
    "graph_disabled": _graph_off,
    "custom_all_reduce_off": _all_reduce,
    "overlap_off": _overlap_off,
    "spec_v1": _spec_v1,
    "spec_v2": _spec_v2,
}


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


_RULES: dict[str, Rule] = {
    "load_weight_end": _weight,
    "profile_attach": _attach,
    "speclog_manifest": _manifest,
    "speclog_workload": _workload,
}


def derive(session: Session, *, whole: bool = True) -> None:
    """Facts that need the session's start: graphs, overlap and all-reduce from the arguments, profiling.

    ``whole``: it was read to its end, so what is counted in it is final.
    """
    if session.args:
        _from_args(session, dict(_plain(tuple((n, session.args[n]) for n in _ARGS if n in session.args))))
    _profiling(session)
    if not whole:
        return
    if session.duplicates:
        session.set_fact("duplicate_rank_lines", session.duplicates, "log")
    prompts = session.new_token + session.cached_token
    if 0 <= session.cached_token <= prompts and prompts:
        share = round(session.cached_token / prompts, 4)
        session.set_fact("cached_prefix_share", share, "log", session.first_prefill_line)


_ARGS = (
    "cuda_graph_config",
    "cuda_graph_bs",
    "disable_cuda_graph",
    "disable_decode_cuda_graph",
    "disable_overlap_schedule",
    "disable_custom_all_reduce",
    "tp_size",
)


@lru_cache(maxsize=64)
def _plain(args: tuple[tuple[str, str], ...]) -> tuple[tuple[str, Any], ...]:
    """Arguments as plain values; restarts repeat them."""
    return tuple((name, json.loads(text)) for name, text in args)


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
