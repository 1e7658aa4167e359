"""The recorder alone: results that never come back, and lines as they are written."""

import logging
from types import SimpleNamespace

import pytest

from speclog.profiler import attach, lines
from speclog.profiler.clock import HostClock
from speclog.profiler.control import Control
from speclog.profiler.overhead import Trial
from speclog.profiler.recorder import PATIENCE, Recorder
from speclog.profiler.window import Windows


class Target:
    """A plain worker whose results are tuples."""

    def forward_batch_generation(self, batch):
        return None, [0], True


def decode_batch(bs=1):
    mode = SimpleNamespace(is_idle=lambda: False, is_extend=lambda: False, is_decode=lambda: True)
    return SimpleNamespace(forward_mode=mode, seq_lens=[0] * bs, reqs=[])


def test_rounds_whose_results_never_come_back_do_not_pile_up(caplog):
    """A scheduler without the method that processes results: said, measured all the same, and bounded."""
    scheduler = SimpleNamespace(draft_worker=None, tp_worker=Target())
    recorder = Recorder(
        HostClock(), Windows([("rank", 0)], "host", 10, 1e9), Control(None, "on", 10), Trial(10)
    )
    assert attach.wrap_all(recorder, scheduler) == (["cycle"], ["result"])
    with caplog.at_level(logging.INFO, logger="speclog.profiler"):
        for _ in range(200):
            scheduler.tp_worker.forward_batch_generation(decode_batch())
    assert recorder.active
    assert len(recorder.pending) <= 2 * PATIENCE + 1
    assert len(recorder.unclaimed) <= 8 * PATIENCE
    printed = [record.getMessage() for record in caplog.records]
    assert len(printed) == 18
    assert all(" n=10 part=0 " in line and " seq=na " in line and " graph=v10 " in line for line in printed)


def test_stopping_gives_the_methods_back():
    """Nothing of the profiler stays on the instances, unless somebody has wrapped them again since."""
    scheduler = SimpleNamespace(draft_worker=None, tp_worker=Target(), process_batch_result=lambda b, r: None)
    own = scheduler.process_batch_result
    worker = scheduler.tp_worker
    recorder = Recorder(HostClock(), Windows([], "host", 10, 1e9), Control(None, "on", 10), Trial(10))
    attach.wrap_all(recorder, scheduler)
    assert "forward_batch_generation" in vars(worker)
    recorder.stop()
    assert "forward_batch_generation" not in vars(worker)
    assert scheduler.process_batch_result is own


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "na"),
        ("", "na"),
        (0, "0"),
        ("a b\n\tc", "a_b_c"),
        ("\x1b[31mred", "_[31mred"),
        ("x" * 999, "x" * 300),
    ],
)
def test_a_value_is_one_printable_word(value, word):
    """Whatever an error message holds, a line stays one line of key=value."""
    assert lines.token(value) == word


def test_times_are_mean_median_and_99th_percentile():
    """Interpolated between the two values around the place."""
    assert lines.times([]) == "na"
    assert lines.times([3.0]) == "3.000/3.000/3.000"
    assert lines.times([1.0, 2.0, 4.0, 3.0]) == "2.500/2.500/3.970"
