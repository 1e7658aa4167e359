"""Runs the stand-in SGLang server in its own processes and reads the lines it prints."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LINE = re.compile(r"EAGLE3_PROFILE v=1 kind=(\w+) (.*)$")


@dataclass
class Output:
    """What a server printed: its text, and the profiler's lines as (kind, fields)."""

    text: str
    code: int
    lines: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def __post_init__(self):
        for match in map(LINE.search, self.text.splitlines()):
            if match:
                self.lines.append((match[1], dict(part.split("=", 1) for part in match[2].split(" "))))

    def kind(self, kind):
        return [fields for name, fields in self.lines if name == kind]


SCHEDULER_ALONE = "from sglang.srt.managers.scheduler import run_scheduler_process as run; run()"


def serve(shape, waves, *, path=(), profiler_on_path=True, spawn=True, **environment):
    """Run the stand-in server; `path` is its PYTHONPATH before the stand-in itself.

    `spawn` runs launcher and scheduler in processes of their own, as SGLang does; otherwise there is the
    scheduler's only, which is quicker.
    """
    folders = [*map(str, path), str(HERE / "fake"), *([str(ROOT)] if profiler_on_path else [])]
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("EAGLE3_", "SGLANG_", "PYTHON"))
    }
    env.update(FAKE_SHAPE=shape, FAKE_WAVES=waves, PYTHONPATH=os.pathsep.join(folders), EAGLE3_PROFILE="1")
    env.update({key: str(value) for key, value in environment.items()})
    what = ["-m", "sglang.launch_server"] if spawn else ["-c", SCHEDULER_ALONE]
    done = subprocess.run([sys.executable, *what], env=env, capture_output=True, text=True, timeout=120)
    return Output(done.stdout + done.stderr, done.returncode)


@pytest.fixture
def plugin(tmp_path):
    """A folder that makes speclog's entry point visible, as installing it would."""
    info = tmp_path / "site" / "speclog-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: speclog\nVersion: 0\n")
    text = (ROOT / "pyproject.toml").read_text()
    point = re.search(r'\[project.entry-points."sglang.srt.plugins"\]\n(\w+) = "([\w.:]+)"', text)
    (info / "entry_points.txt").write_text(f"[sglang.srt.plugins]\n{point[1]} = {point[2]}\n")
    return info.parent
