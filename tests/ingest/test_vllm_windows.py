"""Which of vLLM's intervals count, and what a pair of its runs can and cannot be told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speclog.analysis.breakeven import break_even_intervals
from speclog.analysis.matching import NO_CONTEXT
from speclog.analysis.side import Side
from speclog.ingest.api import IngestSummary, ingest_paths
from speclog.store import open_store

Ingest = Callable[..., list[IngestSummary]]
Rows = Callable[..., list[tuple[Any, ...]]]

START = """\
(APIServer pid=1) INFO 08-21 10:24:44 [api_utils.py:339]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.25.1
(APIServer pid=1) INFO 08-21 10:24:44 [api_utils.py:273] non-default args: {{'model': 'm'{spec}}}
"""
SPEC = ", 'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3}"


def interval(
    second: int, *, prompt: float = 0.0, tok_s: float = 20.0, running: int = 1, tau: float = 0
) -> str:
    head = f"(APIServer pid=1) INFO 08-21 10:{second // 60:02d}:{second % 60:02d} "
    lines = (
        f"{head}[loggers.py:273] Engine 000: Avg prompt throughput: {prompt} tokens/s, "
        f"Avg generation throughput: {tok_s} tokens/s, Running: {running} reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 0.8%, Prefix cache hit rate: 0.0%\n"
    )
    if tau:
        lines += (
            f"{head}[metrics.py:120] SpecDecoding metrics: Mean acceptance length: {tau}, "
            "Accepted throughput: 10.20 tokens/s, Drafted throughput: 23.39 tokens/s, Accepted: 102 tokens, "
            "Drafted: 234 tokens, Per-position acceptance rate: 0.756, 0.410, 0.141, "
            "Avg Draft acceptance rate: 43.6%\n"
        )
    return lines


def log(name: str, *, tau: float) -> str:
    head = START.format(spec=SPEC if tau else "").replace("10:24:44", f"10:24:{len(name):02d}")
    found = [
        interval(0, prompt=4.8, tok_s=5.6, tau=tau),
        interval(10, tok_s=20.0, tau=tau),
        interval(20, tok_s=20.4, tau=tau),
        interval(30, running=2, tok_s=30.0, tau=tau),
        interval(40, prompt=7.7, running=2, tok_s=31.0, tau=tau),
        interval(50, running=2, tok_s=0.0, tau=tau),
        interval(60, running=0, tok_s=0.0),
    ]
    return head + "".join(found)


def test_intervals_without_a_prompt_at_an_unchanged_batch_are_clean(ingest: Ingest, rows: Rows) -> None:
    ingest(log("spec", tau=2.5), "spec.log")
    assert rows("SELECT excluded FROM decode_window ORDER BY line_no") == [
        ("first",), (None,), (None,), ("batch changed",), ("prefill",), ("no throughput",), ("empty",),
    ]  # fmt: skip
    clean = rows(
        "SELECT tau, round_ms, token, context FROM decode_window WHERE excluded IS NULL ORDER BY 2 DESC"
    )
    assert clean == [(2.5, 125.0, None, None), (2.5, pytest.approx(2500 / 20.4), None, None)]
    level = rows(
        "SELECT batch_size, n_clean, tau, tok_s, round_ms, context_min, fit_a_ms FROM level WHERE n_clean > 0"
    )
    assert level == [(1, 2, 2.5, pytest.approx(20.2), pytest.approx((125 + 2500 / 20.4) / 2), None, None)]


def test_an_interval_without_its_accept_length_says_so(ingest: Ingest, rows: Rows) -> None:
    text = START.format(spec=SPEC) + interval(0, tau=2) + interval(10, tau=2) + interval(20)
    ingest(text)
    found = rows("SELECT excluded FROM decode_window ORDER BY line_no")
    assert found == [("first",), (None,), ("no accept length",)]


def test_a_pair_is_refused_for_what_is_missing(ingest: Ingest, rows: Rows, store: str) -> None:
    ingest(log("candidate", tau=2.5), "spec.log")
    ingest(log("base", tau=0), "base.log")
    sql = (
        "SELECT refused, speedup, naive_speedup, n_candidate, n_baseline FROM level_pair AS p "
        "JOIN run AS r ON r.run_id = p.candidate WHERE r.speculative"
    )
    assert rows(sql) == [(NO_CONTEXT.format("candidate"), None, 1.0, 2, 2)]
    with open_store(store) as opened:
        frames = [
            opened.frame("SELECT * FROM decode_window WHERE run = ?", [name]) for name in ("spec", "base")
        ]
    assert [Side([frame]).no_context for frame in frames] == [True, True]
    assert break_even_intervals([frames[0]], [frames[1]]).is_empty()


@pytest.mark.parametrize(("start", "has_clean"), [("02", True), ("56", True), ("57", False)])
def test_real_logs_say_which_windows_count(
    shared: Path, store: str, rows: Rows, start: str, *, has_clean: bool
) -> None:
    """Log 57 has a prompt in every interval at an unchanged batch: none is clean, for that reason."""
    ingest_paths(list((shared / "logs/public").glob(f"{start}-*.log")), store_target=store)
    clean, n, odd = rows(
        "SELECT count(*) FILTER (excluded IS NULL), count(*), "
        "count(*) FILTER (excluded = 'empty' AND running_req > 0) FROM decode_window"
    )[0]
    assert n > 0
    assert (clean > 0) == has_clean
    assert odd == 0
    assert (rows("SELECT count(*) FROM level WHERE n_clean > 0 AND tok_s > 0")[0][0] > 0) == has_clean


def test_arguments_of_their_own_mean_speculation_too(tmp_path: Path, store: str, rows: Rows) -> None:
    """vLLM before 0.9: such a run was taken for a baseline, with one token a round."""
    head = "INFO 08-21 10:24:44 [api_server.py:585] "
    args = f"{head}vLLM API server version 0.6.6\n{head}args: Namespace(model='m', speculative_model='d', num_speculative_tokens=5)\n"  # noqa: E501
    path = tmp_path / "a.log"
    path.write_text(args + interval(0) + interval(10) + interval(20))
    ingest_paths([path], store_target=store)
    assert rows("SELECT speculative, algorithm, steps FROM run") == [(True, "draft_model", 5)]
    assert rows("SELECT DISTINCT tau, round_ms FROM decode_window") == [(None, None)]
    assert rows("SELECT count(*) FROM decode_window WHERE excluded IS NULL") == [(0,)]


def test_several_engines_in_one_line(tmp_path: Path, store: str, rows: Rows) -> None:
    path = tmp_path / "a.log"
    text = START.format(spec=SPEC) + "".join(interval(10 * i, tok_s=40.0, tau=2.5) for i in range(3))
    path.write_text(text.replace("Engine 000: ", "2 Engines Aggregated: "))
    (found,) = ingest_paths([path], store_target=store)
    assert (found.windows, found.unknown_lines) == (3, 0)
    assert rows("SELECT DISTINCT dp_rank, gen_tok_s, accept_len FROM raw_decode_window") == [
        (None, 40.0, 2.5)
    ]


def test_a_traceback_is_one_event(tmp_path: Path, store: str, rows: Rows) -> None:
    head = "(EngineCore_DP0 pid=2) ERROR 08-21 10:00:25 [core.py:712] "
    error = [
        "EngineCore encountered a fatal error.", "Traceback (most recent call last):",
        '  File "core.py", line 703, in run', "torch.OutOfMemoryError: CUDA out of memory.",
    ]  # fmt: skip
    after = "(APIServer pid=1) ERROR 08-21 10:00:26 [async_llm.py:480] AsyncLLM output_handler failed.\n"
    path = tmp_path / "a.log"
    path.write_text(START.format(spec="") + interval(0) + "".join(f"{head}{e}\n" for e in error) + after)
    (found,) = ingest_paths([path], store_target=store)
    assert found.end_reason == "crash"
    kinds = rows("SELECT kind, line_no, line_end, message FROM event WHERE kind <> 'vllm_version'")
    assert kinds == [("vllm_died", 4, 7, "\n".join(error))]
