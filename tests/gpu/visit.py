"""One visit to a lent GPU machine: campaigns within a time limit, everything kept in $OUT.

The machine is bare and has no network: SGLang lies unpacked in a folder (--site), speclog in this checkout.
State stays in --state while the machine is warm, so that a second visit goes on where the first was stopped.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Visit:
    """What a visit has: the folder of SGLang's packages, its state, its end (time.monotonic)."""

    site: str
    state: Path
    out: Path
    deadline: float
    dry: bool

    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def launch(self, name: str, *words: str) -> int:
        """Begin or go on with a campaign; 0 when all its sessions are done."""
        folder = self.state / name
        going_on = (folder / "campaign.json").exists() and not self.dry
        request = ["--resume", str(folder)] if going_on else [*words, "--out", str(folder)]
        limit = ["--dry-run"] if self.dry else ["--no-ingest", "--time-limit", f"{self.left_s():.0f}"]
        if self.left_s() < 60:
            print(f"{name}: no time left", flush=True)
            return 1
        command = [sys.executable, "-m", "speclog", "launch", *request, *limit]
        print("+", " ".join(command), flush=True)
        return subprocess.run(command, cwd=ROOT, env=self.env()).returncode

    def env(self) -> dict[str, str]:
        """This shell's environment with SGLang and speclog on the path; what the machine has set stays."""
        path = [self.site, str(ROOT), os.environ.get("PYTHONPATH", "")]
        return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}

    def keep(self) -> None:
        """Copy all that was written to $OUT, whether finished or not, with a word on the machine."""
        shutil.copytree(self.state, self.out, dirs_exist_ok=True)
        with (self.out / "machine.txt").open("w") as file:
            for command in (
                ["nvidia-smi"],
                ["nvidia-smi", "topo", "-m"],
                ["nvidia-smi", "-q", "-d", "CLOCK,POWER"],
            ):
                file.write(f"$ {' '.join(command)}\n")
                file.flush()
                subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)


def begin(about: str, limit_s: float) -> Visit:
    """Read the command line of a visit."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", default=os.environ.get("SITE", ""), help="folder of SGLang's packages")
    parser.add_argument("--state", type=Path, default=Path("/tmp/speclog-visit"))
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "visit-out")))
    parser.add_argument("--limit", type=float, default=limit_s, help="seconds for everything")
    parser.add_argument("--dry-run", action="store_true", help="show the sessions in order, run nothing")
    told = parser.parse_args()
    if not told.dry_run:
        told.state.mkdir(parents=True, exist_ok=True)
    site = str(Path(told.site).resolve()) if told.site else ""
    return Visit(site, told.state.resolve(), told.out.resolve(), time.monotonic() + told.limit, told.dry_run)
