"""Attach to a finished scheduler: find its workers' methods by name and wrap them on the instances."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from speclog.profiler import lines, names, probe, settings
from speclog.profiler.clock import choose
from speclog.profiler.control import Control
from speclog.profiler.journal import Journal
from speclog.profiler.overhead import Trial
from speclog.profiler.ranks import Ranks
from speclog.profiler.recorder import Recorder
from speclog.profiler.window import Windows

Wrapper = Callable[[Recorder, Callable[..., Any]], Callable[..., Any]]


def attach(scheduler: Any) -> Recorder | None:
    """Wrap the workers of `scheduler` and print one `kind=attach` line; None on a rank that stays silent."""
    if getattr(scheduler, "_speclog_recorder", None) is not None:
        return None
    asked, bad = settings.read()
    rank, world = rank_of(scheduler)
    if rank != 0 and not asked.all_ranks:
        return None
    parallel = sizes(scheduler)
    lines.reach_the_log(f" TP{rank}" if parallel["tp_size"] > 1 else "")
    recorder = build(asked, identity(scheduler, rank, parallel), rank, world)
    try:
        found, missing = wrap_all(recorder, scheduler)
    except Exception:
        recorder.stop()
        raise
    scheduler._speclog_recorder = recorder
    worker, draft = type(recorder.outer), type(recorder.inner)
    fields: list[tuple[str, object]] = [*recorder.windows.rank, ("sglang", sglang_version())]
    fields.append(("worker", "none" if recorder.outer is None else worker.__name__))
    fields.append(("draft", "none" if recorder.inner in (None, recorder.outer) else draft.__name__))
    lines.emit("attach", [*fields, ("hooks", ",".join(found)), ("mode", recorder.clock.mode)])
    if missing:
        lines.warn("partial_hooks", detail="missing=" + ",".join(missing))
    for name in bad:
        lines.warn("bad_setting", detail=name)
    if parallel["pp_size"] > 1:
        # Rounds of several micro-batches interleave in a stage, so entry to entry is no request's round.
        recorder.chain_cycles = False
        lines.warn("pipeline_parallel", detail="cycle_ms_and_gap_ms_are_na")
    return recorder


def build(asked: settings.Settings, identity: list[tuple[str, object]], rank: int, world: int) -> Recorder:
    """A recorder from its settings."""
    clock = choose(asked.mode)
    compare = Ranks(rank, world).on_line if asked.all_ranks and world > 1 else None
    windows = Windows(identity, clock.mode, asked.window, asked.flush_s, compare)
    journal = None
    if asked.journal:
        path = f"{asked.journal}.rank{rank}" if asked.all_ranks else asked.journal
        try:
            journal = Journal(path, asked.journal_mb)
        except OSError as error:
            lines.warn("no_journal", error)
    return Recorder(
        clock, windows, Control(asked.control, asked.state, asked.window), Trial(asked.ab_block), journal
    )


def wrap_all(recorder: Recorder, scheduler: Any) -> tuple[list[str], list[str]]:
    """Wrap what is there; the names of the hooks that were found and of those that were not."""
    outer = getattr(scheduler, "draft_worker", None)
    target = getattr(scheduler, "tp_worker", None)
    found: list[str] = []
    missing: list[str] = []

    def hook(name: str, owner: Any, methods: Sequence[str], wrapper: Wrapper) -> bool:
        ok = any(wrap(recorder, owner, method, wrapper) for method in methods)
        (found if ok else missing).append(name)
        return ok

    if outer is None:
        # The scheduler of 0.4.x hands batches to a thread, whose worker does the work.
        hook("cycle", getattr(target, "worker", None) or target, names.TARGET, entry)
    else:
        inner = drafting_worker(outer)
        recorder.outer, recorder.inner = outer, inner
        hook("cycle", outer, names.ENTRY, entry)
        recorder.carries_drafts = hook("draft", inner, names.DRAFT, drafted)
        hook("verify", outer, names.VERIFY, verified)
        hook("extend", inner, names.EXTEND, extended)
        hook("target", getattr(outer, "target_worker", None) or target, names.TARGET, forward)
    hook("result", scheduler, names.RESULT, result)
    return found, missing


def drafting_worker(outer: Any) -> Any:
    """The object that drafts: an inner worker that has the method, or the speculative worker itself."""
    inner = getattr(outer, "draft_worker", None)
    return inner if any(callable(getattr(inner, name, None)) for name in names.DRAFT) else outer


def wrap(recorder: Recorder, owner: Any, name: str, wrapper: Wrapper) -> bool:
    """Put a wrapper in front of `owner.name` on the instance; False if there is no such method to wrap."""
    method = getattr(owner, name, None)
    if not callable(method):
        return False
    wrapped = functools.wraps(method)(wrapper(recorder, method))
    own = name in getattr(owner, "__dict__", {})  # somebody else's wrapper, which must come back
    try:
        setattr(owner, name, wrapped)
    except AttributeError:  # an instance with __slots__
        return False

    def undo() -> None:
        if vars(owner).get(name) is not wrapped:
            return
        if own:
            setattr(owner, name, method)
        else:
            delattr(owner, name)

    recorder.undo.append(undo)
    return True


def entry(recorder: Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    """Around the worker's entry: the round."""

    def call(*args: Any, **kwargs: Any) -> Any:
        round_ = recorder.guard(recorder.on_entry, probe.first_argument(args, kwargs))
        result = method(*args, **kwargs)
        if round_ is not None:
            recorder.guard(recorder.on_return, round_, result)
        return result

    return call


