"""Factors and other things named in a sentence: counted, listed, shortened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from speclog.report import numbers
from speclog.report.model import Factor

# What several factors of one kind are called together; the first pattern that fits a factor's name counts.
_FAMILIES = {
    r"env\.NCCL_": "NCCL variable",
    r"env\.CUDA_": "CUDA variable",
    r"env\.SGLANG_": "SGLANG variable",
    r"env\.": "environment variable",
    r"(arg|fact|measure)\..*graph": "CUDA-graph setting",
    r"fact\.gpu\.": "GPU fact",
    r"fact\.workload\.": "workload fact",
    r"fact\.model\.": "model fact",
}
_KIND = re.compile(r"^(env|arg|fact|measure)\.")


def family(name: str) -> str | None:
    """The kind of thing a factor is, when several of it are better counted than listed: ``NCCL variable``."""
    full = name if _KIND.match(name) else f"env.{name}"
    return next((words for pattern, words in _FAMILIES.items() if re.match(pattern, full)), None)


def without_kind(name: str) -> str:
    """A factor's name without what kind it is of: ``env.NCCL_PROTO`` -> ``NCCL_PROTO``."""
    return _KIND.sub("", name)


def bare(name: str) -> str:
    """A factor's name as a reader says it: ``env.NCCL_*`` -> ``the NCCL_* environment``."""
    if name.startswith("env.") and name.endswith("*"):
        return f"the {name.removeprefix('env.')} environment"
    return without_kind(name)


def name_factors(factors: Sequence[Factor], limit: int = 3) -> str:
    """Name factors shortly: ``six NCCL variables, attention_backend and driver``."""
    kinds = Counter(family(factor.name) for factor in factors if not factor.name.endswith("*"))
    parts: list[str] = []
    for factor in sorted(factors, key=lambda factor: -kinds[family(factor.name)]):
        kind = family(factor.name)
        if kind is not None and kinds[kind] > 1 and not factor.name.endswith("*"):
            words = numbers.count(kinds[kind], kind)
            if words not in parts:
                parts.append(words)
        else:
            parts.append(bare(factor.name))
    if len(parts) > limit:
        parts = [*parts[:limit], f"{len(parts) - limit} more"]
    return join(parts)


def join(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    items = list(parts)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def several(parts: Sequence[str], limit: int = 3) -> str:
    """As `join`, the rest counted: ``a, b, c and 4 more``."""
    rest = len(parts) - limit
    return join([*parts[:limit], f"{rest} more"] if rest > 0 else parts)


def values(factor: Factor) -> str:
    """A factor on both sides: its value, or ``a here, b there``."""
    mine, theirs = factor.candidate_value, factor.baseline_value
    if mine is None or theirs is None or mine == theirs:
        return mine or theirs or "unknown"
    return f"{mine} here, {theirs} there"
