"""Reading SGLang's batches, workers and results; nothing here touches the device."""

from __future__ import annotations

from typing import Any

from speclog.profiler import names

# Summing the lengths of many requests each round would cost more than the marks: large batches are sampled.
REQUESTS_EACH_ROUND = 32


def first_argument(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The batch of a worker call, however it was passed."""
    if args:
        return args[0]
    return kwargs.get("batch", kwargs.get("model_worker_batch"))


def is_decode(batch: Any) -> bool:
    """Whether a worker's entry will run a decode round: not prefill, not an idle data-parallel rank."""
    mode = batch.forward_mode
    if mode.is_idle() or mode.is_extend() or getattr(batch, "is_extend_in_batch", False):
        return False
    return bool(mode.is_decode()) and len(batch.seq_lens) > 0


def context_tokens(batch: Any, rounds: int) -> int | None:
    """Prompt and output tokens of all requests so far, from the requests on the host; None where not sampled.

    `seq_lens` lives on the device and its copy on the host is missing in the overlapped v2 workers.
    """
    requests = batch.reqs
    if rounds % (1 + len(requests) // REQUESTS_EACH_ROUND):
        return None
    return sum(len(request.origin_input_ids) + len(request.output_ids) for request in requests)


def all_finished(batch: Any) -> bool:
    """Whether no request of the batch goes on, so that the engine may idle now."""
    return all(request.finished() for request in batch.reqs)


def accepted_drafts(result: Any) -> list[int] | None:
    """Accepted drafts per request on a result or among the parts of a tuple; None if not there (yet)."""
    for part in result if isinstance(result, tuple) else (result,):
        counts = listed_drafts(part)
        if counts is not None:
            return counts
    return None


def listed_drafts(result: Any) -> list[int] | None:
    """Accepted drafts per request from one object, from the list or from a tensor that is on the host."""
    for name in names.ACCEPTED:
        if hasattr(result, name):
            counts = getattr(result, name)
            if isinstance(counts, list):
                return counts
            break
    lengths = getattr(result, names.ACCEPT_LENS, None)
    if lengths is None or not getattr(lengths, "is_cpu", False):
        return None
    others = getattr(result, names.NON_DRAFT, None)
    non_draft = others if isinstance(others, int) else 1
    return [length - non_draft for length in lengths.tolist()]


def ran_as_graph(result: Any) -> bool | None:
    """Whether the (verify) forward replayed a CUDA graph; None if the result does not tell."""
    if isinstance(result, tuple):
        flag = result[-1] if result else None
    else:
        flag = getattr(result, names.VERIFY_GRAPH, None)
    return flag if isinstance(flag, bool) else None


def has_graph_for(worker: Any, name: str, bs: int) -> bool | None:
    """Whether `worker` has captured a graph under `name` that is large enough for `bs`; None if unknown.

    SGLang does not report whether the draft and the re-extend replayed a graph, only the verification.
    """
    if not hasattr(worker, name):
        return None
    runner = getattr(worker, name)
    if runner is None:
        return False
    largest = getattr(runner, "max_bs", None)
    return bs <= largest if isinstance(largest, int) else None


def whole(worker: Any, name: str) -> int:
    """An integer attribute of a worker, or else of its server arguments (0.4.6); 0 where neither has it."""
    for owner in (worker, getattr(worker, "server_args", None)):
        value = getattr(owner, name, None)
        if isinstance(value, int):
            return value
    return 0
