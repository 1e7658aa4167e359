"""Workers in the shapes of SGLang's versions. A phase takes `MS`; accepted drafts go 0, 1, 2, 0."""

import itertools
import os
import queue
import threading
from typing import ClassVar

from sglang import clock
from sglang.srt.managers.batch import GenerationBatchResult, Tensor

MS = {
    "draft": 4.0,
    "vprep": 1.0,
    "verify": 20.0,
    "accept": 3.0,
    "extend": 5.0,
    "decode": 11.0,
    "prefill": 70.0,
}
if os.environ.get("FAKE_SLOWER"):
    MS[os.environ["FAKE_SLOWER"]] += 4.0


def launch(phase):
    """The host launches a phase in a tenth of a millisecond; the phase itself takes MS."""
    if clock.HAS_DEVICE:
        clock.host_ms(0.1)
    clock.work_ms(MS[phase])


class Runner:
    max_bs = 2


class TpModelWorker:
    """The target's worker; results as an object (0.5.x)."""

    def forward_batch_generation(self, batch, forward_batch=None, is_verify=False, skip_sample=False):
        if is_verify or skip_sample:
            launch("verify")
        else:
            launch("decode" if batch.forward_mode.is_decode() else "prefill")
        return self.answer()

    def answer(self):
        return GenerationBatchResult(can_run_cuda_graph=True)


class TpModelWorkerTuple(TpModelWorker):
    """As in 0.4.x: a tuple, and `worker` is the worker itself."""

    def __init__(self):
        self.worker = self

    def answer(self):
        return (None, [0], True)


class TpModelWorkerClient:
    """The overlapped baseline of 0.4.x: a thread runs the batches, the caller gets placeholders."""

    def __init__(self):
        self.worker = TpModelWorkerTuple()
        self.batches, self.done = queue.Queue(), queue.Queue()
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            self.done.put(self.worker.forward_batch_generation(self.batches.get()))

    def forward_batch_generation(self, batch):
        self.batches.put(batch)
        self.done.get()  # real ones return at once; in virtual time the order must be fixed
        return None, [-1], False


class VerifyOutput:
    pass


class Drafting:
    """The methods of a drafting worker, shared by the shapes."""

    def start(self, target):
        self.target_worker = target
        self.speculative_num_steps, self.topk, self.speculative_num_draft_tokens = 3, 1, 4
        self.cuda_graph_runner, self.cuda_graph_runner_for_draft_extend = Runner(), None
        self.accepted = itertools.cycle([0, 1, 2])

    def counts(self, batch):
        return [next(self.accepted)] * len(batch.reqs)

    def draft(self, batch):
        launch("draft")

    def prefill(self, batch):
        return self.target_worker.forward_batch_generation(batch)

    def do_verify(self, batch):
        launch("vprep")
        batch.forward_mode.name = "target_verify"
        self.target_worker.forward_batch_generation(batch, is_verify=True)
        launch("accept")
        batch.forward_mode.name = "decode"


class EAGLEWorker(Drafting):
    """v1, 0.5.3 to 0.5.12: one object, lists at once, `verify` returns a tuple."""

    LIST = "num_accepted_drafts_per_req_cpu"

    def forward_batch_generation(self, batch):
        if not batch.forward_mode.is_decode():
            self.prefill(batch)
            return self.answer(batch, [])
        self.draft(batch)
        _, output, *_ = self.verify(batch)
        if not all(request.rounds_left == 1 for request in batch.reqs):
            self.forward_draft_extend_after_decode(batch)
        return self.answer(batch, getattr(output, self.LIST))

    def answer(self, batch, counts):
        return GenerationBatchResult(can_run_cuda_graph=True, **{self.LIST: counts})

    def verify(self, batch):
        self.do_verify(batch)
        output = VerifyOutput()
        setattr(output, self.LIST, self.counts(batch))
        return None, output, True

    def forward_draft_extend_after_decode(self, batch):
        launch("extend")


class EAGLEWorker04(EAGLEWorker):
    """v1 of 0.4.x: another name for the entry, tuples, a 4-tuple from `verify`."""

    LIST = "accept_length_per_req_cpu"
    forward_batch_generation = None

    def start(self, target):
        super().start(target)
        self.server_args = Drafting()  # 0.4.6 has the number of draft tokens there only
        self.server_args.speculative_num_draft_tokens = self.__dict__.pop("speculative_num_draft_tokens")

    def forward_batch_speculative_generation(self, batch):
        EAGLEWorker.forward_batch_generation(self, batch)
        return None, [0], batch.bid, 0, True

    def verify(self, batch):
        logits, output, graph = EAGLEWorker.verify(self, batch)
        return logits, output, None, graph


class StandaloneWorker(EAGLEWorker):
    LIST = "num_correct_drafts_per_req_cpu"


class EagleDraftWorker(Drafting):
    def _draft_extend_for_decode(self, batch, result):
        launch("extend")


