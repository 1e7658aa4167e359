"""The recorder: takes marks while SGLang runs a round, reads them when the round is over.

All `on_*` methods are called from inside SGLang's calls, through `guard`: their first error prints one line,
switches the profiler off and takes its wrappers away, and the server goes on.

A round's marks are read once the scheduler has processed its result, by when SGLang itself has waited for
the device; what is not complete then is left for the next time. So nothing here waits. A round needs its
successor for gap and cycle, so it is read one round late.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from speclog.profiler import lines, names, probe
from speclog.profiler.clock import HostClock
from speclog.profiler.control import Control
from speclog.profiler.journal import Journal
from speclog.profiler.overhead import Cost, Trial
from speclog.profiler.round import ACCEPTED, DRAFTED, END, START, VERIFIED, VERIFY, Round, parts_ms
from speclog.profiler.window import Windows

# Rounds whose result never comes back (pipeline parallelism hands on copies) are read without it, so late.
PATIENCE = 8


class Recorder:
    """One scheduler's profiler. `outer` and `inner` are its speculative workers, None without speculation."""

    def __init__(
        self,
        clock: HostClock,
        windows: Windows,
        control: Control,
        trial: Trial,
        journal: Journal | None = None,
    ) -> None:
        self.clock, self.windows, self.control, self.trial, self.journal = (
            clock,
            windows,
            control,
            trial,
            journal,
        )
        self.outer: Any = None
        self.inner: Any = None
        self.active = True
        self.undo: list[Callable[[], None]] = []
        self.open: Round | None = None
        self.last: Round | None = None
        self.pending: deque[Round] = deque()
        self.unclaimed: deque[Round] = deque(maxlen=8 * PATIENCE)
        self.count = 0
        self.chain_cycles = True
        self.carries_drafts = False

    # -- called around SGLang's methods ---------------------------------------------------------------------

    def guard(self, callback: Callable[..., Any], *args: Any) -> Any:
        """Run a callback; its first error ends the profiler and not the server."""
        if not self.active:
            return None
        try:
            return callback(*args)
        except Exception as error:
            self.stop()
            lines.warn("callback_failed", error, callback.__name__)
            return None

    def stop(self) -> None:
        """Switch off for good and give SGLang its own methods back."""
        self.active = False
        self.open = self.last = None
        for undo in self.undo:
            undo()

    def on_entry(self, batch: Any) -> Round | None:
        """A worker's entry is called: begin a round if it is a decode round and we are switched on."""
        self.open = None
        if not probe.is_decode(batch):
            self.break_chain()
            return None
        now, bs = time.perf_counter(), len(batch.seq_lens)
        if not self.switched_on(now, bs):
            self.last = None
            return None
        mark = self.clock.mark()
        if mark is None:
            self.break_chain()
            return None
        round_ = Round("decode" if self.outer is None else "spec", bs, now, time.time())
        round_.marks[START] = mark
        round_.tag = getattr(batch, "bid", None)
        if self.last is not None and self.last.bs == bs and self.chain_cycles:
            self.last.next = round_
        self.open = self.last = round_
        return round_

    def switched_on(self, now: float, bs: int) -> bool:
        """Whether this round is to be recorded: the control file's word, or the trial's turn."""
        state = self.control.round()
        if state != "ab":
            return state == "on"
        on, cost = self.trial.entry(now, bs)
        if cost is not None:
            self.print_cost(bs, cost)
        return on

    def on_drafted(self) -> None:
        """The drafting method has returned (only the first call in a round is this round's)."""
        if self.open is not None and self.open.marks[DRAFTED] is None:
            self.open.marks[DRAFTED] = self.clock.mark()

    def on_target(self) -> Round | None:
        """The target model's forward begins."""
        round_ = self.open
        if round_ is None or round_.marks[VERIFY] is not None:
            return None
        round_.marks[VERIFY] = self.clock.mark()
        self.note_shape(round_)
        return round_

    def on_target_done(self, round_: Round) -> None:
        """The target model's forward has returned."""
        round_.marks[VERIFIED] = self.clock.mark()

    def on_verified(self, result: Any) -> None:
        """Verification has returned; the v1 workers know already what was accepted."""
        if self.open is not None:
            self.open.marks[ACCEPTED] = self.clock.mark()
            self.open.accepted = probe.accepted_drafts(result)

    def on_extended(self) -> None:
        """The draft model's re-extend has returned."""
        if self.open is not None:
            self.open.extended = True

    def on_return(self, round_: Round, result: Any) -> None:
        """The worker's entry has returned: the round is complete on the host."""
        self.open = None
        round_.marks[END] = self.clock.mark()
        round_.host_ms = (time.perf_counter() - round_.t_host) * 1e3
        if round_.marks[END] is None:
            self.break_chain()
            return
        if round_.kind == "spec" and round_.marks[VERIFY] is None:
            self.note_shape(round_)
        round_.graphs = self.graphs(round_, result)
        self.pending.append(round_)
        if len(self.pending) > 2 * PATIENCE:  # no results are being processed, or not where we can see it
            self.harvest()
        try:
            result._speclog_round = round_
        except AttributeError:  # a tuple (0.4.x)
            self.unclaimed.append(round_)

    def before_result(self, batch: Any, result: Any) -> Round | None:
        """The scheduler begins to process a result: which round is it, and how long are its requests?"""
        round_ = self.claim(result)
        if round_ is not None:
            self.count += 1
            round_.context = probe.context_tokens(batch, self.count)
        if self.control.state == "ab" and self.trial.wants_context() and batch.forward_mode.is_decode():
            context = probe.context_tokens(batch, 0)
            if context is not None:
                self.trial.contexts.append(context)
        return round_

    def after_result(self, round_: Round | None, batch: Any, result: Any) -> None:
        """The scheduler has processed a result, having waited for the device: read what is complete."""
        if round_ is not None:
            round_.resolved = True
            if round_.accepted is None and round_.kind == "spec":
                round_.accepted = probe.accepted_drafts(result)
        self.harvest()
        newest = self.last is None or self.last is round_
        if newest and self.open is None and batch.forward_mode.is_decode() and probe.all_finished(batch):
            self.break_chain()
            self.harvest()
            self.windows.flush()
            self.flush_journal()

    # -- its own work ---------------------------------------------------------------------------------------

    def break_chain(self) -> None:
        """What comes next does not follow the last round at once."""
        self.last = None
        self.trial.interrupt()

    def note_shape(self, round_: Round) -> None:
        """Steps, topk and draft tokens as they are now: adaptive workers change them between rounds."""
        if self.outer is not None:
            round_.steps = probe.whole(self.outer, names.STEPS)
            round_.topk = probe.whole(self.outer, names.TOPK)
            round_.draft_tokens = probe.whole(self.outer, names.DRAFT_TOKENS)

    def graphs(self, round_: Round, result: Any) -> tuple[bool | None, bool | None, bool | None]:
        """CUDA graph flags of verify (or forward), draft and re-extend."""
        verify = probe.ran_as_graph(result)
        if not self.carries_drafts:
            return verify, None, None
        draft = probe.has_graph_for(self.inner, names.DRAFT_GRAPH, round_.bs)
        extend = probe.has_graph_for(self.inner, names.EXTEND_GRAPH, round_.bs)
        return verify, draft, extend

    def claim(self, result: Any) -> Round | None:
        """The round that made `result`: the result carries it, or names its batch (0.4.x)."""
        round_: Round | None = getattr(result, "_speclog_round", None)
        if round_ is not None or not self.unclaimed:
            return round_
        wanted = getattr(result, "bid", None)
        for candidate in self.unclaimed:
            if candidate.tag is None or candidate.tag == wanted:
                self.unclaimed.remove(candidate)
                return candidate
        return None

    def harvest(self) -> None:
        """Read the rounds whose marks the device has passed, oldest first."""
        while self.pending:
            round_ = self.pending[0]
            if round_ is self.last or not (round_.resolved or len(self.pending) > PATIENCE):
                return
            final = round_.marks[END] if round_.next is None else round_.next.marks[START]
            if not self.clock.ready(final):
                return
            self.pending.popleft()
            self.read(round_)

    def read(self, round_: Round) -> None:
        """Turn a round's marks into milliseconds and hand it to its window."""
        times = parts_ms(round_, self.clock.ms, self.carries_drafts)
        times["host"] = round_.host_ms
        if round_.next is not None:
            times["gap"] = self.clock.ms(round_.marks[END], round_.next.marks[START])
            times["cycle"] = self.clock.ms(round_.marks[START], round_.next.marks[START])
        self.clock.release(round_.marks)
        round_.next = None
        if self.journal is not None:
            self.journal.write(round_, times, self.windows.number)
        before = self.windows.number
        self.windows.add(round_, times)
        if self.windows.number != before:
            self.flush_journal()

    def flush_journal(self) -> None:
        """Write the journal out; called whenever a window has been printed."""
        if self.journal is not None:
            self.journal.flush()

    def print_cost(self, bs: int, cost: Cost) -> None:
        """Print what the profiler costs at this batch size."""
        fields = [*self.windows.rank, ("bs", bs), ("n_on", cost.n_on), ("n_off", cost.n_off)]
        fields += [("period_on_ms", f"{cost.on_ms:.4f}"), ("period_off_ms", f"{cost.off_ms:.4f}")]
        fields += [("overhead_pct", f"{cost.percent:.3f}"), ("ci95_pct", f"{cost.low:.3f},{cost.high:.3f}")]
        lines.emit("ab", fields)
