#!/usr/bin/env python3
"""Write the synthetic logs of the NCCL story: five sessions of one 8-GPU machine in SGLang 0.5.14's own format.

    python examples/story/make_story.py [OUT]        (default: examples/logs/kimi-k25-story)

The round times, accept lengths and tuning are those of a real case (docs/story.md); every line that carries them is
made up here, seeded, so the files are the same on every machine. The layout of the lines comes from a real log that
lies beside this script's output (examples/logs/h200-llama8b).
"""

import json
import random
import re
import sys
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
REAL = HERE.parent / "logs" / "h200-llama8b"
NOTE = "# SYNTHETIC: numbers of a real case written in SGLang's format by examples/story/make_story.py; not a real log"

NCCL_TUNING = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
ENV = {"CUDA_DEVICE_MAX_CONNECTIONS": "8", "OMP_NUM_THREADS": "8", "EAGLE3_PROFILE": "1"}
PREFIXES = ["NCCL_", "CUDA_", "SGLANG_", "OMP_", "TORCH_", "PYTORCH_", "TRITON_", "EAGLE3_"]
PROMPT, OUTPUT, REQUESTS = 1024, 1024, 6
ROUNDS = 40  # decode_log_interval
MIDDLE = PROMPT + OUTPUT / 2  # context at which round_ms below holds


@dataclass(frozen=True)
class Session:
    """One server process: its arm, tuning, speed, and what its rounds are made of."""

    name: str
    started: datetime
    tuned: bool
    round_ms: float
    ms_per_token: float  # growth of the round with context
    survival: tuple[float, ...] = ()  # P(accepted >= i), i = 1..steps; empty: no speculation
    phases: tuple[float, ...] = ()  # draft, vprep, verify, accept, extend; the gap is what is left

    @property
    def tau(self) -> float:
        """Accept length, bonus included."""
        return 1 + sum(self.survival)


SESSIONS = (
    Session("baseline-remembered", datetime(2026, 1, 20, 9, 12, 4), True, 1000 / 90.0, 0.00025),
    Session("baseline-fresh", datetime(2026, 1, 29, 1, 16, 5), False, 1000 / 62.9, 0.00025),
    Session(
        "eagle3-5x6-untuned",
        datetime(2026, 1, 29, 2, 3, 41),
        False,
        29.87,
        0.0006,
        (0.66, 0.38, 0.06, 0.02, 0.01),
        (0.62, 0.12, 28.45, 0.13, 0.35),
    ),
    Session(
        "eagle3-2x3-untuned",
        datetime(2026, 1, 29, 2, 51, 17),
        False,
        2.04 / 75.9 * 1000,
        0.0006,
        (0.66, 0.38),
        (0.28, 0.11, 26.00, 0.12, 0.21),
    ),
    Session("baseline-retuned", datetime(2026, 1, 29, 3, 40, 22), True, 1000 / 88.8, 0.00025),
)


class Log:
    """Lines of one log, stamped with a clock that the caller moves."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.lines = [NOTE]

    def say(self, text: str, rank: str = "") -> None:
        """Append one line as SGLang's logger prints it."""
        self.lines.append(f"[{self.now:%Y-%m-%d %H:%M:%S}{rank}] {text}")

    def wait(self, seconds: float) -> None:
        """Move the clock."""
        self.now += timedelta(seconds=seconds)


def server_args(session: Session) -> str:
    """The server_args line of a real 0.5.14 log with this machine's values put in."""
    kind = "eagle3-s5-a2.1" if session.survival else "base"
    text = (REAL / f"{kind}.log").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if "] server_args=" in line).split("] ", 1)[1]
    model = "/models/Kimi-K2.5"
    values = {
        "model_path": model,
        "tokenizer_path": model,
        "served_model_name": model,
        "load_format": "auto",
        "trust_remote_code": True,
        "tp_size": 8,
        "mem_fraction_static": 0.9,
        "context_length": 131072,
        "host": "0.0.0.0",
    }
    if session.survival:
        steps = len(session.survival)
        values |= {
            "speculative_draft_model_path": "/models/kimi-k2.5-eagle3",
            "speculative_num_steps": steps,
            "speculative_num_draft_tokens": steps + 1,
        }
    for name, value in values.items():
        line, found = re.subn(
            rf"\b{name}=('[^']*'|[^,)]+)", lambda _, n=name, v=value: f"{n}={v!r}", line, count=1
        )
        assert found, name
    return line


