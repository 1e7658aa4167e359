"""The scheduler: fixed waves of requests through the worker that FAKE_SHAPE names, in SGLang's two loops."""

import logging
import os

from sglang import clock
from sglang.srt.managers.batch import GenerationBatchResult, Request, ScheduleBatch
from sglang.srt.plugins import load_plugins
from sglang.srt.speculative import workers

GAP_MS = 2.0
COST_MS = float(os.environ.get("FAKE_COST_MS", "0"))
CAPTURING = [int(n) for n in os.environ.get("FAKE_CAPTURE_ROUNDS", "0").split(",")]
logger = logging.getLogger(__name__)


class ServerArgs:
    tp_size = int(os.environ.get("FAKE_TP", "1"))
    pp_size = int(os.environ.get("FAKE_PP", "1"))
    dp_size = int(os.environ.get("FAKE_DP", "1"))


class Scheduler:
    def __init__(self, shape, *, port=None):
        self.server_args = ServerArgs()
        self.tp_rank = int(os.environ.get("FAKE_RANK", "0"))
        self.dp_rank = 1 if ServerArgs.dp_size > 1 else None
        self.tp_worker, self.draft_worker, self.enable_overlap = workers.build(shape)
        self.model_worker = self.draft_worker or self.tp_worker
        self.speculative = self.draft_worker is not None
        self.tokens = self.rounds = 0

    def run_batch(self, batch):
        clock.host_ms(GAP_MS)
        self.rounds += batch.forward_mode.is_decode()
        recorder = getattr(self, "_speclog_recorder", None)
        if COST_MS and recorder is not None and recorder.last is not None:
            clock.host_ms(COST_MS)  # a profiler that costs something in the rounds it records
        clock.capturing = batch.forward_mode.is_decode() and self.rounds in CAPTURING
        if self.speculative and hasattr(self.draft_worker, "forward_batch_speculative_generation"):
            result = self.draft_worker.forward_batch_speculative_generation(batch)
        else:
            result = self.model_worker.forward_batch_generation(batch)
        if isinstance(result, tuple):
            result = GenerationBatchResult(can_run_cuda_graph=result[-1], bid=batch.bid)
        result.copy_done = clock.device_s
        return result

    def process_batch_result(self, batch, result, launch_done=None):
        clock.wait(result.copy_done)
        if not batch.forward_mode.is_decode():
            return
        lens = getattr(result, "accept_lens", None)
        if lens is not None:
            lens.is_cpu = True
            if hasattr(result, "num_correct_drafts_per_req_cpu"):
                result.num_correct_drafts_per_req_cpu = [n - 1 for n in lens.tolist()]
        for request in batch.reqs:
            if not request.finished():
                request.output_ids.append(0)
                request.rounds_left -= 1
                self.tokens += 1

    def waves(self):
        """Batches in order: FAKE_WAVES is like 1x30,4x20 (requests x rounds); a `p` is a prefill."""
        for wave in os.environ["FAKE_WAVES"].split(","):
            size, _, rounds = wave.partition("x")
            requests = [Request(sum(map(int, rounds.split("p")))) for _ in range(int(size))]
            for part in rounds.split("p"):
                yield ScheduleBatch("extend", requests)
                for _ in range(int(part)):
                    yield ScheduleBatch("decode", requests)
                    if os.environ.get("FAKE_IDLE_BETWEEN"):
                        yield ScheduleBatch("idle", [])
            if self.enable_overlap:  # the round that was launched before the last one was known to finish
                yield ScheduleBatch("decode", requests)
            yield None

    def event_loop(self):
        previous = None
        for batch in self.waves():
            current = None if batch is None else (batch, self.run_batch(batch))
            if self.enable_overlap:
                current, previous = previous, current
            if current is not None:
                self.process_batch_result(*current)
            if batch is None:
                clock.host_ms(500.0)  # the engine idles


def run_scheduler_process():
    load_plugins()
    level = getattr(logging, os.environ.get("FAKE_LOG_LEVEL", "info").upper())
    logging.basicConfig(
        level=level, format="[%(asctime)s] %(message)s", datefmt="%Y-%m-%d %H:%M:%S", force=True
    )
    scheduler = Scheduler(os.environ["FAKE_SHAPE"], port=30000)
    scheduler.event_loop()
    print(f"SERVED {scheduler.tokens} tokens", flush=True)
