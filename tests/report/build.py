# ruff: noqa: E501
"""A report built by hand, for tests of what the pages do with a given content (texts may be hostile)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import polars as pl

from speclog.report import advice, sources, words
from speclog.report.charts import (
    acceptance,
    bill,
    break_even,
    concurrency,
    context,
    interaction,
    sweep,
    timeline,
)
from speclog.report.model import Answer, Factor, Level, Missing, Pair, Report, Run, Section
from speclog.report.sources import sourced

MOMENT = datetime(2026, 11, 29, 12, 0, 0)


def run(name: str, *, speculative: bool, **other: Any) -> Run:
    values: dict[str, Any] = {
        "run_id": f"{abs(hash(name)):016x}"[:16], "name": name, "tag": None, "engine": "sglang", "version": "0.5.8",
        "model": "/models/Kimi-K2.5-INT4", "speculative": speculative, "algorithm": "EAGLE3" if speculative else None,
        "steps": 5 if speculative else None, "topk": 1 if speculative else None, "draft_tokens": 6 if speculative else None,
        "served": True, "end_reason": "shutdown", "synthetic": True, "started_at": MOMENT, "windows": 40, "profile": None,
        "arm": None, "repeat": None, "note": None, "source": f"logs/{name}.log", "first_line": 1, "last_line": 400,
    }  # fmt: skip
    return Run(**(values | other))


def level(batch_size: int, tau: float, t_spec_ms: float, t_base_ms: float, **other: Any) -> Level:
    star = t_spec_ms / t_base_ms
    speedup = tau / star
    values: dict[str, Any] = {
        "batch_size": batch_size, "context_from": 200.0, "context_to": 900.0, "context": 550.0, "n_candidate": 31,
        "n_baseline": 44, "tau": tau, "tau_lo": tau - 0.03, "tau_hi": tau + 0.03, "t_spec_ms": t_spec_ms,
        "t_base_ms": t_base_ms, "tau_star": star, "tau_star_lo": star - 0.015, "tau_star_hi": star + 0.015,
        "margin_tokens": tau - star, "margin_tokens_lo": tau - star - 0.04, "margin_tokens_hi": tau - star + 0.04,
        "margin_ms": tau * t_base_ms - t_spec_ms, "speedup": speedup, "speedup_lo": speedup - 0.02,
        "speedup_hi": speedup + 0.02, "p_win": 0.99, "tie": abs(speedup - 1) < 0.02, "interval_kind": "within-run",
        "n_eff_candidate": 12.0, "n_eff_baseline": 18.0, "refused": None, "naive_speedup": speedup * 0.99,
        "candidate_lines": "logs/c.log:12-390", "baseline_lines": "logs/b.log:12-390",
    }  # fmt: skip
    return Level(**(values | other))


def factor(
    name: str, candidate: str | None, baseline: str | None, klass: str = "environment", **other: Any
) -> Factor:
    known = candidate is not None and baseline is not None
    values: dict[str, Any] = {
        "name": name, "klass": klass, "candidate_value": candidate, "baseline_value": baseline,
        "candidate_known": candidate is not None, "baseline_known": baseline is not None,
        "differs": (candidate != baseline) if known else None, "matters": True, "favours": None, "mend": None,
        "candidate_line": "1", "baseline_line": "1",
    }  # fmt: skip
    return Factor(**(values | other))


TUNING = {
    "NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS", "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216", "NCCL_NTHREADS": "512",
}  # fmt: skip


CROSSINGS = [{"from_batch_size": 4, "to_batch_size": 16, "change": "stops paying", "certain": True}]


def story() -> Report:
    """The shape of the real case: unfair against the tuned baseline, fair and winning against the untuned one."""
    candidate = run("eagle3-5x6-untuned", speculative=True)
    tuned, fresh = run("baseline-retuned", speculative=False), run("baseline-fresh", speculative=False)
    same = [factor("driver", "590.44", "590.44"), factor("dtype", "bfloat16", "bfloat16", "server")]
    meant = [
        factor("speculative_algorithm", "EAGLE3", "(unset)", "treatment"),
        factor("kv_tokens", "9", "10", "entailed"),
    ]
    lost = [
        factor(
            name,
            "(unset)",
            value,
            favours="baseline",
            mend=f"export {name}={value}",
            worth="x1.41 on the baseline",
        )
        for name, value in TUNING.items()
    ]
    unfair = Pair(
        candidate, tuned, "unfair", ("six NCCL variables differ",), "c0ffee", False, 6, 0,
        (level(1, 2.13, 29.87, 11.26),), (*lost, *meant, *same),
    )  # fmt: skip
    fair = Pair(
        candidate, fresh, "fair", (), "beef01", False, 0, 0,
        (level(1, 2.13, 29.87, 15.9), level(4, 2.12, 33.0, 16.4, caveats=("candidate: only 4 clean windows",)), level(16, 2.1, 44.0, 19.0)), (*meant, *same),
    )  # fmt: skip
    section = Section(candidate, fair, fair, unfair, [fair, unfair])
    section.missing = [
        Missing(
            "The run nobody has made:",
            "speclog launch kimi-k25-tp8-eagle3-5x6 --overlay nccl-pcie-ll",
            "EAGLE-3 with the tuning.",
            "more than 88.8 tok/s",
        )
    ]
    section.headline, section.change = words.headline(section), words.change(section)
    section.charts = [sourced(chart, "f-tau-star", sources.of_pair(fair)) for chart in charts(fair)]
    section.advice = [
        advice.lost(section),
        advice.switch_off(fair, [], CROSSINGS),
        Answer(
            "published",
            "Does the draft reach what others published?",
            "It looks broken.",
            anchor="f-golden",
            flag=True,
        ),
        Answer(
            "starts",
            "Would another start say the same?",
            why_not="nobody started it twice",
            anchor="f-interval",
        ),
    ]
    return Report(
        "Does speculative decoding pay on Kimi-K2.5-INT4?", section.headline, "speclog report --vs baseline", "speclog.duckdb",
        "0.1.0", MOMENT, "baseline", [section], [], [candidate, tuned, fresh, run("killed", speculative=True, served=False, end_reason="killed")],
    )  # fmt: skip


def charts(pair: Pair, name: str | None = None) -> list[Any]:
    curve = [
        {"batch_size": 1, "context": 200.0 + 20 * i, "tau_star": 1.8 + 0.004 * i, "tau_star_lo": 1.78 + 0.004 * i,
         "tau_star_hi": 1.82 + 0.004 * i, "tau": 2.13}
        for i in range(35)
    ]  # fmt: skip
    phases = {"draft": 0.9, "vprep": 0.2, "verify": 27.6, "accept": 0.5, "extend": 0.5, "gap": 0.17}
    lines = [
        {
            "batch_size": 1,
            "phase": phase,
            "ms": ms,
            "tokens": ms / 15.9,
            "share_pct": 100 * ms / 29.87,
            "shrink_to_ms": None,
        }
        for phase, ms in phases.items()
    ]
    windows = [
        {"line_no": 10 + i, "ts": datetime(2026, 1, 1, 0, 0, i // 2), "running_req": 1, "gen_tok_s": 71 + (i % 5) * 0.3,
         "round_ms": 29.9, "tau": 2.13, "excluded": "first" if i == 0 else "prefill" if i % 11 == 0 else None}
        for i in range(80)
    ]  # fmt: skip
    cells = [
        {
            "setting": name or "tuning off",
            "arm": "baseline",
            "run": name or "baseline-fresh",
            "round_ms": 15.9,
            "tok_s": 62.9,
        },
        {
            "setting": name or "tuning off",
            "arm": "EAGLE-3",
            "run": "eagle3-5x6-untuned",
            "round_ms": 29.87,
            "tok_s": 71.3,
        },
        {
            "setting": "tuning on",
            "arm": "baseline",
            "run": "baseline-retuned",
            "round_ms": 11.26,
            "tok_s": 88.8,
        },
        {"setting": "tuning on", "arm": "EAGLE-3", "run": None, "round_ms": None, "tok_s": None},
    ]
    settings = [
        {"setting": label, "run": name or label, "round_ms": value, "round_mad_ms": 0.1, "n_clean": 40}
        for label, value in ((name or "LL Ring", 11.26), ("Simple", 13.2), ("default", 15.9))
    ]
    return [
        break_even.chart(pair), concurrency.chart(pair, [], CROSSINGS), context.chart(pair, curve), bill.chart(pair, lines),
        acceptance.chart(pair.candidate, [300, 260, 200, 120, 80, 40]), timeline.chart(pair.candidate, "candidate", pl.DataFrame(windows)),
        timeline.chart(pair.baseline, "baseline", pl.DataFrame(windows[:20])), interaction.chart("x", "NCCL tuning", cells, 1), sweep.chart("y", "NCCL", settings),
        bill.chart(replace(pair, baseline=pair.candidate), []),
    ]  # fmt: skip
