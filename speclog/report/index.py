"""The index: every run and every report of a folder on one page, and how a configuration moved over time."""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from speclog import __version__
from speclog.report import rows, sources
from speclog.report.charts import spread, trend
from speclog.report.model import Absent, Chart, Row, Run

if TYPE_CHECKING:
    from speclog.store import Store

FILE_NAME = "index.html"
MAX_TRENDS = 8
MIN_RUNS = 3
_HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Listed:
    """A report that lies in the folder."""

    file: str
    title: str
    summary: str
    made: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A run with what it measured at its smallest batch size; None where it has no clean window."""

    run: Run
    batch_size: int | None
    n_clean: int | None
    tau: float | None
    round_ms: float | None
    round_mad_ms: float | None
    tok_s: float | None

    @property
    def ends_ms(self) -> tuple[float | None, float | None]:
        """Two standard errors around the round, as in the trends; None with a single window."""
        row = {"round_ms": self.round_ms, "round_mad_ms": self.round_mad_ms, "n_clean": self.n_clean}
        found = spread.ends(row)
        return found["low_ms"], found["high_ms"]


@dataclass(frozen=True, slots=True)
class Index:
    """The page's content."""

    store: str
    version: str
    made_at: datetime
    reports: list[Listed]
    runs: list[Measured]
    trends: list[Chart | Absent]


def gather_index(store: Store, out_dir: Path) -> Index:
    """Read every run of the store and the head of every page in ``out_dir``."""
    runs = _measured(store)
    return Index(
        store=store.target,
        version=__version__,
        made_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        reports=reports_in(out_dir),
        runs=runs,
        trends=[sources.placed(chart, store.target) for chart in trends(store, runs)],
    )


def _measured(store: Store) -> list[Measured]:
    sql = """
        SELECT run_id, batch_size, n_clean, tau, round_ms, round_mad_ms, tok_s FROM level WHERE n_clean > 0
        QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY batch_size) = 1
    """
    found = {row["run_id"]: row for row in rows.query(store, sql)}
    names = ("batch_size", "n_clean", "tau", "round_ms", "round_mad_ms", "tok_s")
    return [
        Measured(run, *(found.get(run.run_id, {}).get(name) for name in names))
        for run in rows.runs(store).values()
    ]


