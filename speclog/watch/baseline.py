"""The stored baseline a watcher compares with: read once for each server, the store closed at once."""

from __future__ import annotations

from collections.abc import Mapping

from speclog.errors import SpeclogError
from speclog.formats.values import whole_number
from speclog.watch.state import BaselineLine

Chosen = tuple[dict[int, BaselineLine], str]
"""A baseline's lines by batch size, and a sentence: which run it is, or why there is none."""

_ALIKE = """
SELECT run_id FROM run
WHERE NOT speculative AND served AND engine = 'sglang'
    AND lower(string_split(rtrim(model, '/'), '/')[-1]) = ?
    AND coalesce(tp_size, 1) = ? AND coalesce(pp_size, 1) = ? AND coalesce(dp_size, 1) = ?
ORDER BY started_at DESC NULLS LAST, run_id
LIMIT 1
"""
_LINES = """
SELECT l.batch_size, r.name, l.fit_a_ms, l.fit_c_ms_per_token, l.context_min, l.context_max
FROM level AS l JOIN run AS r USING (run_id)
WHERE l.run_id = ? AND l.n_clean > 1 AND l.fit_a_ms IS NOT NULL
ORDER BY l.batch_size
"""


def named(target: str, vs: str, lock_timeout: float) -> Chosen:
    """The run that ``vs`` names (the last one, if several). Raises UsageError when it names none, or one that
    speculates."""
    from speclog.runs import plain
    from speclog.store import open_store

    with open_store(target, lock_timeout=lock_timeout) as store:
        return _chosen(store.rows(_LINES, [plain(store, vs)[-1]]))


def newest_alike(target: str, args: Mapping[str, str], lock_timeout: float) -> Chosen:
    """The newest run without speculation of a server's model on as many GPUs, by its ``server_args``.

    A missing or busy store is no error: a watcher shows the rest.
    """
    from speclog.store import open_store

    model = args.get("model_path", "").rstrip("/").rsplit("/", 1)[-1]
    sizes = [whole_number(args.get(f"{way}_size", "")) or 1 for way in ("tp", "pp", "dp")]
    try:
        with open_store(target, lock_timeout=lock_timeout) as store:
            found = store.rows(_ALIKE, [model.lower(), *sizes])
            lines = store.rows(_LINES, [found[0][0]]) if found else []
    except SpeclogError as error:
        return {}, f"no margin: {error}"
    if not found:
        ways = ", ".join(f"{way} {size}" for way, size in zip(("TP", "PP", "DP"), sizes, strict=True))
        return {}, f"no margin: the store holds no plain run of {model or '?'} at {ways} (--vs names one)"
    return _chosen(lines)


def _chosen(lines: list[tuple[int, str, float, float, float, float]]) -> Chosen:
    if not lines:
        return {}, "no margin: the baseline has no batch size with two clean windows"
    sizes = ", ".join(str(line[0]) for line in lines)
    return (
        {size: BaselineLine(name, a, c, low, high) for size, name, a, c, low, high in lines},
        f"margin against {lines[0][1]} (batch {sizes}); whether that is fair is not checked while watching",
    )
