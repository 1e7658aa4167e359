"""The labelled set of pairs: are the unfair ones caught, and none accused falsely?"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.validate import ROOT, SHARED, Data, Section
from speclog import annotations
from speclog.analysis.breakeven import DELTA, compare
from speclog.ingest.api import ingest_paths
from speclog.store import open_store
from tests.fairness.build import append_all
from tests.fairness.pairs import OWN, built

LABELS = ("fair", "unproven", "unfair")
TEXT = """Pairs of runs with the verdict a careful person would give (`tests/fairness/pairs.py`): one confounder at a time for
every class, differences SGLang makes itself, noise, unknowns, doubtful measurements, several at once, arms named the
other way round; built as ingest writes them, and real logs as they are. Precision: of the pairs called unfair, how
many are. Recall: of the unfair ones, how many are called so. Built pairs have complete records, so a wrong verdict is
the catalogue's fault alone."""
Found = list[tuple[str, str, str]]  # kind, label, verdict


def section(data: Data) -> Section:
    found = Section("Verdicts on labelled pairs", TEXT)
    judged = [*_built(), *_own()]
    right = sum(label == verdict for _, label, verdict in judged)
    found.claim("verdict as labelled", f"{len(judged)} of {len(judged)}", f"{right}", right == len(judged))
    for name, value in (("precision", _precision(judged)), ("recall", _recall(judged))):
        found.claim(f'{name} of "unfair"', "100 %", _pct(value), value == 1)
    noise = [one for one in judged if one[0] == "noise only"]
    accused = sum(verdict == "unfair" for _, _, verdict in noise)
    found.claim(
        "pairs that differ in noise only, called unfair", f"0 of {len(noise)}", f"{accused}", accused == 0
    )
    unknown = [one for one in judged if one[1] == "unproven"]
    trusted = sum(verdict == "fair" for _, _, verdict in unknown)
    found.claim("unknowns called fair", f"0 of {len(unknown)}", f"{trusted}", trusted == 0)
    _twice(found, data)
    found.table = _table(judged)
    return found


def _built() -> Found:
    pairs = built()
    with TemporaryDirectory() as folder, open_store(str(Path(folder) / "s.duckdb"), read_only=False) as store:
        append_all(store, [run for pair in pairs for run in (pair.candidate, pair.baseline)])
        rows = store.rows("SELECT candidate, baseline, verdict FROM comparison")
        verdicts = {(candidate, baseline): verdict for candidate, baseline, verdict in rows}
        found = []
        for pair in pairs:
            ids = [pair.candidate.run_id, pair.baseline.run_id]
            if pair.swapped:
                ((verdict,),) = store.rows("SELECT verdict FROM compare(?, ?)", ids[::-1])
            else:
                verdict = verdicts[ids[0], ids[1]]
            found.append((pair.kind, pair.label, verdict))
    return found


def _own() -> Found:
    logs = [SHARED, ROOT / "examples" / "logs" / "kimi-k25-story"]
    if not SHARED.is_dir():
        return []
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "s.duckdb")
        ingest_paths(logs, store_target=target, lock_timeout=20.0)
        with open_store(target) as store:
            ids = dict(store.rows("SELECT name, run_id FROM run"))
            found = []
            for left, right, label in OWN:
                ((verdict,),) = store.rows("SELECT verdict FROM compare(?, ?)", [ids[left], ids[right]])
                found.append(("logs as they are", label, verdict))
    return found


def _twice(found: Section, data: Data) -> None:
    """The same server started twice: fair once vouched for, level, and equal on purpose."""
    names = ("base", "base-repeat")
    if not data.has(*names):
        found.claim("base against base-repeat", "fair, ~, equal within 2 %", "the logs are not here", None)
        return
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "s.duckdb")
        ingest_paths([data.logs / f"{name}.log" for name in names], store_target=target, lock_timeout=20.0)
        with open_store(target, read_only=False) as store:
            ids = [run_id for (run_id,) in store.rows("SELECT run_id FROM run ORDER BY name")]
            sql = "SELECT verdict FROM compare(?, ?)"
            (before,) = store.rows(sql, ids)[0]
            said = annotations.parse(["env=complete", "machine=h200", "workload=w"])
            annotations.record(store, ids, said, author="validation")
            (after,) = store.rows(sql, ids)[0]
    found.claim("base against base-repeat, as logged / vouched for", "unproven / fair", f"{before} / {after}",
                (before, after) == ("unproven", "fair"))  # fmt: skip
    for row in compare(data.side("base"), data.side("base-repeat")).iter_rows(named=True):
        span = f"S = {row['speedup']:.4f} ({row['speedup_lo']:.4f} to {row['speedup_hi']:.4f})"
        equal = f"equal within {100 * DELTA:g} %" if row["equivalent"] else "not shown equal"
        shown = f"{row['tie'] or 'differs'}, {equal}; {span}"
        claim = row["batch_size"] == 1
        found.claim(f"base against base-repeat, b = {row['batch_size']}", "~, equal within 2 %" if claim else "-",
                    shown, (row["tie"] == "~" and row["equivalent"]) if claim else None)  # fmt: skip


def _table(judged: Found) -> str:
    kinds: dict[str, Found] = defaultdict(list)
    for one in judged:
        kinds[one[0]].append(one)
    lines = [
        "| kind | pairs | right | fair | unproven | unfair | precision | recall |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, rows in [*kinds.items(), ("**all**", judged)]:
        counts = Counter(label for _, label, _ in rows)
        right = sum(label == verdict for _, label, verdict in rows)
        shares = f"{_pct(_precision(rows))} | {_pct(_recall(rows))}"
        each = " | ".join(str(counts[label]) for label in LABELS)
        lines.append(f"| {kind} | {len(rows)} | {right} | {each} | {shares} |")
    return "\n".join(
        [
            *lines,
            "",
            "Columns fair, unproven, unfair: labels. A dash: no pair of the kind is called, or is, unfair.",
        ]
    )


def _precision(rows: Found) -> float | None:
    called = [label for _, label, verdict in rows if verdict == "unfair"]
    return sum(label == "unfair" for label in called) / len(called) if called else None


def _recall(rows: Found) -> float | None:
    unfair = [verdict for _, label, verdict in rows if label == "unfair"]
    return sum(verdict == "unfair" for verdict in unfair) / len(unfair) if unfair else None


def _pct(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
