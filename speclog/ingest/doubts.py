"""Client benchmark figures that contradict each other: each rule says, in words, what not to believe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]
Rule = Callable[[Row, int | None], str | None]

_SAME = 0.01  # two times within 1 % are the same time
_RETOKENIZED = 0.02  # tokenizers disagree a little on honest text


def doubts(row: Row, ceiling: int | None = None) -> list[str]:
    """Reasons not to believe some figures of a benchmark result.

    ``ceiling``: the largest accept length possible, draft steps + 1; None when unknown.
    """
    return [text for rule in _RULES if (text := rule(row, ceiling)) is not None]


def _peak(row: Row, _: int | None) -> str | None:
    peak, mean = row.get("peak_output_tok_s"), row.get("output_tok_s")
    if peak is None or mean is None or peak >= mean * (1 - _SAME):
        return None
    return (
        f"peak output throughput {peak:g} tok/s is below the mean {mean:.4g}: chunks were counted, not tokens"
    )


def _ttft(row: Row, _: int | None) -> str | None:
    ttft, e2e, n = row.get("ttft_mean_ms"), row.get("e2e_mean_ms"), row.get("total_output_tokens")
    if not ttft or not e2e or (n and row.get("completed") and n <= row["completed"]):
        return None
    if ttft < e2e * (1 - _SAME):
        return None
    return "time to first token equals the whole request: nothing was streamed; TTFT, TPOT, ITL say nothing"


def _ttft_zero(row: Row, _: int | None) -> str | None:
    if row.get("ttft_median_ms") == 0 and (row.get("e2e_median_ms") or 0) > 0:
        return (
            "median time to first token is 0 ms: some requests streamed nothing; TTFT, TPOT, ITL are no use"
        )
    return None


def _tpot(row: Row, _: int | None) -> str | None:
    if row.get("tpot_mean_ms") == 0 and (row.get("e2e_mean_ms") or 0) > 0:
        return "time per output token is 0 ms"
    return None


def _retokenized(row: Row, _: int | None) -> str | None:
    printed, made = row.get("total_output_tokens_retokenized"), row.get("total_output_tokens")
    if not printed or not made or abs(printed - made) <= _RETOKENIZED * made:
        return None
    return f"the returned text has {printed} tokens, {made} were generated: text was lost"


def _accept(row: Row, ceiling: int | None) -> str | None:
    accept = row.get("accept_len")
    if accept is None:
        return None
    if accept < 1:
        return f"accept length {accept:.3g} is below 1, which no round can be"
    if ceiling is not None and accept > ceiling + 1e-9:
        return f"accept length {accept:.3g} is above its ceiling {ceiling} (draft steps + 1)"
    return None


def _duration(row: Row, _: int | None) -> str | None:
    made, took, rate = row.get("total_output_tokens"), row.get("duration_s"), row.get("output_tok_s")
    if not made or not took or not rate or row.get("tool") != "bench_serving":
        return None
    if abs(made / took - rate) <= 0.02 * rate + 0.01:
        return None
    return f"output throughput {rate:.4g} tok/s is not {made} tokens / {took:.4g} s = {made / took:.4g}"


def _concurrency(row: Row, _: int | None) -> str | None:
    mean, limit = row.get("concurrency"), row.get("max_concurrency")
    if mean is None or not limit or mean <= limit * 1.02 + 0.1:
        return None
    return f"mean concurrency {mean:.4g} is above the limit {limit}"


_RULES: tuple[Rule, ...] = (
    _peak, _ttft, _ttft_zero, _tpot, _retokenized, _accept, _duration, _concurrency,
)  # fmt: skip
