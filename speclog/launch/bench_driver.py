"""Runs ``sglang.bench_serving`` several times in one process, so that its imports are paid for once.

Run by path in the interpreter that has SGLang; standard library only. Each line on stdin is one JSON list of
arguments; the answer on stdout is one JSON object with ``exit_code`` and ``error``. What the benchmark prints
goes to the file named by the first argument. Ends when stdin closes, and dies with its parent.
"""

import contextlib
import ctypes
import json
import os
import runpy
import signal
import sys
import traceback

MODULE = "sglang.bench_serving"


def main() -> None:
    """Import first, then answer line by line."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    with contextlib.suppress(Exception):
        __import__(MODULE)
    for line in sys.stdin:
        answers.write(json.dumps(_run(json.loads(line))) + "\n")


def _run(argv: list[str]) -> dict[str, object]:
    sys.argv = [MODULE, *argv]
    try:
        runpy.run_module(MODULE, run_name="__main__", alter_sys=False)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return {"exit_code": code, "error": None if not code else str(end.code)}
    except BaseException as error:
        traceback.print_exc()
        return {"exit_code": 1, "error": f"{type(error).__name__}: {error}"}
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return {"exit_code": 0, "error": None}


if __name__ == "__main__":
    main()
