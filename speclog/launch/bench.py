"""The client: ``sglang.bench_serving`` for one step of the workload, its table and JSONL beside the log."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speclog.errors import LaunchError
from speclog.launch import deaths, environment
from speclog.launch.endpoint import Endpoint
from speclog.launch.interpreter import command
from speclog.launch.logfile import tail
from speclog.launch.schema import Workload

_NOT_FOR_CLIENTS = (
    "EAGLE3_PROFILE",
    "EAGLE3_PROFILE_AB",
    "EAGLE3_PROFILE_CTL",
    "SPECLOG_CPU_EAGLE",
    "TRITON_INTERPRET",
)


def arguments(
    load: Workload, endpoint: Endpoint, batch_size: int, output: str, warmup: bool = False
) -> list[str]:
    """Arguments of ``sglang.bench_serving`` for one step. A warm-up sends one request a slot, shortened.

    bench_serving's own warm-up request is off: it would run inside the step that is measured.
    """
    told = {
        "backend": load.backend,
        "host": endpoint.host,
        "port": endpoint.port,
        "dataset-name": load.dataset,
        "num-prompts": batch_size if warmup else load.prompts(batch_size),
        "max-concurrency": batch_size,
        "random-input-len": load.input_len,
        "random-output-len": load.warmup_output_len if warmup else load.output_len,
        "random-range-ratio": 1.0,
        "seed": load.seed,
        "warmup-requests": 0,
        "output-file": output,
    }
    told |= {"dataset-path": load.dataset_path} if load.dataset_path else {}
    told |= {"request-rate": load.request_rate} if load.request_rate else {}
    told |= {"temperature": load.temperature} if load.temperature else {}
    flags = [
        f
        for f, on in (("disable-ignore-eos", not load.ignore_eos), ("tokenize-prompt", load.token_prompts))
        if on
    ]
    words = [word for name, value in told.items() for word in (f"--{name}", str(value))]
    return [*words, *(f"--{flag}" for flag in flags), "--disable-tqdm", *load.extra_args]


class Client:
    """A bench_serving process that is started early and runs one step at a time."""

    def __init__(self, python: str, env: dict[str, str], table: Path, endpoint: Endpoint) -> None:
        """Start it; its imports run while the server boots. ``table`` gets what it prints."""
        self._command = command(python, "bench_driver.py", str(table))
        self._env = client_environment(env, endpoint.api_key, endpoint.host)
        self._table = table
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def run(self, argv: list[str], timeout_s: float, check: Callable[[], None], step: str) -> None:
        """Run bench_serving with these arguments; ``check`` is called all the while and may raise.

        Raises LaunchError of this step when the benchmark fails, dies, or takes too long.
        """
        process = self._process if self._process and self._process.poll() is None else self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(argv).encode() + b"\n")
            process.stdin.flush()
            answer = self._answer(process, timeout_s, check, step)
        except BrokenPipeError:
            answer = {}
        if not answer or answer["exit_code"]:
            reason = answer.get("error") or deaths.last_error(tail(self._table)) or "no word why"
            raise LaunchError(f"bench_serving failed: {reason}; see {self._table}", step=step)

    def close(self) -> None:
        """Stop it and all below it."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        self.close()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._env,
            start_new_session=True,
        )
        return self._process

    def _answer(
        self, process: subprocess.Popen[bytes], timeout_s: float, check: Callable[[], None], step: str
    ) -> dict[str, Any]:
        assert process.stdout is not None
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if select.select([process.stdout], [], [], 0.2)[0]:
                line = process.stdout.readline()
                return dict(json.loads(line)) if line.strip() else {}
            check()
        raise LaunchError(
            f"bench_serving took more than {timeout_s:g} s ([launch] step_timeout_s)", step=step
        )


def client_environment(env: dict[str, str], api_key: str, host: str = "127.0.0.1") -> dict[str, str]:
    """The environment of a client: the server's, without what is meant for server processes only.

    A proxy of the shell stays for downloads, never between the client and the server at ``host``.
    """
    told = {name: value for name, value in env.items() if name not in _NOT_FOR_CLIENTS}
    if any(name.lower().endswith("_proxy") for name in env):
        known = env.get("no_proxy") or env.get("NO_PROXY") or ""
        told |= dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(filter(None, (known, host))))
    return told | ({"OPENAI_API_KEY": api_key} if api_key else {})


def keep_result(raw: Path, kept: Path, step: str, expected: int) -> None:
    """Move the JSONL line of a step to the sidecar, secrets redacted and the step's name in it.

    Raises LaunchError (workload) when bench_serving wrote none, or did not finish all requests.
    """
    try:
        lines = raw.read_text(encoding="utf-8").splitlines()
        result = environment.scrub_json(json.loads(lines[-1]))
    except (OSError, ValueError, IndexError) as error:
        raise LaunchError("bench_serving wrote no result", step="workload") from error
    with contextlib.suppress(OSError):
        raw.unlink()
    result["tag"] = result.get("tag") or step
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    if result.get("completed") != expected:
        raise LaunchError(
            f"bench_serving finished {result.get('completed')} of {expected} requests", step="workload"
        )
