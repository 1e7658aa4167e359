"""The source of every SGLang version that the profiler is said to know has what the profiler relies on."""

import functools
import re

import pytest

from speclog.profiler import names

from .conftest import ROOT
from .contract import HOOKS, SCHEDULER, VERSIONS, NoIndex, Source, accepted_names, table

pytestmark = pytest.mark.slow
each_version = pytest.mark.parametrize("version", VERSIONS)
# Where each version says what was accepted, as its source has it; the profiler takes the first that is there.
ACCEPTED = {
    "0.4.6.post5": ["accept_length_per_req_cpu"],
    "0.4.10.post2": ["accept_length_per_req_cpu"],
    "0.5.3.post3": ["accept_length_per_req_cpu", "accept_lens"],
    "0.5.6.post2": ["accept_length_per_req_cpu", "accept_lens"],
    "0.5.8.post1": ["accept_length_per_req_cpu", "accept_lens"],
    "0.5.11": ["num_accepted_drafts_per_req_cpu", "accept_lens"],
    "0.5.12.post1": ["num_correct_drafts_per_req_cpu", "accept_lens"],
    "0.5.14": ["num_correct_drafts_per_req_cpu", "accept_lens"],
    # The third name is back for diffusion models: the newest one must win.
    "0.5.17": ["num_correct_drafts_per_req_cpu", "accept_length_per_req_cpu", "accept_lens"],
    "0.5.20": ["num_correct_drafts_per_req_cpu", "accept_length_per_req_cpu", "accept_lens"],
    "0.5.23": ["num_correct_drafts_per_req_cpu", "accept_length_per_req_cpu", "accept_lens"],
}


@functools.cache
def source(version):
    """The version's source; a visible skip where its wheel cannot be had."""
    try:
        return Source(version)
    except NoIndex as problem:
        pytest.skip(f"no wheel of SGLang {version}: {problem}")


def first(version, names_in_order):
    """The worker of that shape which this version has."""
    return [name for name in names_in_order if name in source(version).classes]


@each_version
def test_the_scheduler(version):
    """Its class, what hangs on it after `__init__`, and results processed by a call on the instance."""
    here = source(version)
    scheduler = here.classes["Scheduler"]
    assert scheduler.module == SCHEDULER
    assert "__init__" in scheduler.methods
    assert "def run_scheduler_process" in here.text[SCHEDULER]
    for attribute in ("tp_worker", "draft_worker", "server_args", "spec_algorithm"):
        assert here.has("Scheduler", attribute), attribute
    assert here.method("Scheduler", "process_batch_result")[:3] == ["self", "batch", "result"]
    assert "self.process_batch_result(" in "".join(here.text.values())


@each_version
def test_workers_are_called_on_the_instance(version):
    """An instance attribute wins only if nobody calls the class's function."""
    text = source(version).text[SCHEDULER]
    entries = "|".join(names.ENTRY)
    assert re.search(rf"self\.(draft_worker|model_worker|tp_worker)\.({entries})\(", text)
    for worker in first(version, ["EAGLEWorker", "EAGLEWorkerV2"]):
        own = source(version).text[source(version).classes[worker].module]
        assert re.search(r"self\.(draft_worker\.)?draft\(", own)
        assert "self.verify(" in own
        if (version, worker) != ("0.5.3.post3", "EAGLEWorkerV2"):  # re-extends inside verify
            assert re.search(rf"self\.(draft_worker\.)?({'|'.join(names.EXTEND)})\(", own)
        assert not re.search(r"__slots__", own)


@each_version
def test_what_is_read_from_workers(version):
    """Steps, topk and draft tokens; the graph runners and their largest batch."""
    here = source(version)
    for worker in first(version, ["EAGLEWorker", "EAGLEWorkerV2"]):
        for attribute in (names.STEPS, names.TOPK, names.DRAFT_TOKENS):
            settings = here.has(worker, "server_args") and here.has("ServerArgs", attribute)
            assert here.has(worker, attribute) or settings, (worker, attribute)
        for attribute in (names.DRAFT_GRAPH, names.EXTEND_GRAPH):
            assert here.has(here.inner(worker), attribute), (worker, attribute)
    assert here.has("EAGLEDraftCudaGraphRunner", "max_bs")
    target = "TpModelWorkerClient" if here.classes.get("TpModelWorkerClient") else "TpModelWorker"
    assert here.method("TpModelWorker", names.TARGET[0])[1] in ("batch", "model_worker_batch")
    assert target == "TpModelWorker" or here.has(target, "worker")


@each_version
def test_what_is_read_from_batches(version):
    """Requests with their tokens on the host, and the mode's questions."""
    here = source(version)
    for attribute in ("reqs", "seq_lens", "forward_mode"):
        assert here.has("ScheduleBatch", attribute), attribute
    for attribute in ("origin_input_ids", "output_ids", "finished"):
        assert here.has("Req", attribute), attribute
    for question in ("is_idle", "is_extend", "is_decode"):
        assert here.method("ForwardMode", question)[0] == "self"


@each_version
def test_where_acceptance_is_told(version):
    """The names, so that a new version's rename shows here and not as `na`."""
    here = source(version)
    assert accepted_names(here) == ACCEPTED[version]
    result = here.classes["GenerationBatchResult"]
    text = here.text[result.module]
    assert not re.search(r"slots=True\)\s*class GenerationBatchResult", text)
    assert here.has("GenerationBatchResult", names.VERIFY_GRAPH)
    if version < "0.5":
        assert here.has("GenerationBatchResult", "bid")
        assert here.has("ModelWorkerBatch", "bid")


@each_version
def test_the_plugin_loader(version):
    """The entry point group exists from 0.5.11 on and is called in the scheduler's process."""
    here = source(version)
    loader = here.text.get("sglang/srt/plugins/__init__.py")
    known = VERSIONS.index(version) >= VERSIONS.index("0.5.11")
    assert (loader is not None) == known
    if known:
        assert '"sglang.srt.plugins"' in loader
        assert "load_plugins()" in here.text[SCHEDULER]


@each_version
def test_eagle_workers_have_every_hook(version):
    """The workers this is made for are never profiled in part."""
    here = source(version)
    workers = first(version, ["EAGLEWorker", "EAGLEWorkerV2", "StandaloneWorker", "StandaloneWorkerV2"])
    workers += first(version, ["MultiLayerEagleWorker", "MultiLayerEagleWorkerV2"])
    assert workers
    for worker in workers:
        assert here.hooks(worker) == list(HOOKS), worker
    for worker in here.workers():
        assert {"cycle", "target", "result"} <= set(here.hooks(worker)), worker


def test_the_table_in_the_docs_is_this_one():
    """docs/profiler.md shows what the source says: python -m tests.profiler.contract prints it anew."""
    text = (ROOT / "docs" / "profiler.md").read_text()
    assert table([source(version) for version in VERSIONS]) in text
