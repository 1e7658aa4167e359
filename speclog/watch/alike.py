"""What a watched server has otherwise than stored runs: arguments, and what both logs prove by a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from speclog.formats.values import whole_number

if TYPE_CHECKING:
    from speclog.store import Store

_UNSET = "(unset)"
_SQL = """
WITH pair AS (
    SELECT unnest(?::VARCHAR[]) AS run_id, unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS live, unnest(?::VARCHAR[]) AS stored
),
entry AS ( -- as view factor_entry, but of any name: no stored run need ever have had what this server has
    SELECT n.name, coalesce(f.class, 'unclassified') AS class, coalesce(f.how, 'exact') AS how, f.tolerance, f.pick, f.effect, f.otherwise
    FROM (SELECT DISTINCT name FROM pair) AS n
    LEFT JOIN factor AS f ON n.name = f.pattern OR (contains(f.pattern, '*') AND n.name GLOB f.pattern)
    QUALIFY row_number() OVER (PARTITION BY n.name ORDER BY (n.name = f.pattern) DESC, length(f.pattern) DESC, f.place) = 1
),
normal AS (
    SELECT p.*, e.* EXCLUDE (name), factor_norm(e.how, e.pick, p.live) AS l_norm, factor_norm(e.how, e.pick, p.stored) AS s_norm
    FROM pair AS p JOIN entry AS e USING (name)
),
differing AS (
    SELECT *, factor_differs(how, tolerance, l_norm, s_norm) AS differs FROM normal
),
entailed AS (
    SELECT DISTINCT d.run_id, d.name FROM differing AS d JOIN entailed_rule AS r ON r.name = d.name
    WHERE ? AND d.differs AND entailed_by_rule(
        d.l_norm, d.s_norm, ?::VARCHAR, ?, r.spec_value, r.plain_value, r.direction, r.within, r.tree, r.since, r.before
    )
)
SELECT d.run_id, d.name
FROM differing AS d LEFT JOIN entailed AS t USING (run_id, name)
WHERE factor_does(
    factor_class(d.class, d.differs, t.name IS NOT NULL), d.effect, d.otherwise, false, d.differs, false
) = 'unfair'
ORDER BY d.run_id, d.name <> 'arg.model_path', d.class <> 'environment', d.name
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its log introduces it: ``args`` in canonical JSON text, and the manifest, if it has one."""

    args: Mapping[str, str]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """An argument without the quotes of JSON text; '' when it is not there or null."""
        value = self.args.get(name, "").strip('"')
        return "" if value in ("null", "None") else value

    @property
    def speculative(self) -> bool:
        """Whether its arguments turn speculative decoding on."""
        return bool(self.text("speculative_algorithm"))


def unlike(store: Store, server: Server, run_ids: Sequence[str]) -> dict[str, list[str]]:
    """For each run the names of what makes a comparison with this server unfair, as far as its log tells:
    ``disable_cuda_graph``, ``env.NCCL_PROTO``. What SGLang changes because of speculation, and what either
    side does not know, is not among them.
    """
    found: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
    pairs = [*_arguments(store, server, run_ids), *_proven(store, server, run_ids)]
    if not pairs:
        return found
    columns = [list(column) for column in zip(*pairs, strict=True)]
    versions = server.manifest.get("versions")
    version = versions.get("sglang") if isinstance(versions, Mapping) else None
    tree = (whole_number(server.text("speculative_eagle_topk")) or 1) > 1
    known = version if isinstance(version, str) else None
    for run_id, name in store.rows(_SQL, [*columns, server.speculative, known, tree]):
        found[run_id].append(name.removeprefix("arg.").removeprefix("fact."))
    return found


_Pair = tuple[str, str, str, str]  # run, name of the factor, the server's value, the run's


def _arguments(store: Store, server: Server, run_ids: Sequence[str]) -> Iterator[_Pair]:
    sql = "SELECT run_id, name, value FROM server_arg WHERE list_contains(?, run_id) AND value IS NOT NULL"
    for run_id, name, value in store.rows(sql, [list(run_ids)]):
        if (live := server.args.get(name)) is not None and live != value:
            yield run_id, f"arg.{name}", live, value


def _proven(store: Store, server: Server, run_ids: Sequence[str]) -> Iterator[_Pair]:
    """Variables and facts that both the server's manifest and the run's record cover, where they differ."""
    if not server.manifest:
        return
    from speclog.ingest.manifest import take
    from speclog.ingest.session import Session

    session = Session(0, 1)
    take(session, server.manifest, 1)
    sql = "SELECT run_id, name, value FROM fact WHERE list_contains(?, run_id) AND value IS NOT NULL"
    for run_id, name, value in store.rows(sql, [list(run_ids)]):
        live = session.facts[name].value if name in session.facts else None
        if live is not None and live != value:
            yield run_id, f"fact.{name}", live, value
    env = {name: fact.value for name, fact in session.env.items()}
    for run_id in run_ids:
        yield from _variables(store, run_id, env, tuple(session.env_prefixes))


def _variables(
    store: Store, run_id: str, env: Mapping[str, str | None], prefixes: tuple[str, ...]
) -> Iterator[_Pair]:
    """A variable that is absent is unset where the prefixes of that record cover it, else unknown."""
    theirs = dict(store.rows("SELECT name, value FROM env_var WHERE run_id = ?", [run_id]))
    scanned = tuple(p for (p,) in store.rows("SELECT prefix FROM env_scan WHERE run_id = ?", [run_id]))
    for name in sorted(env.keys() | theirs.keys()):
        if name.endswith(".sha256"):
            continue
        live, stored = _value(env, name, prefixes), _value(theirs, name, scanned)
        if live is not None and stored is not None and live != stored:
            yield run_id, f"env.{name}", live, stored


def _value(env: Mapping[str, str | None], name: str, covered: tuple[str, ...]) -> str | None:
    if name not in env:
        return _UNSET if name.startswith(covered) else None
    digest = env.get(f"{name}.sha256")
    return f"sha256:{digest}" if digest else env[name] or _UNSET
