"""CPU time that the profiler adds to a round, without SGLang and without a device.

    python bench/profiler_host_cost.py

Workers that do nothing are wrapped as SGLang's are, and rounds are driven through them: without the profiler,
with it, and with it switched off. Process time, best of five, so that a busy machine counts less. With CUDA
events a round has six records and as many reads more: tests/gpu/profiler_visit.py measures those on a GPU.
"""

import logging
import sys
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from speclog.profiler import attach
from speclog.profiler.clock import HostClock
from speclog.profiler.control import Control
from speclog.profiler.overhead import Trial
from speclog.profiler.recorder import Recorder
from speclog.profiler.window import Windows

ROUNDS = 2000


class Mode:
    def is_idle(self):
        return False

    def is_extend(self):
        return False

    def is_decode(self):
        return True


class Request:
    origin_input_ids = [0] * 100
    output_ids = [0] * 50

    def finished(self):
        return False


class Target:
    def forward_batch_generation(self, batch, is_verify=False):
        return None


class Drafter:
    def draft(self, batch):
        pass

    def _draft_extend_for_decode(self, batch, result):
        pass


class Worker:
    speculative_num_steps, topk, speculative_num_draft_tokens = 5, 1, 6

    def __init__(self, target):
        self.target_worker, self.draft_worker = target, Drafter()

    def verify(self, batch):
        self.target_worker.forward_batch_generation(batch, is_verify=True)
        drafts = [1] * len(batch.reqs)
        return SimpleNamespace(can_run_cuda_graph=True, num_correct_drafts_per_req_cpu=drafts)

    def forward_batch_generation(self, batch):
        self.draft_worker.draft(batch)
        result = self.verify(batch)
        self.draft_worker._draft_extend_for_decode(batch, result)
        return result


class Scheduler:
    def __init__(self):
        self.tp_worker = Target()
        self.draft_worker = Worker(self.tp_worker)

    def process_batch_result(self, batch, result):
        pass


def microseconds(state, requests):
    """CPU time of a round in microseconds; `state` None runs without the profiler."""
    batch = SimpleNamespace(
        reqs=[Request() for _ in range(requests)], seq_lens=[0] * requests, forward_mode=Mode()
    )
    scheduler = Scheduler()
    if state is not None:
        windows = Windows([("rank", 0)], "host", 100, 10.0)
        recorder = Recorder(HostClock(), windows, Control(None, state, 100), Trial(50))
        attach.wrap_all(recorder, scheduler)
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(ROUNDS):
            scheduler.process_batch_result(batch, scheduler.draft_worker.forward_batch_generation(batch))
        best = min(best, time.process_time() - start)
    if state is not None and not recorder.active:
        sys.exit("the profiler has ended itself")
    return best / ROUNDS * 1e6


def main():
    logging.disable(logging.CRITICAL)
    print("requests  on, us a round  off, us a round")
    for requests in (1, 8, 64, 512):
        plain, on, off = (microseconds(state, requests) for state in (None, "on", "off"))
        print(f"{requests:8d}  {on - plain:15.1f}  {off - plain:15.1f}")


if __name__ == "__main__":
    main()
