"""`speclog launch` on one Hopper GPU: baseline, EAGLE-3 5x6 and 2x3 of the Llama-8B shape, twice each.

usage, from the checkout on that machine: OUT=... python3 tests/gpu/launch_visit.py --site DIR/site
Each session takes 90 to 170 s, so one visit of nine minutes holds four of the six: run it again within the
machine's warm time and it goes on. Back here: speclog ingest OUT/launch && speclog report --vs baseline
"""

import sys

from visit import ROOT, begin

ARMS = ("llama8b-baseline", "llama8b-eagle3-5x6", "llama8b-eagle3-2x3")


def main() -> int:
    visit = begin(__doc__, limit_s=525.0)
    kit = str(ROOT / "tests" / "gpu" / "hopper-kit.toml")
    try:
        return visit.launch("launch", *ARMS, "--with", kit, "--repeat", "2")
    finally:
        if not visit.dry:
            visit.keep()


if __name__ == "__main__":
    sys.exit(main())
