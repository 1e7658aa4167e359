"""What a watcher knows: the last windows, whether they are clean, the last events, the margin."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING, Any

from speclog.formats.values import whole_number

if TYPE_CHECKING:
    from speclog.formats.engine import Record
    from speclog.formats.prefix import Prefix

DEFAULT_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class BaselineLine:
    """A stored baseline at one batch size: step ms = a_ms + c_ms_per_token * context, in a range of it."""

    name: str
    a_ms: float
    c_ms_per_token: float
    context_min: float
    context_max: float

    def step_ms(self, context: float) -> float | None:
        """Step time at a context; None outside the contexts that were measured (nothing is extrapolated)."""
        if not self.context_min <= context <= self.context_max:
            return None
        return self.a_ms + self.c_ms_per_token * context


@dataclass(frozen=True, slots=True)
class Window:
    """One decode line, of DP rank ``dp``. ``left_out`` says why it does not count, None when it does."""

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
        """How far tau is above tau_star; None without a baseline at this batch size and context."""
        return None if self.tau_star is None else self.tau - self.tau_star


@dataclass(slots=True)
class State:
    """Everything a screen shows. Feed it records in log order."""

    baseline: Mapping[int, BaselineLine] = field(default_factory=dict)
    about: str = "no margin: no server_args line seen in this log (--vs names a baseline)"
    choose: Callable[[Mapping[str, str]], tuple[Mapping[int, BaselineLine], str]] | None = None
    """Gives a baseline, and a sentence about it, for a server's arguments; None keeps the one there is."""
    windows: deque[Window] = field(default_factory=lambda: deque(maxlen=240))
    events: deque[tuple[datetime | None, str, str]] = field(default_factory=lambda: deque(maxlen=50))
    seen: int = 0
    n_events: int = 0
    speculative: bool | None = None
    rounds: int = DEFAULT_ROUNDS
    treatment: str = ""
    _prefills: dict[str, int] = field(default_factory=dict)
    _previous: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    _copies: dict[int | None, tuple[int | None, ...]] = field(default_factory=dict)

    def take(self, record: Record) -> Window | None:
        """Add one record; returns the window when it was a decode line, so that it can be printed."""
        name, fields = record.kind.name, record.fields
        if name in ("decode_batch", "prefill_batch") and self._is_copy(record.prefix):
            return None
        if name == "decode_batch":
            return self._decode(record, fields)
        if name == "prefill_batch":
            self._prefills[record.prefix.rank] = self._prefills.get(record.prefix.rank, 0) + 1
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
        text = {key: str(value).strip('"') for key, value in args.items()}
        algorithm = text.get("speculative_algorithm", "null")
        self.speculative = algorithm not in ("null", "None", "")
        self.rounds = whole_number(text.get("decode_log_interval", "")) or DEFAULT_ROUNDS
        steps, drafts = text.get("speculative_num_steps"), text.get("speculative_num_draft_tokens")
        self.treatment = (
            f"{algorithm} {steps} steps, {drafts} draft tokens" if self.speculative else "no speculation"
        )
        if self.choose is not None:
            self.baseline, self.about = self.choose(text)

    def _decode(self, record: Record, fields: Mapping[str, Any]) -> Window | None:
        size, speed = fields.get("running_req"), fields.get("gen_tok_s")
        if not isinstance(size, int) or not isinstance(speed, int | float):
            return None
        accept = fields.get("accept_len_raw")
        tau = float(accept) if accept is not None else 1.0
        if self.speculative is None and accept is not None:
            self.speculative = True
        rank = record.prefix.rank
        round_ms = size * tau / speed * 1000 if speed > 0 and size > 0 else None
        said = fields.get("token")
        token = said if isinstance(said, int) else None
        context = token / size - self.rounds * tau / 2 if token is not None and size else None
        left_out = self._left_out(rank, size, token, round_ms)
        window = Window(
            record.prefix.ts, size, float(speed), tau, accept is not None, round_ms, context,
            fields.get("queue_req"), left_out, self._tau_star(size, context, round_ms, left_out),
            record.prefix.number("DP"),
        )  # fmt: skip
        self._previous[rank] = (size, token)
        self._prefills[rank] = 0
        self.seen += 1
        self.windows.append(window)
        return window

    def _left_out(self, rank: str, size: int, token: int | None, round_ms: float | None) -> str | None:
        """Why a window is not clean (design of view ``decode_window``), None when it is."""
        if rank not in self._previous:
            return "first"
        if self._prefills.get(rank):
            return "prefill"
        if size <= 0 or (token is not None and token <= 0):
            return "empty"
        previous_size, previous_token = self._previous[rank]
        fewer = token is not None and previous_token is not None and token < previous_token
        if size != previous_size or fewer:
            return "batch changed"
        return None if round_ms is not None else "no throughput"

    def _tau_star(
        self, size: int, context: float | None, round_ms: float | None, left_out: str | None
    ) -> float | None:
        line = self.baseline.get(size)
        if line is None or context is None or round_ms is None or left_out:
            return None
        step_ms = line.step_ms(context)
        return round_ms / step_ms if step_ms else None

    def clean(self, batch_size: int, last: int = 20) -> list[Window]:
        """The last clean windows at a batch size."""
        return [w for w in self.windows if w.left_out is None and w.batch_size == batch_size][-last:]

    def typical(self, name: str, batch_size: int) -> float | None:
        """Median of a figure over the last clean windows at a batch size; None when there is none."""
        values = [value for w in self.clean(batch_size) if (value := getattr(w, name)) is not None]
        return median(values) if values else None
