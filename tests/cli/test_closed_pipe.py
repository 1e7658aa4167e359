"""Nobody reads stdout any more: `speclog ... | head -0` is no failure."""

import subprocess
import sys


def test_a_closed_stdout_is_no_failure() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "speclog", "query"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0, err
    assert err == ""
