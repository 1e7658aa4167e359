"""What the profiler relies on in SGLang, by name, newest name first.

The contract test reads these tables and looks every name up in the source of each SGLang version, so a name
used by the profiler but not listed here is a bug.
"""

from __future__ import annotations

# Methods of the workers: ENTRY and VERIFY on the speculative worker, DRAFT and EXTEND on the drafting object
# (its own `draft_worker`, or itself where there is only one), TARGET on the target's worker.
ENTRY = ("forward_batch_speculative_generation", "forward_batch_generation")
DRAFT = ("draft",)
VERIFY = ("verify",)
EXTEND = ("_draft_extend_for_decode", "forward_draft_extend_after_decode")
TARGET = ("forward_batch_generation",)
RESULT = ("process_batch_result",)

# Drafts accepted by each request, a list on the host without the bonus token. The first name that an object
# has decides, even if its value is None: from 0.5.17 on the last one is back with another meaning.
ACCEPTED = ("num_correct_drafts_per_req_cpu", "num_accepted_drafts_per_req_cpu", "accept_length_per_req_cpu")
# The same as a tensor with the bonus token; on the host once the result has been processed.
ACCEPT_LENS = "accept_lens"
# How many tokens of `accept_lens` are no drafts (1, the bonus, where the attribute is missing).
NON_DRAFT = "num_non_draft_tokens_per_req"

STEPS = "speculative_num_steps"
TOPK = "topk"
DRAFT_TOKENS = "speculative_num_draft_tokens"
VERIFY_GRAPH = "can_run_cuda_graph"
DRAFT_GRAPH = "cuda_graph_runner"
EXTEND_GRAPH = "cuda_graph_runner_for_draft_extend"
