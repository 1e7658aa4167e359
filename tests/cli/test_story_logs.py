"""The synthetic logs are what their generator makes, and say that they are synthetic."""

import subprocess
import sys
from pathlib import Path


def test_story_logs_are_current(root: Path, example_logs: Path, tmp_path: Path) -> None:
    script = root / "examples" / "story" / "make_story.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=60)
    made = {path.name: path.read_text() for path in tmp_path.glob("*.log")}
    kept = {path.name: path.read_text() for path in (example_logs / "kimi-k25-story").glob("*.log")}
    assert made == kept
    assert all(text.startswith("# SYNTHETIC") for text in kept.values())
    assert len(kept) == 5
