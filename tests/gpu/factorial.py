"""NCCL tuning off and on x baseline and EAGLE-3 5/6, tensor parallel over all GPUs; a sweep of NCCL_PROTO.

usage, from the checkout on that machine: OUT=... python3 tests/gpu/factorial.py --site DIR/site
Dummy weights, accept length simulated at 2.1, batch sizes 1 and 8, the profiler on in every arm. SGLang's own
all-reduce is off: over NVLink it would carry the small messages of a decode step past NCCL, and NCCL's
tuning would change nothing. What the machine sets (NCCL_NVLS_ENABLE=0) reaches every server. A visit of ten
minutes holds the four cells; run it again within the machine's warm time for the repeat and the sweep.
"""

import json
import subprocess
import sys

from visit import ROOT, Visit, begin

ARMS = ("llama8b-baseline", "llama8b-eagle3-5x6")
OVERLAY = """extends = {kit}
about = "Tensor parallel over {tp} GPUs through NCCL, profiled."

[server]
tp_size = {tp}
disable_custom_all_reduce = true

[env]
EAGLE3_PROFILE = 1

[launch]
profiler = true
"""


def gpus() -> int:
    """How many GPUs nvidia-smi lists; 2 where there is none (a dry run)."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 2
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def overlay(visit: Visit, tp: int) -> str:
    """Write the overlay of this machine's size; its path is what --with takes."""
    visit.state.mkdir(parents=True, exist_ok=True)
    path = visit.state / f"tp{tp}.toml"
    path.write_text(OVERLAY.format(kit=json.dumps(str(ROOT / "tests" / "gpu" / "hopper-kit.toml")), tp=tp))
    return str(path)


def run(visit: Visit) -> int:
    everywhere = ("--with", overlay(visit, gpus()), "--repeat", "2")
    cells = visit.launch("factorial", *ARMS, *everywhere, "--sweep", "with=none,nccl-pcie-ll")
    return visit.launch("sweep", ARMS[0], *everywhere, "--sweep", "NCCL_PROTO=LL,LL128,Simple") or cells


def main() -> int:
    visit = begin(__doc__, limit_s=570.0)
    try:
        return run(visit)
    finally:
        if not visit.dry:
            visit.keep()


if __name__ == "__main__":
    sys.exit(main())