def manifest(session: Session) -> dict[str, object]:
    """What `speclog launch` writes first into a log."""
    env = ENV | (NCCL_TUNING if session.tuned else {})
    arm = f"eagle3-{len(session.survival)}x{len(session.survival) + 1}" if session.survival else "baseline"
    gpu = {
        "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "power_limit_w": 600,
        "clocks_max_sm_mhz": 2430,
        "memory_mib": 97887,
    }
    return {
        "session": uuid.uuid5(uuid.NAMESPACE_URL, f"speclog-story/{session.name}").hex,
        "profile": f"kimi-k25-tp8-{arm}",
        "overlays": ["nccl-pcie-ll"] if session.tuned else [],
        "arm": arm,
        "repeat": 0,
        "argv": ["python3", "-m", "sglang.launch_server", "--model-path", "/models/Kimi-K2.5", "--tp", "8"],
        "env": env,
        "env_prefixes": PREFIXES,
        "versions": {
            "sglang": "0.5.14",
            "torch": "2.11.0+cu130",
            "cuda": "13.0",
            "nccl": "2.28.9",
            "driver": "580.95.05",
            "python": "3.12.3",
            "speclog": "0.1.0",
        },
        "gpus": [{"index": index, **gpu} for index in range(8)],
        "topology": "8 GPUs over PCIe Gen5, NODE within a socket, SYS between sockets",
        "other_gpu_processes": 0,
        "plugins": ["speclog_eagle3"],
        "host_hash": "0f6c2a91",
        "git_commit": None,
        "started_at": f"{session.started:%Y-%m-%dT%H:%M:%SZ}",
        "utc_offset_s": 0,
        "node_rank": 0,
        "workload": {
            "dataset": "random-ids",
            "input_len": PROMPT,
            "output_len": OUTPUT,
            "num_prompts": REQUESTS,
            "batch_sizes": [1],
            "seed": 1,
            "flush_cache": True,
            "request_rate": None,
            "ignore_eos": True,
            "temperature": 0,
        },
        "model_config": {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "hidden_size": 7168,
            "num_hidden_layers": 61,
            "n_routed_experts": 384,
            "num_experts_per_tok": 8,
        },
    }


