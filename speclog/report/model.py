"""What a report says, as plain data: no store, no HTML, no chart.

`gather` fills these from the store; `render`, `markdown` and `as_json` print them. Units are in the names; a
value that is not known is None and must be printed as unknown, never as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from speclog.analysis.missing import Launched

if TYPE_CHECKING:
    from speclog.analysis.attribution import Attribution

Row = dict[str, Any]
_DOUBT = re.compile(r"^\d+ measurement doubts?: ")
_UNCLASSIFIED = re.compile(r"^\d+ unclassified factors? ")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the store (view ``run``), as far as a report shows it."""

    run_id: str
    name: str
    tag: str | None
    engine: str
    version: str | None
    model: str | None
    speculative: bool | None
    algorithm: str | None
    steps: int | None
    topk: int | None
    draft_tokens: int | None
    served: bool
    end_reason: str
    synthetic: bool
    started_at: datetime | None
    windows: int
    profile: str | None
    arm: str | None
    repeat: int | None
    note: str | None
    source: str
    first_line: int | None
    last_line: int | None
    overlays: tuple[str, ...] = ()
    adaptive: bool = False
    """Whether it changes its draft steps between rounds; then ``steps`` and ``draft_tokens`` are unknown."""

    @property
    def launched(self) -> Launched | None:
        """How `speclog launch` started it, as far as its manifest says; None when it says nothing."""
        return Launched.of(self.profile, self.overlays, self.arm)

    @property
    def treatment(self) -> str:
        """The speculation in words: ``EAGLE3 5 steps, 6 draft tokens``, or ``no speculation``."""
        if not self.speculative:
            return "no speculation" if self.speculative is False else "speculation unknown"
        parts = [
            "adaptive steps" if self.adaptive else f"{self.steps} steps" if self.steps is not None else ""
        ]
        if self.topk is not None and self.topk > 1:
            parts.append(f"topk {self.topk}")
        parts.append(f"{self.draft_tokens} draft tokens" if self.draft_tokens is not None else "")
        return f"{self.algorithm or 'speculation'} {', '.join(part for part in parts if part)}".strip()

    @property
    def short_treatment(self) -> str:
        """As `treatment`, for tight places: ``EAGLE3 5/6``."""
        if not self.speculative:
            return self.treatment
        steps = "adaptive" if self.adaptive else f"{self.steps or '?'}/{self.draft_tokens or '?'}"
        return f"{self.algorithm or 'speculation'} {steps}"