class _Head(HTMLParser):
    """Title and meta tags of a page, read as text."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.meta: dict[str, str] = {}
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._in_title = tag == "title"
        if tag == "meta" and values.get("name"):
            self.meta[str(values["name"])] = values.get("content") or ""

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def reports_in(folder: Path) -> list[Listed]:
    """Reports of speclog in a folder (other pages are left alone), newest first."""
    found = []
    for path in folder.glob("*.html"):
        try:
            with path.open("rb") as handle:
                text = handle.read(_HEAD_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        head = _Head()
        head.feed(text)
        if head.meta.get("generator") == "speclog" and path.name != FILE_NAME:
            made = head.meta.get("speclog-made", "")
            found.append(Listed(path.name, head.title, head.meta.get("description", ""), made))
    return sorted(found, key=lambda listed: (listed.made, listed.file), reverse=True)


def trends(store: Store, measured: Sequence[Measured]) -> list[Chart | Absent]:
    """One chart a configuration (model, speculation, profile, batch size) of enough runs, longest first."""
    groups: dict[tuple[str, str, str, int], list[Measured]] = defaultdict(list)
    for one in measured:
        if one.batch_size is not None and one.run.started_at is not None:
            key = (one.run.model or "unknown model", one.run.treatment, one.run.profile or "", one.batch_size)
            groups[key].append(one)
    longest = sorted(
        (key for key in groups if len(groups[key]) >= MIN_RUNS), key=lambda key: (-len(groups[key]), key)
    )
    chosen = longest[:MAX_TRENDS]
    changed = _changes(store, [[one.run.run_id for one in _in_time(groups[key])] for key in chosen])
    return [
        sources.sourced(
            trend.chart(number, key, _points(_in_time(groups[key]), changed)),
            "",
            sources.of_configuration(groups[key][0].run, key[3]),
        )
        for number, key in enumerate(chosen)
    ]


def _in_time(group: Iterable[Measured]) -> list[Measured]:
    return sorted(group, key=lambda one: (one.run.started_at or datetime.min, one.run.run_id))


def _points(group: Sequence[Measured], changed: dict[str, list[str]]) -> list[Row]:
    return [
        {
            "started_at": one.run.started_at,
            "run": one.run.name,
            "version": one.run.version or "unknown",
            "round_ms": one.round_ms,
            "round_mad_ms": one.round_mad_ms,
            "tok_s": one.tok_s,
            "tau": one.tau,
            "n_clean": one.n_clean,
            "changed": changed.get(one.run.run_id, []),
        }
        for one in group
    ]


def _changes(store: Store, sequences: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """What the records say changed from one run of a sequence to the next: ``NCCL_PROTO LL -> (unset)``."""
    steps = [step for sequence in sequences for step in pairwise(sequence)]
    sql = """
        WITH step AS (
            SELECT unnest(?) AS before, unnest(?) AS after
        ),
        wanted AS MATERIALIZED (
            SELECT before AS run_id FROM step UNION SELECT after FROM step
        ),
        known AS MATERIALIZED (
            SELECT run_id, 'env.' || name AS name, coalesce(value, '(unset)') AS value, 0 AS weight
            FROM env_var SEMI JOIN wanted USING (run_id)
            UNION ALL SELECT run_id, 'arg.' || name, value, 0 FROM server_arg SEMI JOIN wanted USING (run_id)
            UNION ALL SELECT run_id, 'fact.' || name, value, 0 FROM fact SEMI JOIN wanted USING (run_id)
            UNION ALL SELECT run_id, 'fact.version', version, 1 FROM run SEMI JOIN wanted USING (run_id)
        ),
        met AS (
            SELECT s.before, s.after, k.name, k.value, k.weight, false AS later
            FROM step AS s JOIN known AS k ON k.run_id = s.before WHERE k.value IS NOT NULL
            UNION ALL
            SELECT s.before, s.after, k.name, k.value, k.weight, true AS later
            FROM step AS s JOIN known AS k ON k.run_id = s.after WHERE k.value IS NOT NULL
        ),
        paired AS (
            SELECT
                before, after, name, max_by(value, weight) FILTER (NOT later) AS was,
                max_by(value, weight) FILTER (later) AS is_now
            FROM met GROUP BY before, after, name
        )
        SELECT * FROM paired WHERE was IS DISTINCT FROM is_now ORDER BY after, name
    """
    if not steps:
        return {}
    found: dict[str, list[str]] = {after: [] for _, after in steps}
    noise = [row["pattern"] for row in rows.query(store, "SELECT pattern FROM factor WHERE class = 'noise'")]
    told = [[before for before, _ in steps], [after for _, after in steps]]
    is_noise = cache(lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in noise))
    absent = _absent(store, [run for step in steps for run in step])
    for row in rows.query(store, sql, told):
        if not is_noise(row["name"]):
            was = row["was"] or absent(row["before"], row["name"])
            now = row["is_now"] or absent(row["after"], row["name"])
            found[row["after"]].append(f"{row['name'].partition('.')[2]} {was} → {now}")
    return found


def _absent(store: Store, run_ids: Sequence[str]) -> Callable[[str, str], str]:
    """What it says that a run's records lack a name: ``(unset)`` where they cover it, else unknown."""
    sql = "SELECT run_id, list(prefix) FROM env_scan WHERE list_contains(?, run_id) GROUP BY run_id"
    covered = {run_id: tuple(prefixes) for run_id, prefixes in store.rows(sql, [list(run_ids)])}

    def absent(run_id: str, name: str) -> str:
        known = name.startswith("env.") and name[4:].startswith(covered.get(run_id, ()))
        return "(unset)" if known else "unknown"

    return absent