def boot(log: Log, session: Session) -> None:
    """The lines from manifest to ready."""
    log.lines.append("SPECLOG_MANIFEST v=1 " + json.dumps(manifest(session), separators=(",", ":")))
    log.wait(9)
    if session.survival:
        log.say(
            "Max running requests is reset to 48 for speculative decoding. "
            "You can override this by explicitly setting --max-running-requests."
        )
    log.say(server_args(session))
    log.wait(14)
    for rank in range(8):
        log.say("Init torch distributed begin.", f" TP{rank}")
    log.say("sglang is using nccl==2.28.9", " TP0")
    log.wait(4)
    for rank in range(8):
        log.say("Init torch distributed ends. elapsed=4.02 s, mem usage=0.61 GB", f" TP{rank}")
        log.say(
            "CustomAllreduce is disabled because it's not supported on more than two PCIe-only GPUs. "
            "To silence this warning, specify disable_custom_all_reduce=True explicitly.",
            f" TP{rank}",
        )
    models = [("KimiK25ForConditionalGeneration", 73.41)]
    models += [("LlamaForCausalLMEagle3", 0.73)] if session.survival else []
    free = 93.72
    for kind, size in models:
        log.say(f"Load weight begin. avail mem={free:.2f} GB", " TP0")
        log.wait(size)
        free -= size
        log.say(
            f"Load weight end. elapsed={size:.2f} s, type={kind}, avail mem={free:.2f} GB, mem usage={size:.2f} GB.",
            " TP0",
        )
    tokens = 168312 if session.survival else 175904
    log.say(f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, KV size: 11.02 GB", " TP0")
    log.say("Memory pool end. avail mem=8.41 GB", " TP0")
    role = "target verify" if session.survival else "target decode"
    width = len(session.survival) + 1
    log.say(
        f"Capture {role} CUDA graph begin. backend=full, num_tokens_per_bs={width}, bs=[1, 2, 4, 8], avail mem=8.32 GB",
        " TP0",
    )
    log.wait(21)
    log.say(f"Capture {role} CUDA graph end. elapsed=21.30 s, mem usage=0.88 GB, avail mem=7.44 GB.", " TP0")
    cap = 48 if session.survival else 2048
    log.say(
        f"max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests={cap}, context_len=131072, available_gpu_mem=7.44 GB",
        " TP0",
    )
    worker = "EAGLEWorkerV2 draft=EagleDraftWorker" if session.survival else "none draft=none"
    hooks = "cycle,draft,verify,extend,target,result" if session.survival else "cycle,result"
    log.say(f"EAGLE3_PROFILE v=1 kind=attach rank=0 sglang=0.5.14 worker={worker} hooks={hooks}", " TP0")
    log.say("INFO:     Started server process [4242]")
    log.say("INFO:     Application startup complete.")
    log.say("INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)")
    log.wait(3)
    log.say("The server is fired up and ready to roll!")


def marker(log: Log, event: str) -> None:
    """A workload marker as `speclog launch` writes it between the server's lines."""
    at = f"{log.now:%Y-%m-%dT%H:%M:%SZ}"
    body = {"event": event, "step": "bs1", "kind": "measure", "batch_size": 1, "at": at}
    log.lines.append("SPECLOG_WORKLOAD v=1 " + json.dumps(body, separators=(",", ":")))


class Decoder:
    """Decode rounds of one session: draws accepted drafts and round times, prints a line every forty."""

    def __init__(self, log: Log, session: Session, rng: random.Random) -> None:
        self.log, self.session, self.rng = log, session, rng
        self.owed = 0.0  # accepted drafts owed to the mean accept length
        self.noise = 0.0
        self.profile: list[tuple[float, int, float]] = []  # (round_ms, accepted, context)
        self.window = 0
        self.rounds = 0
        self.tokens = 0
        self.seconds = 0.0

    def request(self) -> None:
        """Decode one request of OUTPUT tokens after its prefill line."""
        self.log.wait(0.05)
        self.prefill()
        made = 1
        while made < OUTPUT:
            made += self.round(PROMPT + made)

    def prefill(self) -> None:
        """The request's prefill line; its time counts in the window that contains it."""
        seconds = PROMPT / 2600
        self.log.wait(seconds)
        self.seconds += seconds + 0.05
        self.log.say(
            f"Prefill batch, #new-seq: 1, #new-token: {PROMPT}, #cached-token: 0, token usage: 0.00, #running-req: 0, "
            f"#queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): {PROMPT / seconds:.2f}",
            " TP0",
        )

    def accepted(self) -> int:
        """Accepted drafts of one round: drawn, then steered so that the run's mean is the session's."""
        draw = self.rng.random()
        count = sum(draw < p for p in self.session.survival)
        self.owed += sum(self.session.survival) - count
        if self.owed >= 1 and count < len(self.session.survival):
            count, self.owed = count + 1, self.owed - 1
        elif self.owed <= -1 and count > 0:
            count, self.owed = count - 1, self.owed + 1
        return count

    def round(self, context: int) -> int:
        """One decode round at this context; returns the tokens it emitted."""
        s = self.session
        count = self.accepted()
        self.noise = 0.985 * self.noise + self.rng.gauss(0, 0.0006)
        ms = s.round_ms * (1 + self.noise) + s.ms_per_token * (context - MIDDLE)
        self.log.wait(ms / 1000)
        self.seconds += ms / 1000
        self.rounds += 1
        self.tokens += count + 1
        self.profile.append((ms, count, context))
        if len(self.profile) == 100:
            self.flush(part=0)
        if self.rounds == ROUNDS:
            self.line(context + count + 1)
        return count + 1

    def line(self, tokens_held: int) -> None:
        """The decode line of the last forty rounds."""
        accept = ""
        if self.session.survival:
            tau = self.tokens / ROUNDS
            accept = f"accept len: {tau:.2f}, accept rate: {(tau - 1) / len(self.session.survival):.2f}, "
        self.log.say(
            f"Decode batch, #running-req: 1, #token: {tokens_held}, token usage: 0.01, {accept}cuda graph: True, "
            f"gen throughput (token/s): {self.tokens / self.seconds:.2f}, #queue-req: 0",
            " TP0",
        )
        self.rounds, self.tokens, self.seconds = 0, 0, 0.0

    def flush(self, part: int) -> None:
        """The profile line of the rounds since the last one."""
        if not self.profile:
            return
        n = len(self.profile)
        times = sorted(ms for ms, _, _ in self.profile)
        mean, p50, p99 = sum(times) / n, times[n // 2], times[min(n - 1, n * 99 // 100)]
        seq = sum(context for _, _, context in self.profile) / n
        steps = len(self.session.survival)
        spread = tuple(value / mean for value in (mean, p50, p99))

        def phase(name: str, ms: float) -> str:
            return f"{name}_ms=" + "/".join(f"{ms * s:.3f}" for s in spread)

        kind = "spec" if steps else "decode"
        fixed = sum(self.session.phases)
        grown = mean / self.session.round_ms  # verify takes what noise and context add
        if steps:
            parts = dict(
                zip(("draft", "vprep", "verify", "accept", "extend"), self.session.phases, strict=True)
            )
            gap = self.session.round_ms - fixed
            parts["verify"] += mean - self.session.round_ms
            body = [phase("cycle", mean), *(phase(k, v) for k, v in parts.items()), phase("fwd", mean - gap)]
            body.append(phase("gap", gap))
            hist = [0] * (steps + 1)
            for _, count, _ in self.profile:
                hist[count] += 1
            tail = (
                f"reqs={n} acc_len={1 + sum(c for _, c, _ in self.profile) / n:.4f} "
                f"acc_hist={','.join(map(str, hist))} "
            )
        else:
            body, tail = [phase("cycle", mean), phase("fwd", mean - 0.02), phase("gap", 0.02)], ""
        body.append(phase("host", 2.4 * grown if steps else 0.9 * grown))
        start = (self.log.now - datetime(1970, 1, 1)).total_seconds() - sum(times) / 1000
        self.log.say(
            f"EAGLE3_PROFILE v=1 kind={kind} rank=0 win={self.window} n={n} part={part} mode=events bs=1 "
            f"steps={steps} topk={1 if steps else 0} ndraft={steps + 1 if steps else 0} seq={seq:.0f} graph={n} "
            f"{' '.join(body)} {tail}t0={start:.3f} dur_s={sum(times) / 1000:.3f}",
            " TP0",
        )
        self.window += 1
        self.profile = []


def make(session: Session) -> str:
    """The whole log of one session."""
    log = Log(session.started)
    boot(log, session)
    marker(log, "begin")
    decoder = Decoder(log, session, random.Random(session.name))
    for _ in range(REQUESTS):
        decoder.request()
        decoder.flush(part=1)
        log.say('INFO:     127.0.0.1:51234 - "POST /generate HTTP/1.1" 200 OK')
    marker(log, "end")
    log.wait(2)
    log.say("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    end = {"exit_code": 0, "reason": "done", "at": f"{log.now:%Y-%m-%dT%H:%M:%SZ}"}
    log.lines.append("SPECLOG_END v=1 " + json.dumps(end, separators=(",", ":")))
    return "\n".join(log.lines) + "\n"


def main() -> None:
    """Write one log a session."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "logs" / "kimi-k25-story"
    out.mkdir(parents=True, exist_ok=True)
    for session in SESSIONS:
        (out / f"{session.name}.log").write_text(make(session), encoding="utf-8")


if __name__ == "__main__":
    main()
