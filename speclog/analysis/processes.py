"""What two processes of the same server differ by, beyond what the windows of either show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from speclog.analysis.matching import match
from speclog.analysis.side import Side


def process_scatter(pairs: Sequence[tuple[Side, Side]], batch_size: int) -> tuple[float, float] | None:
    """Relative standard deviation of round time from process to process, and its degrees of freedom.

    Each pair holds two runs of one configuration (same server, same machine, started twice), read at equal
    context; a pair that cannot be compared is left out. From d = log(t_1 / t_2): sd = sqrt(mean(d^2) / 2).
    What the windows scatter is in it, so it errs upwards. None without a pair.
    """
    matched = [match(first, second, batch_size) for first, second in pairs]
    logs = [
        float(np.log(pair.candidate.at(pair.context) / pair.baseline.at(pair.context)))
        for pair in matched
        if not isinstance(pair, str)
    ]
    if not logs:
        return None
    return float(np.sqrt(np.mean(np.square(logs)) / 2)), float(len(logs))
