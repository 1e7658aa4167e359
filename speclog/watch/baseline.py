"""The stored baseline a watcher compares with: read once for each server, the store closed at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from speclog.errors import SpeclogError, StoreError
from speclog.formats.values import whole_number
from speclog.watch.alike import Server, unlike
from speclog.watch.state import Baseline, BaselineLine

if TYPE_CHECKING:
    from speclog.store import Store

_NAMED = 4
_ALIKE = """
SELECT run_id FROM run
WHERE NOT speculative AND served AND engine = 'sglang'
    AND run_id IN (SELECT run_id FROM level_line WHERE n > 1 AND fit_a_ms IS NOT NULL)
    AND lower(string_split(rtrim(model, '/'), '/')[-1]) = ?
    AND coalesce(tp_size, 1) = ? AND coalesce(pp_size, 1) = ? AND coalesce(dp_size, 1) = ?
ORDER BY started_at DESC NULLS LAST, run_id
LIMIT 50
"""
_PROFILED = "SELECT DISTINCT run_id FROM fact WHERE name = 'profiling' AND list_contains(?, run_id)"
_LINES = """
SELECT
    l.batch_size, r.name, l.fit_a_ms, l.fit_c_ms_per_token, l.context_min, l.context_max, l.eager, l.mixed
FROM level_line AS l JOIN run AS r USING (run_id)
WHERE l.run_id = ? AND l.n > 1 AND l.fit_a_ms IS NOT NULL
ORDER BY l.batch_size, l.n DESC
"""


def named(target: str, vs: str, lock_timeout: float) -> tuple[Baseline, Callable[[Server], Baseline]]:
    """The run that ``vs`` names (the last one, if several), and how to hold it against a server that starts.

    Raises UsageError when it names none, or one that speculates.
    """
    from speclog.runs import plain
    from speclog.store import open_store

    with open_store(target, lock_timeout=lock_timeout) as store:
        run_id = plain(store, vs)[-1]
        known = _baseline(store, run_id, None)

    def choose(server: Server) -> Baseline:
        try:
            with open_store(target, lock_timeout=lock_timeout) as store:
                return _baseline(store, run_id, server)
        except SpeclogError as error:
            return Baseline(known.lines, f"{known.about} ({error})", again=isinstance(error, StoreError))

    return known, choose


def fairest_alike(target: str, server: Server, lock_timeout: float) -> Baseline:
    """Of the runs without speculation of a server's model on as many GPUs the one that differs from it in the
    fewest ways that make a comparison unfair; of several one whose environment is on record, where the
    server's is, then one that was not profiled, then the newest.

    A missing or busy store is no error: a watcher shows the rest.
    """
    from speclog.store import open_store

    model = server.text("model_path").rstrip("/").rsplit("/", 1)[-1]
    sizes = [whole_number(server.text(f"{way}_size")) or 1 for way in ("tp", "pp", "dp")]
    try:
        with open_store(target, lock_timeout=lock_timeout) as store:
            found = [run_id for (run_id,) in store.rows(_ALIKE, [model.lower(), *sizes])]
            if found:
                differing, profiled = unlike(store, server, found), store.rows(_PROFILED, [found])
                ways = {
                    run: (len(names), bool(server.manifest) and not _recorded(store, run), (run,) in profiled)
                    for run, names in differing.items()
                }
                return _baseline(store, min(found, key=lambda run: ways[run]), server)
    except SpeclogError as error:
        return Baseline({}, f"no margin: {error}", again=isinstance(error, StoreError))
    ranks = ", ".join(f"{way} {size}" for way, size in zip(("TP", "PP", "DP"), sizes, strict=True))
    return Baseline(
        {}, f"no margin: the store holds no plain run of {model or '?'} at {ranks} (--vs names one)"
    )


def _baseline(store: Store, run_id: str, server: Server | None) -> Baseline:
    rows = store.rows(_LINES, [run_id])
    if not rows:
        return Baseline({}, "no margin: the baseline has no batch size with two clean windows")
    lines: dict[int, list[BaselineLine]] = {}
    for size, *line in rows:
        lines.setdefault(size, []).append(BaselineLine(*line))
    differ = tuple(unlike(store, server, [run_id])[run_id]) if server else ()
    about = f"margin against {rows[0][1]} (batch {_sizes(list(lines))}); "
    about += _fairness(server, differ, _recorded(store, run_id))
    return Baseline(lines, about, differ)


def _sizes(sizes: list[int]) -> str:
    return (
        ", ".join(map(str, sizes))
        if len(sizes) <= _NAMED
        else f"{len(sizes)} sizes, {sizes[0]} to {sizes[-1]}"
    )


def _recorded(store: Store, run_id: str) -> bool:
    """Whether the environment of a stored run is on record, by a manifest or by somebody's word."""
    return bool(store.rows("SELECT 1 FROM env_scan WHERE run_id = ? LIMIT 1", [run_id]))


def _fairness(server: Server | None, differ: tuple[str, ...], recorded: bool) -> str:
    if differ:
        more = f" and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
        return f"unfair: {', '.join(differ[:_NAMED])}{more} {'differ' if len(differ) > 1 else 'differs'}"
    if server is None:
        return "this log shows no server_args, so nothing says that they are alike"
    lacking = [who for who, has in (("this log", server.manifest), ("the baseline", recorded)) if not has]
    known = "arguments and environment" if not lacking else "arguments"
    unproven = f"; unproven: {' and '.join(lacking)} without a record of the environment" if lacking else ""
    return f"no difference in {known}{unproven}; `speclog check` judges the rest"
