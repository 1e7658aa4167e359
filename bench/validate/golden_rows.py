"""Published rows and curves, recomputed to the printed digits."""

from __future__ import annotations

from bench.validate import Data, Section
from speclog.analysis import golden, theory
from speclog.analysis.moe import Experts, distinct_experts

# where, accept length, speedup, break-even (two decimals)
ROWS = [
    ("SpecForge#339 Qwen3-30B, batch 1, steps 3, topk 1, draft tokens 4", 1.86, 0.718, "2.59"),
    ("SpecForge#339, batch 1, 3/3/4", 1.99, 0.933, "2.13"),
    ("SpecForge#339, batch 1, 8/8/60", 3.20, 0.798, "4.01"),
    ("SpecForge#339, batch 4, 3/1/4", 1.86, 0.791, "2.35"),
    ("sglang#4247 Llama-3.1-8B on H100, EAGLE-3 8 steps", 5.39, 378.57 / 158.34, "2.25"),
    ("sglang#4247, EAGLE-3 5 steps", 4.68, 361.70 / 158.34, "2.05"),
    ("sglang#4247, EAGLE-2", 3.76, 230.08 / 158.34, "2.59"),
    ("sglang#23336 GLM-4.7-FP8 MTP, transition, static 1 step", 1.85, 594.7 / 447.2, "1.39"),
    ("sglang#23336, static 3 steps", 3.04, 767.8 / 447.2, "1.77"),
    ("sglang#23336, static 7 steps", 4.52, 732.3 / 447.2, "2.76"),
    ("sglang#23336, adaptive", 4.43, 791.2 / 447.2, "2.50"),
    ("sglang#21599, high acceptance, static 1 step", 2.00, 620.6 / 460.7, "1.48"),
    ("sglang#21599, static 3 steps", 3.88, 954.8 / 460.7, "1.87"),
    ("sglang#21599, static 7 steps", 6.25, 999.0 / 460.7, "2.88"),
]
# vllm#16035, Llama-3-8B, MT-bench, one request: tok/s without speculation; draft tokens: accept length, tok/s, break-even
VLLM = (128.64, {2: (1.89, 175.49, "1.385"), 4: (2.08, 165.65, "1.615")}, "0.115")
SURVIVAL = ".83 .60 .45 .36 .22 .16 .09 .06"
EXPERTS = {384: "3.88 3.54 3.16 2.59 1.90 1.35 1.07 1.00", 160: "3.71 3.02 2.40 1.72 1.24 1.04 1.00 1.00"}
EXPERTS[128] = "3.64 2.83 2.17 1.53 1.14 1.02 1.00 1.00"


def section(data: Data) -> Section:
    del data
    found = Section(
        "Published rows", "Break-even from published accept lengths and speedups: tau_star = tau / S."
    )
    for where, tau, speedup, expected in ROWS:
        value = f"{theory.break_even_from(tau, speedup):.2f}"
        found.claim(where, expected, value, value == expected)
    _vllm(found)
    _kimi(found)
    for total, expected in EXPERTS.items():
        experts = Experts(total, 8)
        sizes = (1, 4, 8, 16, 32, 64, 128, 256)
        ratios = [distinct_experts(experts, 4 * size) / distinct_experts(experts, size) for size in sizes]
        value = " ".join(f"{ratio:.2f}" for ratio in ratios)
        found.claim(
            f"expert loads of 4 tokens over 1, {total} experts, 8 active, b = 1 to 256",
            expected,
            value,
            value == expected,
        )
    return found


def _vllm(found: Section) -> None:
    plain, runs, step = VLLM
    stars = {k: theory.break_even_from(tau, tok_s / plain) for k, (tau, tok_s, _) in runs.items()}
    for k, (_, _, expected) in runs.items():
        value = f"{stars[k]:.3f}"
        found.claim(f"vllm#16035 EAGLE Llama-3-8B, {k} draft tokens", expected, value, value == expected)
    cost = f"{(stars[4] - stars[2]) / 2:.3f}"
    found.claim("vllm#16035, a draft token costs, in plain steps (slope over k)", step, cost, cost == step)


def _kimi(found: Section) -> None:
    curve = next(curve for curve in golden.curves() if "kimi" in curve.model)
    values = " ".join(f"{value:.2f}".removeprefix("0") for value in theory.survival(curve.accept_length))
    found.claim("survival of the published Kimi-K2.5 accept lengths", SURVIVAL, values, values == SURVIVAL)
    over = 100 * (theory.iid_accept_length(curve.accept_length[0] - 1, 8) / curve.accept_length[7] - 1)
    found.claim("i.i.d. acceptance over-predicts 8 steps by", "27 %", f"{over:.0f} %", f"{over:.0f}" == "27")
    alpha = theory.acceptance_for(curve.accept_length[2], 3) or 0.0
    eight = 100 * (theory.iid_accept_length(alpha, 8) / curve.accept_length[7] - 1)
    one = 100 * (theory.iid_accept_length(alpha, 1) / curve.accept_length[0] - 1)
    shown = f"{alpha:.3f}: {eight:+.0f} % at 8, {one:+.0f} % at 1"
    found.claim(
        "fitted at 3 steps instead",
        "0.784: +9 % at 8, -3 % at 1",
        shown,
        shown == "0.784: +9 % at 8, -3 % at 1",
    )
