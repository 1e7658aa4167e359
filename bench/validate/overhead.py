"""What profiling costs."""

from __future__ import annotations

from bench.validate import Data, Section
from speclog.analysis.overhead import ab_overhead, run_overhead

RUN = "profiled-eagle3-s5-a2.1-ab"
PAIRS = (("profiled-base", ("base", "base-repeat")), ("profiled-eagle3-s5-a2.1", ("eagle3-s5-a2.1",)))
TEXT = """The -ab log alternates 50 profiled with 50 unprofiled rounds. A round grows by 2.2 ms per 1,000
tokens, so the difference that each of its lines prints is off by about 3 %, and by up to 10 %
across a request's end. Held against the mean of the profiled windows before and after it, within a
request, the unprofiled one shows what profiling costs. Comparing a profiled run with an unprofiled
one is weaker: two processes differ by about 1 % by themselves, either way, and the within-run
interval does not know."""


def section(data: Data) -> Section:
    found = Section("Overhead of profiling", TEXT)
    if not data.has(RUN):
        found.claim("overhead of profiling", "0.0 to 1.0 %", "the log is not here", None)
        return found
    lines, prefills = data.ab(RUN)
    cost = ab_overhead(lines, prefills)
    if cost is None:
        found.claim("overhead of profiling", "0.0 to 1.0 %", "no usable windows", False)
        return found
    shown = f"{cost.pct:.2f} % ({cost.pct_lo:.2f} to {cost.pct_hi:.2f}), n = {cost.n}"
    meets = cost.pct_hi >= 0.0 and cost.pct_lo <= 1.0 and 0.0 <= cost.pct <= 1.0
    found.claim("overhead at equal context", "in 0.0 to 1.0 %", shown, meets)
    width = cost.pct_hi - cost.pct_lo
    found.claim("width of its 95 % interval", "below 1.5 points", f"{width:.2f} points", width < 1.5)
    printed = lines["overhead_pct"]
    spread = f"{printed.min():.1f} to {printed.max():.1f} %, mean {cost.naive_pct:.1f} %"
    found.claim("what the lines themselves print (contexts unequal)", "wrong by 3 % and more", spread, None)
    for profiled, plain in PAIRS:
        if data.has(profiled, *plain):
            between = run_overhead([data.windows(profiled)], [data.windows(name) for name in plain], 1)
            if between is not None:
                shown = f"{between.pct:+.2f} % ({between.pct_lo:+.2f} to {between.pct_hi:+.2f}, within-run)"
                found.claim(
                    f"{profiled} against {' and '.join(plain)}, b = 1", "another process: +- 1 %", shown, None
                )
    return found
