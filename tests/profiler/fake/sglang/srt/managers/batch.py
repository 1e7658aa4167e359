"""Batches and results, as far as anybody outside of SGLang looks at them."""

import itertools

numbers = itertools.count(1)


class ForwardMode:
    def __init__(self, name):
        self.name = name

    def is_extend(self):
        return self.name == "extend"

    def is_decode(self):
        return self.name == "decode"

    def is_idle(self):
        return self.name == "idle"


class Request:
    def __init__(self, rounds, prompt=16):
        self.origin_input_ids = [0] * prompt
        self.output_ids = [0]  # from the prefill
        self.rounds_left = rounds

    def finished(self):
        return self.rounds_left <= 0


class ScheduleBatch:
    def __init__(self, mode, reqs):
        self.forward_mode = ForwardMode(mode)
        self.reqs = reqs
        self.seq_lens = [0] * len(reqs)
        self.seq_lens_cpu = None
        self.bid = next(numbers)


class Tensor:
    """Counts on the device until the scheduler has waited for them."""

    def __init__(self, values):
        self.values, self.is_cpu = values, False

    def tolist(self):
        if not self.is_cpu:
            raise AssertionError("read on the device: this would have synchronised")
        return list(self.values)


class GenerationBatchResult:
    def __init__(self, **fields):
        self.__dict__.update(fields)
