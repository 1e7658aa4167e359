"""A stand-in SGLang (tests/launch/fake) that the launcher drives as it drives the real one."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROFILE = """
about = "the stand-in"
[models]
dummy = "nano"
[server]
model_path = "{target}"
load_format = "dummy"
device = "cpu"
port = 0
[workload]
input_len = 8
output_len = 8
batch_sizes = [1, 2]
waves = 1
[launch]
boot_timeout_s = 30
stop_grace_s = 5
"""
SPEC = """
extends = "plain"
[server]
speculative_algorithm = "EAGLE3"
speculative_draft_model_path = "{draft}"
speculative_num_steps = 5
"""


@dataclass
class Place:
    """A working directory with two profiles, and the environment in which SGLang is the stand-in."""

    path: Path
    env: dict[str, str]

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "speclog", *words]

    def run(self, *words: str, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.path,
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def launch(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("launch", *words, "--out", "out", "--no-ingest", **env)

    def log(self, stem: str = "plain.r1") -> "Log":
        return Log((self.path / "out" / f"{stem}.log").read_bytes())

    def state(self) -> list[dict]:
        return json.loads((self.path / "out" / "campaign.json").read_text())["runs"]


@dataclass
class Log:
    data: bytes

    @property
    def lines(self) -> list[str]:
        return self.data.decode().splitlines()

    def told(self, head: str) -> list[dict]:
        return [
            json.loads(line.partition(" v=1 ")[2])
            for line in self.lines
            if line.startswith(f"SPECLOG_{head} v=1 ")
        ]

    @property
    def manifest(self) -> dict:
        assert self.lines[0].startswith("SPECLOG_MANIFEST v=1 {")
        return self.told("MANIFEST")[0]

    @property
    def end(self) -> dict:
        assert self.lines[-1].startswith("SPECLOG_END v=1 {")
        return self.told("END")[-1]


def processes_of(marker: str) -> list[int]:
    """Living processes whose environment or command line holds a marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in text and state != "Z":
                found.append(int(entry.name))
    return found
