"""Starts the scheduler in a spawned child, as SGLang does; its exit code is the server's."""

import multiprocessing
import sys

from sglang.srt.managers.scheduler import run_scheduler_process
from sglang.srt.plugins import load_plugins

if __name__ == "__main__":
    load_plugins()
    multiprocessing.set_start_method("spawn", force=True)
    child = multiprocessing.Process(target=run_scheduler_process)
    child.start()
    child.join()
    sys.exit(child.exitcode)
