"""What a watcher knows: the last windows, whether they are clean, the last events, the margin."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING, Any

from speclog.formats.values import whole_number
from speclog.watch import clean
from speclog.watch.alike import Server
from speclog.watch.clean import Line
from speclog.watch.fill import Fill

if TYPE_CHECKING:
    from speclog.formats.engine import Record
    from speclog.formats.prefix import Prefix

DEFAULT_ROUNDS = 40
_NO_CONTEXT = "no margin: vLLM prints no context lengths, and rounds are compared at equal context only"


@dataclass(frozen=True, slots=True)
class BaselineLine:
    """A stored baseline at one batch size: step ms = a_ms + c_ms_per_token * context, in a range of it.

    ``eager``: of windows without CUDA graphs; ``mixed``: of batches of requests of unequal length.
    """

    name: str
    a_ms: float
    c_ms_per_token: float
    context_min: float
    context_max: float
    eager: bool = False
    mixed: bool = False

    def step_ms(self, context: float) -> float | None:
        """Step time at a context; None outside the contexts that were measured (nothing is extrapolated)."""
        if not self.context_min <= context <= self.context_max:
            return None
        return self.a_ms + self.c_ms_per_token * context


@dataclass(frozen=True, slots=True)
class Baseline:
    """The lines of a stored run by batch size, a sentence about it, and what is known to make it unfair."""

    lines: Mapping[int, Sequence[BaselineLine]] = field(default_factory=dict)
    about: str = "no margin: no server_args line seen in this log (--vs names a baseline)"
    differ: tuple[str, ...] = ()
    again: bool = False  # the store was busy, or not there yet: worth asking again

    def step_ms(self, size: int, context: float, *, eager: bool, mixed: bool) -> float | None:
        """Step time at a batch size and context, of windows of the same kind; None where there are none."""
        alike = (line for line in self.lines.get(size, ()) if (line.eager, line.mixed) == (eager, mixed))
        return next((step for line in alike if (step := line.step_ms(context)) is not None), None)


@dataclass(frozen=True, slots=True)
class Window:
    """One decode line, of DP rank ``dp``. ``left_out`` says why it does not count, None when it does.

    ``tau_star`` is its round over the baseline's step at that context; of a server without speculation that
    is how much longer its steps are, and there is no margin.
    """

    ts: datetime | None
    batch_size: int
    gen_tok_s: float
    tau: float
    printed_accept: bool
    round_ms: float | None
    context: float | None
    queue: int | None
    left_out: str | None
    tau_star: float | None
    dp: int | None = None

    @property
    def margin_tokens(self) -> float | None:
        """How far tau is above tau_star; None without speculation, or a baseline to hold it against."""
        return None if self.tau_star is None or not self.printed_accept else self.tau - self.tau_star


@dataclass(slots=True)
class State:
    """Everything a screen shows. Feed it records in log order."""

    baseline: Baseline = field(default_factory=Baseline)
    choose: Callable[[Server], Baseline] | None = None
    """Gives a baseline for a server that starts; None keeps the one there is."""
    windows: deque[Window] = field(default_factory=lambda: deque(maxlen=240))
    events: deque[tuple[datetime | None, str, str]] = field(default_factory=lambda: deque(maxlen=50))
    seen: int = 0
    n_events: int = 0
    speculative: bool | None = None
    rounds: int = DEFAULT_ROUNDS
    treatment: str = ""
    _manifest: Mapping[str, Any] = field(default_factory=dict)
    _server: Server | None = None
    _introduced: bool = False  # a server has taken the manifest as its own
    _warmup: bool = False
    _bonus: float = 0.0  # tokens that an accept length counts twice
    _fills: dict[str, Fill] = field(default_factory=dict)
    _prefills: dict[str, int] = field(default_factory=dict)
    _previous: dict[str, Line] = field(default_factory=dict)
    _copies: dict[int | None, tuple[int | None, ...]] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """Which run the margin is against, or why there is none."""
        return self.baseline.about

    def take(self, record: Record) -> Window | None:
        """Add one record; returns the window when it was a decode line, so that it can be printed."""
        name, fields = record.kind.name, record.fields
        if name in ("decode_batch", "prefill_batch") and self._is_copy(record.prefix):
            return None
        if name == "decode_batch":
            return self._decode(record, fields)
        if name == "prefill_batch":
            self._prefills[record.prefix.rank] = self._prefills.get(record.prefix.rank, 0) + 1
            self._fills.setdefault(record.prefix.rank, Fill()).prefill(fields)
        elif name == "speclog_manifest":
            self._manifest, self._introduced = fields, False
        elif name == "speclog_workload":
            self._warmup = fields.get("event") == "begin" and fields.get("kind") == "warmup"
            self._event(record)
        elif record.kind.shape == "server_args":
            self._start(fields)
        elif not record.kind.noise and record.kind.table != "profile_window":
            self._event(record)
        return None

    def _is_copy(self, prefix: Prefix) -> bool:
        """Whether a batch line repeats another's: of the PP and TP ranks of a DP rank one counts."""
        rank = tuple(prefix.number(tag) for tag in ("PP", "TP", "EP"))
        return self._copies.setdefault(prefix.number("DP"), rank) != rank

    def _event(self, record: Record) -> None:
        """Note an event once, though every rank prints it."""
        if record.kind.engine == "vllm" and not self.seen:
            self.baseline = Baseline({}, _NO_CONTEXT)
        kind, message = record.kind.name, record.message.split("\n", 1)[0][:300]
        if not any(known[1:] == (kind, message) for known in list(self.events)[-12:]):
            self.events.append((record.prefix.ts, kind, message))
            self.n_events += 1

    def _start(self, args: Mapping[str, Any]) -> None:
        """A new server process: what was seen of the old one no longer counts."""
        self.windows.clear()
        self._prefills.clear()
        self._previous.clear()
        self._copies.clear()
        self._fills.clear()
        self._warmup = False
        if self._introduced:
            self._manifest = {}
        self._introduced = True
        server = Server({key: str(value) for key, value in args.items()}, self._manifest)
        self.speculative = server.speculative
        self.rounds = whole_number(server.text("decode_log_interval")) or DEFAULT_ROUNDS
        self._bonus = 1.0 if server.text("enable_beta_spec") == "true" else 0.0
        steps, drafts = (
            server.text(f"speculative_num_{what}") or "default" for what in ("steps", "draft_tokens")
        )
        what = f"{steps} steps, {drafts} draft tokens"
        what = "adaptive steps" if server.text("speculative_adaptive") == "true" else what
        told = f"{server.text('speculative_algorithm')} {what}"
        self.treatment = told if self.speculative else "no speculation"
        self._server = server
        self.look_again()

    def look_again(self) -> None:
        """Choose a baseline for the server that runs; windows that were taken already keep what they had."""
        if self.choose is not None and self._server is not None:
            self.baseline = self.choose(self._server)

    def _decode(self, record: Record, fields: Mapping[str, Any]) -> Window | None:
        size, speed = fields.get("running_req"), fields.get("gen_tok_s")
        if not isinstance(size, int) or not isinstance(speed, int | float):
            return None
        accept = fields.get("accept_len_raw")
        tau = float(accept) - self._bonus if accept is not None else 1.0
        if self.speculative is None and accept is not None:
            self.speculative = True
        rank = record.prefix.rank
        lacking = bool(self.speculative and accept is None)
        round_ms = size * tau / speed * 1000 if speed > 0 and size > 0 and not lacking else None
        said = fields.get("token")
        token = said if isinstance(said, int) else None
        context = token / size - self.rounds * tau / 2 if token is not None and size else None
        line = Line(
            size, token, None if lacking else tau, float(speed), self.rounds,
            bool(self.speculative), record.prefix.number("PP") is not None,
        )  # fmt: skip
        left_out = clean.left_out(
            line, self._previous.get(rank), warmup=self._warmup, prefills=self._prefills.get(rank, 0)
        )
        joined = self._fills.setdefault(rank, Fill()).decode()
        eager, mixed = fields.get("graph") is False, size > 1 and joined
        tau_star = None
        if context is not None and round_ms is not None and left_out is None:
            step_ms = self.baseline.step_ms(size, context, eager=eager, mixed=mixed)
            tau_star = round_ms / step_ms if step_ms else None
        window = Window(
            record.prefix.ts, size, float(speed), tau, accept is not None, round_ms, context,
            fields.get("queue_req"), left_out, tau_star,
            record.prefix.number("DP"),
        )  # fmt: skip
        self._previous[rank] = line
        self._prefills[rank] = 0
        self.seen += 1
        self.windows.append(window)
        return window

    def clean(self, batch_size: int, last: int = 20) -> list[Window]:
        """The last clean windows at a batch size."""
        return [w for w in self.windows if w.left_out is None and w.batch_size == batch_size][-last:]

    def typical(self, name: str, batch_size: int) -> float | None:
        """Median of a figure over the last clean windows at a batch size; None when there is none."""
        values = [value for w in self.clean(batch_size) if (value := getattr(w, name)) is not None]
        return median(values) if values else None