@dataclass(frozen=True, slots=True)
class Level:
    """The result of a pair at one batch size; times in ms, accept lengths in tokens per request and round."""

    batch_size: int
    context_from: float | None
    context_to: float | None
    context: float | None
    n_candidate: int
    n_baseline: int
    tau: float | None
    tau_lo: float | None
    tau_hi: float | None
    t_spec_ms: float | None
    t_base_ms: float | None
    tau_star: float | None
    tau_star_lo: float | None
    tau_star_hi: float | None
    margin_tokens: float | None
    margin_tokens_lo: float | None
    margin_tokens_hi: float | None
    margin_ms: float | None
    speedup: float | None
    speedup_lo: float | None
    speedup_hi: float | None
    p_win: float | None
    tie: bool
    interval_kind: str | None
    n_eff_candidate: float | None
    n_eff_baseline: float | None
    refused: str | None
    naive_speedup: float | None = None
    candidate_lines: str | None = None
    baseline_lines: str | None = None
    equivalent: bool = False
    usable_candidate: float | None = None
    usable_baseline: float | None = None
    caveats: tuple[str, ...] = ()
    t_spec_ms_lo: float | None = None
    t_spec_ms_hi: float | None = None
    t_base_ms_lo: float | None = None
    t_base_ms_hi: float | None = None
    margin_ms_lo: float | None = None
    margin_ms_hi: float | None = None

    @property
    def margin_pct(self) -> float | None:
        """How much faster than the baseline, per cent: 100 * (speedup - 1)."""
        return None if self.speedup is None else 100 * (self.speedup - 1)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a comparison (view ``comparison_factor``) with its worth where the store measured it."""

    name: str
    klass: str
    candidate_value: str | None
    baseline_value: str | None
    candidate_known: bool
    baseline_known: bool
    differs: bool | None
    matters: bool
    favours: str | None
    mend: str | None
    candidate_line: str | None
    baseline_line: str | None
    worth: str | None = None
    does: str | None = None
    about: str | None = None

    @property
    def state(self) -> str:
        """Where the row belongs: confounder, unknown, unclassified, doubt, treatment, entailed, ..., equal.

        A doubt leaves a pair unproven although both values are known: a difference whose weight nobody knows,
        or a value that no comparison should rest on, on both sides too.
        """
        if self.does == "unproven" and self.differs is not None and self.klass != "unclassified":
            return "doubt"
        if self.differs is None:
            return "unknown" if self.matters else "unknown, does not matter"
        if not self.differs:
            return "equal"
        if self.klass == "unclassified" and self.matters:
            return "unclassified"
        if self.klass in ("treatment", "entailed"):
            return self.klass
        return "confounder" if self.matters else "differs, does not matter"


def arm_of(runs: Iterable[Run]) -> tuple[str, ...]:
    """One side of a pair by run_ids: a run and its repeats."""
    return tuple(run.run_id for run in runs)


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate against one baseline: the verdict, why, and (when computed) the levels.

    ``*_repeats``: other starts of the same server whose windows are pooled with its own.
    """

    candidate: Run
    baseline: Run
    verdict: str
    reasons: tuple[str, ...]
    contract_hash: str | None
    vouched: bool
    n_confounders: int
    n_unknown: int
    levels: tuple[Level, ...] = ()
    factors: tuple[Factor, ...] = ()
    caveats: tuple[str, ...] = ()
    candidate_repeats: tuple[Run, ...] = ()
    baseline_repeats: tuple[Run, ...] = ()
    none_clean: str = ""
    """Why there are no levels, where the candidate has no clean window at all."""

    @property
    def why_no_number(self) -> str:
        """Why no level has a number."""
        return next(
            (one.refused for one in self.levels if one.refused), self.none_clean or "no common batch size"
        )

    @property
    def ids(self) -> tuple[str, str]:
        """The run_ids (candidate, baseline): what tells two pairs apart."""
        return self.candidate.run_id, self.baseline.run_id

    @property
    def arms(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The run_ids of both sides, each with its repeats."""
        return (
            arm_of([self.candidate, *self.candidate_repeats]),
            arm_of([self.baseline, *self.baseline_repeats]),
        )

    @property
    def key(self) -> str:
        """A short, stable, file-name-safe key of the pair for anchors and dataset names."""
        return f"{self.candidate.run_id[:10]}-{self.baseline.run_id[:10]}"

    @property
    def across(self) -> bool:
        """Whether the two runs are of two engines, which are compared only where that was asked for."""
        return self.candidate.engine != self.baseline.engine

    @property
    def main_level(self) -> Level | None:
        """The level a headline speaks of: the smallest batch size with a number that nothing speaks against.

        Where something speaks against each of them, the smallest with a number.
        """
        known = [level for level in self.levels if level.speedup is not None]
        return next((level for level in known if not level.caveats), known[0] if known else None)

    @property
    def naive_level(self) -> Level | None:
        """The level whose naive ratio is shown: the smallest batch size that has one."""
        return next((level for level in self.levels if level.naive_speedup is not None), None)

    def confounders(self) -> list[Factor]:
        """The factors that make the pair unfair."""
        return [factor for factor in self.factors if factor.state == "confounder"]

    def unknowns(self) -> list[Factor]:
        """The factors that matter and are not recorded for both sides."""
        return [factor for factor in self.factors if factor.state == "unknown"]

    def doubts(self) -> list[Factor]:
        """The factors that leave the pair unproven although they are recorded for both sides."""
        return [factor for factor in self.factors if factor.state == "doubt"]

    @property
    def left_open(self) -> str:
        """What leaves an unproven pair open: ``unknown`` (assumed equal), ``unclassified``, ``doubt``."""
        if self.factors:
            found = {factor.state for factor in self.factors}
            return next((one for one in ("unknown", "unclassified", "doubt") if one in found), "unknown")
        if self.reasons and all(_DOUBT.search(one) for one in self.reasons):
            return "doubt"
        odd = self.reasons and all(_DOUBT.search(one) or _UNCLASSIFIED.search(one) for one in self.reasons)
        return "unclassified" if odd else "unknown"

    def unclassified(self) -> list[Factor]:
        """The factors that differ and that the catalogue does not know: whether they matter is open."""
        return [factor for factor in self.factors if factor.state == "unclassified"]


@dataclass(frozen=True, slots=True)
class Missing:
    """A run that nobody has made and that would settle the question."""

    title: str
    command: str
    why: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One question a reader asks, and what the store says, or why it says nothing.

    ``value`` with its interval where the answer is a number; ``estimate`` where it rests on an assumption,
    which the text names; ``rows`` hold the numbers behind it; ``anchor``: the place on the page that explains
    it; ``flag``: something is wrong that the reader must see; ``source``: the command that prints numbers.
    """

    key: str
    question: str
    text: str = ""
    why_not: str = ""
    estimate: bool = False
    value: float | None = None
    low: float | None = None
    high: float | None = None
    kind: str | None = None
    rows: tuple[Row, ...] = ()
    anchor: str = ""
    flag: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class Data:
    """Rows behind a chart or table; columns carry their unit in the name."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart titled with its answer, its alt text, its Vega-Lite spec and the data by name.

    ``source``: the command that prints its numbers; ``formula``: the place on the page that explains them.
    """

    key: str
    question: str
    title: str
    alt: str
    spec: dict[str, Any]
    data: tuple[Data, ...]
    note: str = ""
    source: str = ""
    formula: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """A chart that cannot be drawn, and why: shown as a line, so that nothing is silently missing."""

    key: str
    question: str
    reason: str


@dataclass(slots=True)
class Section:
    """Everything the page says about one candidate."""

    run: Run
    chosen: Pair | None
    fair: Pair | None
    naive: Pair | None
    pairs: list[Pair] = field(default_factory=list)
    n_pairs: int = 0
    """How many there are: of a store of many runs a section has the fairest only."""
    headline: str = ""
    change: str = ""
    missing: list[Missing] = field(default_factory=list)
    charts: list[Chart | Absent] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    bill: list[Row] = field(default_factory=list)
    why_not: str = ""
    repeats: list[Run] = field(default_factory=list)
    maybe: Pair | None = None
    choice: str = ""
    """How the baseline was chosen: the only fair one, the newest of several, repeats pooled ..."""
    attribution: Attribution | None = None
    answers: list[Answer] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)
    """The 2x2 of treatment and confounder as shown: setting, arm, run, tok_s and round_ms with intervals."""
    stale: list[str] = field(default_factory=list)
    advice: list[Answer] = field(default_factory=list)
    between: list[Row] = field(default_factory=list)

    @property
    def shown(self) -> list[Pair]:
        """The pairs the page shows in detail: the one asked for, the fair (or likely) one, the naive one."""
        wanted = [pair for pair in (self.chosen, self.fair, self.maybe, self.naive) if pair is not None]
        return list({pair.ids: pair for pair in wanted}.values())

    @property
    def unjudged(self) -> bool:
        """Whether there are pairs with a number and no interval."""
        levels = [pair.main_level for pair in self.pairs]
        return any(level is not None and level.speedup_lo is None for level in levels)

    @property
    def verdict(self) -> str:
        """Verdict of the pair asked for; ``never served`` or ``no baseline`` when there is none."""
        if not self.run.served:
            return "never served"
        return self.chosen.verdict if self.chosen else "no baseline"


@dataclass(slots=True)
class Report:
    """One page."""

    title: str
    summary: str
    command: str
    store: str
    version: str
    made_at: datetime
    vs: str
    sections: list[Section]
    brief: list[Section]
    runs: list[Run]
    baselines: list[Run] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cross_engine: bool = False