def drafted(recorder: Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    """After the drafting method."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        recorder.guard(recorder.on_drafted)
        return result

    return call


def forward(recorder: Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    """Around the target's forward inside a round."""

    def call(*args: Any, **kwargs: Any) -> Any:
        round_ = recorder.guard(recorder.on_target)
        result = method(*args, **kwargs)
        if round_ is not None:
            recorder.guard(recorder.on_target_done, round_)
        return result

    return call


def verified(recorder: Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    """After verification."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        recorder.guard(recorder.on_verified, result)
        return result

    return call


def extended(recorder: Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    """After the re-extend."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        recorder.guard(recorder.on_extended)
        return result

    return call


def result(recorder: Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    """Around the scheduler's processing of a result."""

    def call(batch: Any, result: Any, *args: Any, **kwargs: Any) -> Any:
        round_ = recorder.guard(recorder.before_result, batch, result)
        returned = method(batch, result, *args, **kwargs)
        recorder.guard(recorder.after_result, round_, batch, result)
        return returned

    return call


def sizes(scheduler: Any) -> dict[str, int]:
    """Parallel sizes from the server's arguments, 1 where they are unknown."""
    arguments = getattr(scheduler, "server_args", None)
    return {name: probe.whole(arguments, name) or 1 for name in ("tp_size", "pp_size", "dp_size")}


def rank_of(scheduler: Any) -> tuple[int, int]:
    """The rank of this process and the number of ranks; the scheduler lost its own `tp_rank` in 0.5.14."""
    try:
        import torch.distributed as group

        if group.is_available() and group.is_initialized():
            return group.get_rank(), group.get_world_size()
    except ImportError:
        pass
    return probe.whole(scheduler, "tp_rank"), sizes(scheduler)["tp_size"]


def identity(scheduler: Any, rank: int, parallel: dict[str, int]) -> list[tuple[str, object]]:
    """The fields that tell whose line it is: `rank`, and `dp` where replicas have ranks of their own."""
    replica = getattr(scheduler, "dp_rank", None)
    if replica is None:
        replica = getattr(getattr(scheduler, "ps", None), "dp_rank", None)
    if parallel["dp_size"] > 1 and isinstance(replica, int):
        return [("rank", rank), ("dp", replica)]
    return [("rank", rank)]


def sglang_version() -> str:
    """The version of the SGLang in this process."""
    try:
        from importlib.metadata import version

        return version("sglang")
    except Exception:
        import sglang

        return str(getattr(sglang, "__version__", "unknown"))
