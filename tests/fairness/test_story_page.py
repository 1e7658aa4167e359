"""The page tells the story whole: caught, named, weighed, the fair pair, the missing run, the estimate."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from speclog.ingest.api import ingest_paths
from speclog.report import report_text

pytestmark = pytest.mark.slow
NAMES = ("NCCL_ALGO", "NCCL_BUFFSIZE", "NCCL_MAX_NCHANNELS", "NCCL_NTHREADS", "NCCL_P2P_LEVEL", "NCCL_PROTO")


@pytest.fixture(scope="module")
def page(example_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a reader sees of the page against the tuned baseline, without markup."""
    target = str(tmp_path_factory.mktemp("story") / "s.duckdb")
    ingest_paths([example_logs / "kimi-k25-story"], store_target=target, lock_timeout=20.0)
    text = report_text(target, vs="baseline-retuned", candidates=["eagle3-5x6-untuned"], fmt="html")
    text = re.sub(r"(?s)<(script|style)[^>]*>.*?</\1>", " ", text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.mark.parametrize(
    "told",
    [
        # the unfair pair is caught, and the naive number stands beside the fair one
        r"Unfair: six NCCL variables differ\.",
        r"Against baseline-retuned eagle3-5x6-untuned seems to lose (20|21) %",
        # the fair pair is found, and the conclusion turns round
        r"On equal terms, against baseline-fresh, eagle3-5x6-untuned wins 13\.4 % \(within-run interval",
        r"the conclusion turns round",
        # worth: x1.41 +- 0.02 on the baseline
        r"together ×1\.41\d? ± 0\.0[012]\d? \(within-run\) on the baseline at batch 1",
        r"By pair of runs: baseline-re(tuned|membered) ×1\.4[13]\d ± 0\.00\d \(within-run\), "
        r"baseline-re(tuned|membered) ×1\.4[13]\d ± 0\.00\d \(within-run\)",
        # the 2x2: three cells measured, the fourth named with its command and what it must reach
        r"Nobody made the run of EAGLE3 5/6 with six NCCL variables as in baseline-retuned",
        r"The run nobody has made: EAGLE3 5 steps, 6 draft tokens with the settings of baseline-retuned",
        r"export NCCL_PROTO=LL .*speclog --store \S+ launch kimi-k25-tp8-eagle3-5x6",
        r"beat baseline-retuned at batch 1: rounds under 2[34]\.\d+ \(2[34]\.\d+ to 2[34]\.\d+\) ms at "
        r"accept length 2\.1[23]\d \(",
        r"Do they help both arms alike\? not known : nobody ran the candidate with these settings",
        # the adjusted estimate looks like one, with its caveat
        r"Estimate ≈ \+13(\.\d)? % \(\+1\d(\.\d)? to \+1\d(\.\d)? %\) over baseline-retuned at batch 1",
        r"an estimate, not a result: it holds only if both arms gain alike",
        r"If it gained nothing: −(19|20|21)(\.\d)? % \(.* %\); it must gain at least ×1\.2\d+ ± "
        r"0\.0\d+ .* to draw level",
        # tuning remembered from another NCCL
        r"baseline-retuned: tuning nccl-pcie-ll was measured on NCCL [\d.]+, this run has 2\.28\.9",
    ],
)
def test_the_page_says(page: str, told: str) -> None:
    assert re.search(told, page), told


def test_the_six_variables_are_listed_with_values_and_mends(page: str) -> None:
    for name in NAMES:
        assert f"env.{name}" in page
        assert f"export {name}=" in page
