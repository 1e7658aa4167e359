"""The store's views as the report's data model. Every text from a log is made harmless here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from speclog.console import clean
from speclog.report.model import Factor, Level, Pair, Row, Run

if TYPE_CHECKING:
    from speclog.store import Store

_LEVEL_FIELDS = frozenset(field.name for field in fields(Level))


def harmless(value: Any) -> Any:
    """Text with control and bidi characters made visible (line breaks kept), lists likewise."""
    if isinstance(value, str):
        if value.isprintable():  # most values: nothing to look for
            return value
        return "\n".join(clean(line) for line in value.split("\n"))
    if isinstance(value, list | tuple):
        return type(value)(harmless(item) for item in value)
    return value


def query(store: Store, sql: str, params: Sequence[object] | None = None) -> list[Row]:
    """Rows of a query as dicts of harmless values."""
    names, found = store.result(sql, params)
    columns = [_harmless_column(values) for values in zip(*found, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _harmless_column(values: Sequence[Any]) -> Iterable[Any]:
    """Numbers, truth values and times are harmless as they are, and so are texts with nothing to look for."""
    types = set(map(type, values))
    if not {str, list, tuple} & types:
        return values
    if types <= {str, type(None)} and "".join(filter(None, values)).isprintable():
        return values
    return map(harmless, values)


def runs(store: Store) -> dict[str, Run]:
    """Every run of the store by run_id, in order of start."""
    sql = """
        SELECT run_id, name, tag, engine, version, model, speculative, algorithm, steps, topk, draft_tokens,
            adaptive, served, end_reason, synthetic, started_at, windows, profile, arm, repeat, note, source,
            first_line, last_line, overlays
        FROM run ORDER BY started_at NULLS LAST, name, run_id
    """
    return {
        row["run_id"]: Run(**row | {"overlays": tuple(row["overlays"] or ())}) for row in query(store, sql)
    }


def level(row: Mapping[str, Any], extra: Level | None = None) -> Level:
    """A `Level` from a row of ``break_even`` or ``break_even_intervals``; ``extra`` gives what it lacks."""
    values: dict[str, Any] = {name: row.get(name) for name in _LEVEL_FIELDS}
    if extra is not None:
        for name in ("naive_speedup", "candidate_lines", "baseline_lines"):
            values[name] = getattr(extra, name)
        if values["refused"]:  # then no window was matched: as many as the level has
            values |= {name: getattr(extra, name) for name in ("n_candidate", "n_baseline")}
    values["tie"], values["equivalent"] = bool(values["tie"]), bool(values["equivalent"])
    for side in ("candidate", "baseline"):
        pct = row.get(f"usable_pct_{side}")
        values[f"usable_{side}"] = None if pct is None else pct / 100
    values["caveats"] = tuple(values["caveats"] or ())
    return Level(**values)


def factors(store: Store, wanted: Iterable[Pair]) -> dict[tuple[str, str], tuple[Factor, ...]]:
    """Every factor of some pairs (view ``comparison_factor``) by the pairs' ids, those that decide first."""
    found: dict[tuple[str, str], list[Factor]] = {}
    across = set()  # nothing set in one engine makes it like the other: such a pair has no mends
    for pair in wanted:
        found[pair.ids] = []
        across |= {pair.ids} if pair.across else set()
    with store.holding():
        want_pairs(store, list(found))
        listed = query(store, "SELECT * FROM factor_pair_of('wanted_pair')")
    for row in listed:
        ids = row["candidate"], row["baseline"]
        found[ids].append(_factor(row | {"mend": None} if ids in across else row))
    return {ids: tuple(sorted(listed, key=_place)) for ids, listed in found.items()}


def want_pairs(store: Store, pairs: Sequence[tuple[str, str]]) -> None:
    """Put pairs of run_ids (candidate, baseline) into the temporary table ``wanted_pair``."""
    for side, place in (("mine", 0), ("theirs", 1)):
        ids = [pair[place] for pair in pairs]
        store.rows(f"SET VARIABLE speclog_{side} = CAST(? AS VARCHAR[])", [ids])
    store.script(
        "CREATE OR REPLACE TEMP TABLE wanted_pair AS SELECT unnest(getvariable('speclog_mine')) "
        "AS candidate, unnest(getvariable('speclog_theirs')) AS baseline"
    )


def _place(factor: Factor) -> tuple[int, str, str]:
    return _ORDER.get(factor.state, 9), factor.klass, factor.name


def _factor(row: Row) -> Factor:
    return Factor(
        name=row["name"],
        klass=row["class"],
        candidate_value=row["candidate_value"],
        baseline_value=row["baseline_value"],
        candidate_known=bool(row["candidate_known"]),
        baseline_known=bool(row["baseline_known"]),
        differs=row["differs"],
        matters=bool(row["matters"]),
        favours=row["favours"],
        mend=row["mend"],
        candidate_line=_text(row["candidate_line"]),
        baseline_line=_text(row["baseline_line"]),
        does=row["does"],
        about=row["about"],
    )


_ORDER = {
    "confounder": 0,
    "unknown": 1,
    "unclassified": 1,
    "doubt": 1,
    "treatment": 2,
    "entailed": 3,
    "differs, does not matter": 4,
    "unknown, does not matter": 5,
    "equal": 6,
}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def harmless_row(row: Mapping[str, Any]) -> Row:
    """A row with every text in it made harmless."""
    return {key: harmless(value) for key, value in row.items()}
