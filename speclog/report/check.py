"""``speclog check``: each candidate against its fairest baseline, judged for a machine to act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from speclog.analysis import baseline, engines, golden, staleness
from speclog.errors import UsageError
from speclog.report import rows
from speclog.report.model import Row
from speclog.runs import not_plain
from speclog.store import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from speclog.store import Store

SCHEMA_VERSION = 1
"""Raised when a key changes its meaning or goes away; new keys may come without it."""
KINDS = ("unfair", "unproven", "regression")


@dataclass(frozen=True, slots=True)
class Checked:
    """One comparison as `speclog check` prints it; the fields are the keys of its JSON, in order."""

    candidate: str
    candidate_name: str
    baseline: str
    baseline_name: str
    verdict: str
    n_confounders: int
    n_unknown: int
    n_entailed: int
    reasons: list[str]
    caveats: list[str]
    contract_hash: str | None
    vouched: bool
    effective_verdict: str
    allowed: list[str]
    choice: str
    naive_baseline_name: str | None
    cross_engine: bool = False
    regressions: list[Row] | None = None
    failed: list[str] = field(default_factory=list)
    published: Row | None = None
    contract: list[Row] | None = None

    def document(self) -> Row:
        """The comparison as JSON has it."""
        return {"schema_version": SCHEMA_VERSION} | {f.name: getattr(self, f.name) for f in fields(self)}


def check(
    store: Store,
    *,
    vs: Sequence[str] | None,
    candidates: Sequence[str] | None,
    reasons: Mapping[str, str],
    fail_on: Iterable[str],
    cross_engine: bool = False,
    before: Sequence[str] | None = None,
    threshold: float = 0.02,
    contract: bool = False,
) -> list[Checked]:
    """Check candidates (run_ids; None: every speculative run) against the baselines ``vs`` (None: any).

    ``reasons``: factor to the reason why it is let pass. ``fail_on``: of `KINDS`; regressions are looked for
    only when asked for, against the runs ``before`` (None: earlier ones of the same configuration).
    ``contract``: list what was held equal.
    Raises UsageError when there is nothing to compare.
    """
    with snapshot.taken(store):
        wanted, repeats = set(fail_on), dict[str, tuple[str, ...]]()
        if cross_engine:
            found = _across(store, vs, candidates, reasons)
        else:
            choices = baseline.load(store, candidates=candidates, baselines=vs)
            found = [
                _checked(store, choice, reasons) for choice in choices.values() if choice.row is not None
            ]
            repeats = {candidate: choice.repeats for candidate, choice in choices.items()}
        if not found:
            raise UsageError(_nothing(store, vs, candidates))
        found = _with_drafts(store, found)
        found = _with_staleness(store, sorted(found, key=lambda one: (one.candidate_name, one.baseline_name)))
        if "regression" in wanted:
            from speclog.report.regressions import regressions

            listed = regressions(store, found, repeats, before=before, threshold=threshold)
            found = [replace(one, regressions=listed[one.candidate]) for one in found]
        if contract:
            found = _with_contracts(store, found)
        return [replace(one, failed=_failed(one, wanted)) for one in found]


def left_out(store: Store, candidates: Sequence[str] | None, found: Sequence[Checked]) -> str:
    """Which candidates (run_ids; None: every speculative run) are in no comparison, and why; '' if none."""
    asked, compared = None if candidates is None else list(candidates), [one.candidate for one in found]
    sql = """
        SELECT name, served FROM run
        WHERE CASE WHEN ? IS NULL THEN speculative ELSE list_contains(?, run_id) END
            AND NOT list_contains(?::VARCHAR[], run_id)
        ORDER BY name
    """
    rest = store.rows(sql, [asked, asked, compared])
    told = []
    for why, names in (
        ("never served", [name for name, served in rest if not served]),
        ("no plain run of its model and engine", [name for name, served in rest if served]),
    ):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        told += [f"{', '.join(names[:3])}{more} ({why})"] if names else []
    return f"not compared: {'; '.join(told)}" if told else ""


def unmet(found: Sequence[Checked], reasons: Mapping[str, str]) -> list[str]:
    """Factors that were to be let pass, of which no comparison needed it."""
    needed = [text for one in found for text in one.allowed]
    return [name for name in reasons if not any(text.startswith(f"{name}: ") for text in needed)]


def _with_contracts(store: Store, found: Sequence[Checked]) -> list[Checked]:
    """List by comparison the factors with equal values that its ``contract_hash`` stands for."""
    sql = """
        SELECT candidate, baseline, name, least(candidate_norm, baseline_norm) AS value
        FROM factor_pair_of('wanted_pair') WHERE NOT differs AND listed NOT IN ('noise', 'treatment')
        ORDER BY name
    """
    held: dict[tuple[str, str], list[Row]] = {(one.candidate, one.baseline): [] for one in found}
    with store.holding():
        rows.want_pairs(store, list(held))
        for row in rows.query(store, sql):
            held[row["candidate"], row["baseline"]].append({"name": row["name"], "value": row["value"]})
    return [replace(one, contract=held[one.candidate, one.baseline]) for one in found]


def published(paths: Iterable[Path], fail_on: Iterable[str]) -> tuple[list[Checked], int]:
    """Published rows judged: what cannot be is ``unfair``, everything else ``unproven`` at best.

    Impossible rows come first. Also: how many speculative rows have no baseline to be held against.
    Raises InputError for a file without such rows.
    """
    from speclog.analysis.published import judge
    from speclog.formats.published import read

    wanted, made, left_out = set(fail_on), [], 0
    for path in paths:
        claims, without = read(path)
        left_out += without
        for claim in claims:
            found = judge(claim.accept_length, claim.speedup, claim.batch_size, claim.steps)
            one = _published(asdict(claim) | {"tau_star": found.tau_star}, found.verdict, found.reason)
            made.append(replace(one, failed=_failed(one, wanted)))
    return sorted(made, key=lambda one: one.verdict != "unfair"), left_out


def _published(claim: Row, verdict: str, reason: str) -> Checked:
    told = {key: rows.harmless(value) for key, value in claim.items()}
    return Checked(
        candidate=told["where"],
        candidate_name=f"{told['name'] or 'row'} ({told['where'].partition(':')[2]})",
        baseline=told["baseline_where"] or told["where"],
        baseline_name="its baseline in the table",
        verdict=verdict,
        n_confounders=int(verdict == "unfair"),
        n_unknown=int(verdict == "unproven"),
        n_entailed=0,
        reasons=[reason],
        caveats=[],
        contract_hash=None,
        vouched=False,
        effective_verdict=verdict,
        allowed=[],
        choice="the table's own",
        naive_baseline_name=None,
        published=told,
    )


def _failed(one: Checked, wanted: set[str]) -> list[str]:
    slower = any(row["regressed"] for row in one.regressions or [])
    return sorted(({one.effective_verdict} | ({"regression"} if slower else set())) & wanted)


def _checked(store: Store, choice: baseline.Choice, reasons: Mapping[str, str]) -> Checked:
    row = dict(choice.row or {})
    naive = None if choice.naive is None else choice.naive["baseline_name"]
    return _judged(store, row, reasons, choice.note, naive)


def _judged(
    store: Store, row: Mapping[str, Any], reasons: Mapping[str, str], note: str, naive: str | None
) -> Checked:
    effective, allowed = _allowed(store, row, reasons)
    return Checked(
        **{name: rows.harmless(row[name]) for name in _COLUMNS},
        effective_verdict=effective,
        allowed=rows.harmless(allowed),
        choice=note,
        naive_baseline_name=rows.harmless(naive),
    )


_COLUMNS = (
    "candidate", "candidate_name", "baseline", "baseline_name", "verdict", "n_confounders", "n_unknown",
    "n_entailed", "reasons", "caveats", "contract_hash", "vouched",
)  # fmt: skip


def _allowed(store: Store, row: Mapping[str, Any], reasons: Mapping[str, str]) -> tuple[str, list[str]]:
    """The verdict without the factors that are let pass, and which of them the pair needed."""
    if not reasons or row["verdict"] == "fair":
        return row["verdict"], []
    found = store.rows(
        "SELECT name, does FROM factor_pair WHERE candidate = ? AND baseline = ? AND matters",
        [row["candidate"], row["baseline"]],
    )
    impossible = any(text.startswith("impossible") for text in row["reasons"])
    left = {does for name, does in found if name not in reasons} | ({"unfair"} if impossible else set())
    effective = "unfair" if "unfair" in left else "unproven" if left else "fair"
    return effective, [f"{name}: {reasons[name]}" for name, _ in sorted(found) if name in reasons]


def _with_drafts(store: Store, found: Sequence[Checked]) -> list[Checked]:
    """Say of each candidate whose draft looks broken by published accept lengths that it does."""
    told = golden.broken(store, [one.candidate for one in found])
    return [
        replace(one, caveats=[*one.caveats, rows.harmless(told[one.candidate])])
        if one.candidate in told
        else one
        for one in found
    ]


def _with_staleness(store: Store, found: Sequence[Checked]) -> list[Checked]:
    from speclog.report.evidence import told

    stale = staleness.load(store, [run for one in found for run in (one.candidate, one.baseline)], told)
    made = []
    for one in found:
        texts = [
            f"{name}: {rows.harmless(item.text)}"
            for run, name in ((one.candidate, "candidate"), (one.baseline, "baseline"))
            for item in stale.get(run, [])
        ]
        made.append(replace(one, caveats=[*one.caveats, *texts]))
    return made


def _nothing(store: Store, vs: Sequence[str] | None, candidates: Sequence[str] | None) -> str:
    """Why there is nothing to compare; another engine is named."""
    if vs is not None:
        sql = "SELECT DISTINCT engine FROM run WHERE list_contains(?, run_id)"
        theirs = {engine for (engine,) in store.rows(sql, [list(vs)])}
        spec = """
            SELECT DISTINCT engine FROM run
            WHERE CASE WHEN ? IS NULL THEN speculative ELSE list_contains(?, run_id) END
        """
        some = None if candidates is None else list(candidates)
        mine = {engine for (engine,) in store.rows(spec, [some, some])}
        if mine and theirs and not mine & theirs:
            return engines.refusal(theirs, mine)
        sql = "SELECT name, speculative FROM run WHERE list_contains(?, run_id) ORDER BY name"
        named = store.rows(sql, [list(vs)])
        if named and all(speculative for _, speculative in named):
            return not_plain(named[0][0], len(named))
        return (
            "nothing to compare: no candidate serves the model of the baseline named, and decoded a token; "
            "`speclog runs` lists what there is, --vs baseline looks for one"
        )
    left = left_out(store, candidates, []) or "`speclog runs`"
    return f"nothing to compare: no speculative run with a baseline of its model; {left}"


def _across(
    store: Store, vs: Sequence[str] | None, candidates: Sequence[str] | None, reasons: Mapping[str, str]
) -> list[Checked]:
    """Every candidate against every named run, whatever its engine; each is labelled."""
    if vs is None:
        raise UsageError(engines.NOT_NAMED)
    made = []
    for row in engines.compare_as_asked(store, candidates, vs):
        pair = row["candidate_engine"], row["baseline_engine"]
        one = _judged(store, row, reasons, engines.label(*pair), None)
        made.append(replace(one, cross_engine=pair[0] != pair[1]))
    return made
