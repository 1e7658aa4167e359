"""The stored baseline a watcher compares with: read once, the store closed again at once."""

from __future__ import annotations

from speclog.errors import SpeclogError, UsageError
from speclog.watch.state import BaselineLine

_PLAIN = "SELECT run_id FROM run WHERE NOT speculative AND served ORDER BY started_at DESC NULLS LAST, run_id"
_LINES = """
SELECT l.batch_size, r.name, l.fit_a_ms, l.fit_c_ms_per_token, l.context_min, l.context_max
FROM level AS l JOIN run AS r USING (run_id)
WHERE l.run_id = ? AND l.n_clean > 1 AND l.fit_a_ms IS NOT NULL
ORDER BY l.batch_size
"""


def stored_baseline(target: str, vs: str | None, lock_timeout: float) -> tuple[dict[int, BaselineLine], str]:
    """Lines of a baseline by batch size, and a sentence that says which run it is or why there is none.

    ``vs`` None takes the newest run without speculation. Raises UsageError when a named run is not in the
    store or speculates; a missing or busy store is no error unless a run was named: a watcher shows the rest.
    """
    from speclog.runs import plain
    from speclog.store import open_store

    try:
        with open_store(target, lock_timeout=lock_timeout) as store:
            found = plain(store, vs) if vs and vs != "baseline" else [row[0] for row in store.rows(_PLAIN)]
            lines = store.rows(_LINES, [found[-1] if vs and vs != "baseline" else found[0]]) if found else []
    except UsageError:
        raise
    except SpeclogError as error:
        if vs:
            raise
        return {}, f"no margin: {error}"
    if not found:
        return {}, "no margin: the store holds no run without speculation"
    if not lines:
        return {}, "no margin: the baseline has no batch size with two clean windows"
    sizes = ", ".join(str(line[0]) for line in lines)
    return (
        {size: BaselineLine(name, a, c, low, high) for size, name, a, c, low, high in lines},
        f"margin against {lines[0][1]} (batch {sizes}); whether that is fair is not checked while watching",
    )
