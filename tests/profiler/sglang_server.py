"""A real SGLang server on the CPU with dummy weights, for the tests that need one.

`SPECLOG_SGLANG_PYTHON` names the Python of an environment with SGLang 0.5.14 for the CPU; without it those
tests are skipped.
"""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHAPE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "num_hidden_layers": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64, "intermediate_size": 256,
    "vocab_size": 1024, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
    "hidden_act": "silu", "bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": False,
    "attention_bias": False, "mlp_bias": False, "torch_dtype": "bfloat16",
}  # fmt: skip
DRAFT = {
    **SHAPE, "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 1024,
    "target_hidden_size": 128, "target_model_type": "llama",
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 2], "use_aux_hidden_state": True},
}  # fmt: skip
COMMON = (
    "--model-path target --load-format dummy --skip-tokenizer-init --device cpu --sampling-backend pytorch "
    "--grammar-backend none --disable-overlap-schedule --disable-radix-cache --skip-server-warmup "
    "--mem-fraction-static 0.3 --max-total-tokens 2048 --max-running-requests 4 --decode-log-interval 10 "
)
ARGUMENTS = {
    "baseline": COMMON + "--attention-backend torch_native",
    "eagle3": COMMON + "--attention-backend triton --disable-cuda-graph --speculative-algorithm EAGLE3 "
    "--speculative-draft-model-path draft --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4",
}
ENVIRONMENT = {
    "baseline": {},
    "eagle3": {
        "SPECLOG_CPU_EAGLE": "1",
        "TRITON_INTERPRET": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "SGLANG_SIMULATE_ACC_LEN": "2.1",
    },
}


def sglang_python():
    """The interpreter to serve with, or a skip."""
    python = os.environ.get("SPECLOG_SGLANG_PYTHON")
    if not python:
        pytest.skip("SPECLOG_SGLANG_PYTHON does not name a Python with SGLang 0.5.14 for the CPU")
    return python


def free_port():
    """A free port, low enough for the one that SGLang adds to it for gRPC (port + 10,000 and more)."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("no free port")


class Server:
    """A running server; a context manager that stops it and every process it started."""

    def __init__(self, kind, folder, path, **environment):
        self.python, self.folder = sglang_python(), folder
        for name, shape in (("target", SHAPE), ("draft", DRAFT)):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "config.json").write_text(json.dumps(shape))
        self.port = free_port()
        shim = [ROOT / "tests" / "sglang" / "cpu_eagle"] if kind == "eagle3" else []
        env = {k: v for k, v in os.environ.items() if not k.startswith(("EAGLE3_", "SGLANG_", "PYTHON"))}
        env.update(ENVIRONMENT[kind], SGLANG_USE_CPU_ENGINE="1", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
        env.update(EAGLE3_PROFILE="1", PYTHONPATH=os.pathsep.join(map(str, [*path, *shim])))
        env.update(environment)
        self.log = folder / "server.log"
        command = [
            self.python,
            "-m",
            "sglang.launch_server",
            *ARGUMENTS[kind].split(),
            "--port",
            str(self.port),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def text(self):
        """The log so far."""
        return self.log.read_text(errors="replace")

    def __enter__(self):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return self
            except OSError:
                time.sleep(1)
        self.stop()
        raise AssertionError(f"the server did not start:\n{self.text()[-3000:]}")

    def __exit__(self, *problem):
        self.stop()

    def stop(self):
        """End the server's process group: politely, then not."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, how)
                self.process.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def wait_for(self, shown):
        """Wait until the log shows something: a window is printed after the answer that ends it was sent."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not shown():
            time.sleep(0.1)

    def generate(self, tokens, prompt=4, at_once=1):
        """Serve `at_once` equal requests together; SGLang's `meta_info` of each."""

        def one(i):
            sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
            body = json.dumps({"input_ids": [10 + i] * prompt, "sampling_params": sampling}).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{self.port}/generate", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["meta_info"]

        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(one, range(at_once)))
