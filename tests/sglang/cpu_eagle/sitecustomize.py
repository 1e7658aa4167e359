"""Make SGLang 0.5.14 serve EAGLE-3 (topk 1, greedy) on a machine without a GPU.

On PYTHONPATH together with SPECLOG_CPU_EAGLE=1, TRITON_INTERPRET=1, TORCHDYNAMO_DISABLE=1 and
SGLANG_USE_CPU_ENGINE=1. The scheduler, the workers, the accept simulation, the log and the HTTP server stay
SGLang's own. Replaced is what has no form that Triton's interpreter could run: two CUDA kernels of sgl_kernel
(tree building and greedy verification, here in plain torch), and the places that assume a CUDA device.
"""

import importlib.abc
import importlib.machinery
import os
import sys


def build_chain(
    parents, selected, seq_lens, mask, positions, index, next_token, next_sibling, topk, steps, width, mode
):
    """Fill the tree arrays in place for topk = 1, where every request's tree is a chain of `width` tokens."""
    import torch

    if topk != 1:
        raise NotImplementedError("the CPU stand-in builds chains only: use --speculative-eagle-topk 1")
    requests, depth = seq_lens.numel(), torch.arange(width)
    positions.copy_((seq_lens.long().unsqueeze(1) + depth).reshape(-1))
    index.copy_(torch.arange(requests * width).reshape(requests, width))
    next_token[:, :-1] = depth[1:]
    next_token[:, -1] = -1
    next_sibling.fill_(-1)
    # Full mask: for each request `width` rows over its prefix (all seen) and the chain (causal).
    start, causal = 0, torch.ones(width, width).tril().bool()
    for length in seq_lens.tolist():
        rows = mask[start : start + width * (length + width)].view(width, length + width)
        rows[:, :length], rows[:, length:] = True, causal
        start += rows.numel()


def verify_chain(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrieve_index,
    retrieve_next_token,
    retrieve_next_sibling,
    target_predict,
    topk=-1,
):
    """Accept the longest prefix of each chain that the target would have chosen too, and one bonus token."""
    target = target_predict.reshape(candidates.shape)
    for request, (drafted, wanted) in enumerate(zip(candidates, target, strict=True)):
        accepted = 0
        while accepted + 1 < accept_index.shape[1] and drafted[accepted + 1] == wanted[accepted]:
            accepted += 1
        path = retrieve_index[request, : accepted + 1]
        accept_index[request, : accepted + 1] = path
        predicts[path] = wanted[: accepted + 1].to(predicts.dtype)
        accept_token_num[request] = accepted
    return predicts, accept_index, accept_token_num


def replace_kernels(module):
    """Put the two functions where eagle_utils would have imported or called sgl_kernel's."""
    module.sgl_build_tree_kernel_efficient = build_chain
    module.verify_tree_greedy_func = verify_chain


def take_triton_branch(module):
    """Choose the branch whose kernels are Triton's, which the interpreter can run."""
    module._is_cuda = True


def on_the_cpu(module):
    """Build tensors that this module asks of device="cuda" on the CPU."""

    class Torch:
        def __getattr__(self, name):
            return getattr(torch, name)

        @staticmethod
        def full(*args, device=None, **kwargs):
            return torch.full(*args, device="cpu" if str(device).startswith("cuda") else device, **kwargs)

    torch, module.torch = module.torch, Torch()


REPLACE = {
    "sglang.srt.speculative.eagle_utils": replace_kernels,
    "sglang.srt.speculative.triton_ops.cache_locs": take_triton_branch,
    "sglang.srt.speculative.spec_utils": on_the_cpu,
}


class AfterImport(importlib.abc.MetaPathFinder):
    """Runs the replacement right after the named module's own code."""

    def find_spec(self, name, path=None, target=None):
        if name not in REPLACE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            REPLACE[name](module)

        spec.loader.exec_module = exec_module
        return spec


if os.environ.get("SPECLOG_CPU_EAGLE"):
    sys.meta_path.insert(0, AfterImport())
    import torch.cuda

    for call in ("synchronize", "empty_cache"):
        setattr(torch.cuda, call, lambda *args, **kwargs: None)