class EAGLEWorkerV2(Drafting):
    """v2: an inner worker drafts and re-extends, counts stay on the device until the result is processed."""

    LATE: ClassVar = {"num_correct_drafts_per_req_cpu": None, "accept_length_per_req_cpu": None}
    inner_class = EagleDraftWorker

    def start(self, target):
        super().start(target)
        del self.cuda_graph_runner, self.cuda_graph_runner_for_draft_extend
        self.draft_worker = self.inner_class()
        self.draft_worker.start(target)

    draft = None

    def forward_batch_generation(self, batch, on_publish=None):
        if not batch.forward_mode.is_decode():
            if batch.forward_mode.is_extend():
                self.prefill(batch)
            return GenerationBatchResult(can_run_cuda_graph=False, accept_lens=Tensor([]), **self.LATE)
        self.choose_steps(batch)
        if self.speculative_num_steps:
            self.draft_worker.draft(batch)
        result = self.verify(batch)
        self.draft_worker._draft_extend_for_decode(batch, result)
        return result

    def choose_steps(self, batch):
        pass

    def verify(self, batch):
        self.do_verify(batch)
        lens = Tensor([n + 1 for n in self.counts(batch)])
        return GenerationBatchResult(can_run_cuda_graph=True, accept_lens=lens, **self.LATE)


class MultiLayerEagleWorkerV2(EAGLEWorkerV2):
    pass


class AdaptiveWorker(EAGLEWorkerV2):
    """Steps change inside the entry: 3, 0 (no drafting) and 1 in turn, ten rounds each."""

    def start(self, target):
        super().start(target)
        self.rounds = 0

    def choose_steps(self, batch):
        self.speculative_num_steps = (3, 0, 1)[self.rounds // 10 % 3]
        self.speculative_num_draft_tokens = self.speculative_num_steps + 1
        self.rounds += 1

    def counts(self, batch):
        return [min(count, self.speculative_num_steps) for count in super().counts(batch)]


class EAGLEWorkerV2In053(EAGLEWorkerV2):
    """v2 of 0.5.3: one object, `verify` contains the re-extend, no list on the result."""

    LATE: ClassVar = {}
    draft_worker = None

    def start(self, target):
        Drafting.start(self, target)

    draft = Drafting.draft

    def forward_batch_generation(self, batch):
        if not batch.forward_mode.is_decode():
            self.prefill(batch)
            return GenerationBatchResult(can_run_cuda_graph=False)
        self.draft(batch)
        return self.verify(batch)

    def verify(self, batch):
        result = super().verify(batch)
        launch("extend")
        return result


class NGRAMWorker(Drafting):
    """No `draft` and no `verify`, but it verifies through the target's worker."""

    draft = None

    def start(self, target):
        super().start(target)
        del self.cuda_graph_runner, self.cuda_graph_runner_for_draft_extend

    def forward_batch_generation(self, batch):
        if not batch.forward_mode.is_decode():
            return self.prefill(batch)
        launch("draft")
        self.do_verify(batch)
        return GenerationBatchResult(
            can_run_cuda_graph=False, num_correct_drafts_per_req_cpu=self.counts(batch)
        )


class StrangeWorker:
    """Nothing but an entry: a whole round is all there is to see."""

    def start(self, target):
        self.target = target

    def forward_batch_generation(self, batch):
        if not batch.forward_mode.is_decode():
            self.target.forward_batch_generation(batch)
        else:
            launch("verify")
        return GenerationBatchResult()


class BrokenWorker(EAGLEWorkerV2):
    """Hands on batch sizes in a form that nobody expects, after a few rounds."""

    def start(self, target):
        super().start(target)
        self.rounds = 0

    @property
    def speculative_num_steps(self):
        self.rounds += 1
        if self.rounds > 20:
            raise RuntimeError("who is asking?")
        return 3

    @speculative_num_steps.setter
    def speculative_num_steps(self, value):
        pass

    def forward_batch_generation(self, batch, on_publish=None):
        if not batch.forward_mode.is_decode():
            return GenerationBatchResult(can_run_cuda_graph=False)
        self.draft_worker.draft(batch)
        return self.verify(batch)


class HostileWorker(EAGLEWorkerV2):
    """Cannot be looked at: attaching fails when some of its methods have been wrapped already."""

    @property
    def verify(self):
        raise RuntimeError("no entry")

    def forward_batch_generation(self, batch, on_publish=None):
        self.draft_worker.draft(batch)
        return GenerationBatchResult(can_run_cuda_graph=False)


# shape: speculative worker, target worker, overlapped
SHAPES = {
    "baseline": (None, TpModelWorker, True),
    "baseline_04": (None, TpModelWorkerTuple, False),
    "baseline_04_overlap": (None, TpModelWorkerClient, True),
    "v1_04": (EAGLEWorker04, TpModelWorkerTuple, False),
    "v1": (EAGLEWorker, TpModelWorker, False),
    "standalone": (StandaloneWorker, TpModelWorker, False),
    "v2": (EAGLEWorkerV2, TpModelWorker, True),
    "v2_sync": (EAGLEWorkerV2, TpModelWorker, False),
    "v2_053": (EAGLEWorkerV2In053, TpModelWorker, True),
    "multi_layer": (MultiLayerEagleWorkerV2, TpModelWorker, True),
    "adaptive": (AdaptiveWorker, TpModelWorker, True),
    "ngram": (NGRAMWorker, TpModelWorker, False),
    "unknown": (StrangeWorker, TpModelWorker, False),
    "broken": (BrokenWorker, TpModelWorker, True),
    "hostile": (HostileWorker, TpModelWorker, False),
}


def build(shape):
    speculative, target, overlap = SHAPES[shape]
    target = target()
    if speculative is None:
        return target, None, overlap
    worker = speculative()
    worker.start(target)
    return target, worker, overlap
