#!/usr/bin/env python3
"""One visit (under eight minutes) to a bare Hopper machine without a network: what the profiler costs there.

    python3 tests/gpu/profiler_visit.py --kit KIT [--out $OUT]

KIT holds part.00, part.01, ...: a tar.xz of a folder `site` with SGLang 0.5.14 and what it needs. Four
servers of one Llama-8B shape with dummy weights share the GPU: plain and EAGLE-3, each with and without the
profiler. They are all up before anything is measured, and one works at a time, so that blocks of the same
requests can alternate between them (off, on, on, off) within seconds. Left in the output folder: one log a
server, the blocks (blocks.jsonl), the machine (machine.txt) and what follows from them (summary.json).
"""

import argparse
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN = time.monotonic()
TARGET = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336,
    "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 5e5,
    "hidden_act": "silu", "bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": False,
    "attention_bias": False, "mlp_bias": False, "torch_dtype": "bfloat16",
}  # fmt: skip
DRAFT = {
    **TARGET, "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32000,
    "target_hidden_size": 4096, "target_model_type": "llama",
}  # fmt: skip
COMMON = (
    "--model-path target --load-format dummy --skip-tokenizer-init --attention-backend triton "
    "--sampling-backend pytorch --grammar-backend none --disable-radix-cache --disable-piecewise-cuda-graph "
    "--skip-server-warmup --mem-fraction-static 0.85 --max-total-tokens 32768 --max-running-requests 8 "
    "--cuda-graph-max-bs 8 --random-seed 42"
)
EAGLE3 = (
    " --speculative-algorithm EAGLE3 --speculative-draft-model-path draft --speculative-num-steps 5 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 6"
)
SERVERS = {"base-off": COMMON, "eagle3-off": COMMON + EAGLE3, "base-on": COMMON, "eagle3-on": COMMON + EAGLE3}
ORDER = ("off", "on", "on", "off")
# The requests of a block: (at once, prompt tokens, new tokens), each in turn.
MIX = ((1, 128, 512), (1, 128, 512), (1, 2048, 256), (8, 128, 256))


def say(text):
    """A line of progress with the seconds since the start."""
    print(f"[{time.monotonic() - BEGIN:5.0f} s] {text}", flush=True)


class Parts:
    """The kit's parts read as one stream."""

    def __init__(self, folder):
        self.files = [path.open("rb") for path in sorted(folder.glob("part.*"))]
        if not self.files:
            sys.exit(f"no part.* in {folder}")

    def read(self, size):
        """Up to `size` bytes, from the next part where one ends."""
        while self.files:
            data = self.files[0].read(size)
            if data:
                return data
            self.files.pop(0).close()
        return b""


def unpack(kit, folder):
    """Unpack the kit once; the folder to put on PYTHONPATH."""
    if not (folder / "site" / "sglang").is_dir():
        with tarfile.open(fileobj=Parts(kit), mode="r|xz") as archive:
            archive.extractall(folder, filter="data")
        say("kit unpacked")
    return folder / "site"


class Server:
    """One server: its process group, its log, and requests to it."""

    def __init__(self, name, port, site, work, out):
        self.name, self.port, self.log = name, port, out / f"{name}.log"
        env = {key: value for key, value in os.environ.items() if not key.startswith(("EAGLE3_", "SGLANG_"))}
        path = [str(site)]
        if name.endswith("-on"):
            sys.path.insert(0, str(ROOT))
            from speclog.profiler import bootstrap_path

            path.insert(0, bootstrap_path())
            self.control = work / f"{name}.control"
            env.update(EAGLE3_PROFILE="1", EAGLE3_PROFILE_CTL=str(self.control))
        if name.startswith("eagle3"):
            env["SGLANG_SIMULATE_ACC_LEN"] = "2.1"
        env.update(PYTHONPATH=os.pathsep.join(path), HF_HUB_OFFLINE="1")
        command = [sys.executable, "-m", "sglang.launch_server", *SERVERS[name].split()]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(port)],
                cwd=work, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait(self, until):
        """Whether it has become ready before `until` (monotonic seconds)."""
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    say(f"{self.name} is ready")
                    return True
            except OSError:
                time.sleep(0.5)
        say(f"{self.name} did not start: {self.log.read_text(errors='replace')[-1500:]}")
        return False

    def one(self, prompt, tokens):
        """One request."""
        sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
        body = json.dumps({"input_ids": list(range(10, 10 + prompt)), "sampling_params": sampling}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/generate", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["meta_info"]["completion_tokens"]

    def serve(self, at_once, prompt, tokens):
        """Equal requests together; tokens per second as the client sees them."""
        start = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            made = sum(pool.map(lambda _: self.one(prompt, tokens), range(at_once)))
        return made / (time.perf_counter() - start)

    def stop(self):
        """End the whole process group."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, how)
                self.process.wait(8)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def start_all(servers, port, site, work, out, until):
    """The first server alone, since it compiles the kernels that all use; then the others together."""
    servers["base-off"] = Server("base-off", port, site, work, out)
    if not servers["base-off"].wait(until):
        return []
    servers["base-off"].serve(1, 128, 32)
    for i, name in enumerate(list(SERVERS)[1:], 1):
        servers[name] = Server(name, port + 100 * i, site, work, out)
    ready = ["base-off"] + [name for name in list(SERVERS)[1:] if servers[name].wait(until)]
    for name in ready:
        servers[name].serve(1, 128, 64)
        servers[name].serve(8, 128, 64)
    say("all are warm")
    return ready


def measure(servers, ready, out, until, quads):
    """Blocks of the same requests, alternating within each kind, while there is time."""
    blocks = []
    with (out / "blocks.jsonl").open("a") as file:
        for quad in quads:
            for kind in ("base", "eagle3"):
                for place, arm in enumerate(ORDER):
                    name = f"{kind}-{arm}"
                    if name not in ready or time.monotonic() > until:
                        continue
                    for part, (at_once, prompt, tokens) in enumerate(MIX):
                        speed = servers[name].serve(at_once, prompt, tokens)
                        block = {"quad": quad, "place": place, "kind": kind, "arm": arm, "part": part}
                        blocks.append(
                            {**block, "at_once": at_once, "prompt": prompt, "tok_s": round(speed, 3)}
                        )
                        file.write(json.dumps(blocks[-1]) + "\n")
            say(f"quad {quad}: {len(blocks)} measurements")
    return blocks


def trial(servers, ready, until):
    """The profiler's own on/off trial, switched on at run time by its control file."""
    for name in ("eagle3-on", "base-on"):
        if name in ready and time.monotonic() < until:
            servers[name].control.write_text("ab")
            servers[name].serve(1, 128, 1536)
            servers[name].serve(1, 128, 1536)
            servers[name].control.write_text("on")
            say(f"{name}: trial done")


def costs(blocks):
    """On against off, a ratio per complete quad and part of the mix; mean and spread in percent."""
    found = {}
    for kind in ("base", "eagle3"):
        for part, mix in enumerate(MIX):
            ratios = []
            for quad in range(4):
                here = [b for b in blocks if (b["quad"], b["kind"], b["part"]) == (quad, kind, part)]
                if len(here) == len(ORDER):
                    on = sum(b["tok_s"] for b in here if b["arm"] == "on")
                    off = sum(b["tok_s"] for b in here if b["arm"] == "off")
                    ratios.append(round(100 * (on / off - 1), 3))
            if ratios:
                key = f"{kind} at_once={mix[0]} prompt={mix[1]}"
                found[key] = {"percent": ratios, "mean": round(sum(ratios) / len(ratios), 3)}
    return found


def fields(line):
    """The keys and values of a profiler line."""
    return dict(part.split("=", 1) for part in line.split(" ") if "=" in part)


def phases(log):
    """How well phases and gap make the cycle, and the cycle against the server's decode lines (b=1)."""
    text = log.read_text(errors="replace")
    errors, cycles = [], []
    for line in re.findall(r"EAGLE3_PROFILE v=1 kind=(?:spec|decode) (.*)", text):
        here = {k: float(v.split("/")[0]) for k, v in fields(line).items() if k.endswith("_ms") and v != "na"}
        if "cycle_ms" not in here or fields(line).get("part") != "0":
            continue
        parts = [f"{p}_ms" for p in ("draft", "vprep", "verify", "accept", "extend")]
        total = sum(here[p] for p in parts) if "verify_ms" in here else here["fwd_ms"]
        errors.append(100 * abs(total + here["gap_ms"] - here["cycle_ms"]) / here["cycle_ms"])
        about = fields(line)
        if about["bs"] == "1" and about["seq"] != "na" and int(about["seq"]) < 700:
            cycles.append((int(about["seq"]), here["cycle_ms"]))
    plain = []
    shape = (
        r"#running-req: 1, #token: (\d+).*?(?:accept len: ([\d.]+).*?)?gen throughput \(token/s\): ([\d.]+)"
    )
    lines = [line for line in text.splitlines() if "Decode batch" in line or "Prefill batch" in line]
    for before, line in itertools.pairwise(lines):
        match = re.search(shape, line)
        if match and "Decode batch" in before and "#running-req: 1," in before and float(match[3]) > 0:
            tau = float(match[2] or 1)
            middle = int(match[1]) - 20 * tau
            if 0 < middle < 700:
                plain.append((middle, tau / float(match[3]) * 1e3))
    result = {
        "median_sum_error_percent": round(statistics.median(errors or [0.0]), 4),
        "worst_sum_error_percent": round(max(errors or [0.0]), 4),
        "windows": len(cycles),
        "decode_lines": len(plain),
    }
    if cycles and plain:
        mine, theirs = line_at(cycles, 400), line_at(plain, 400)
        result.update(cycle_ms=round(mine, 4), log_ms=round(theirs, 4))
        result["cycle_against_log_percent"] = round(100 * (mine / theirs - 1), 3)
    return result


def line_at(points, context):
    """The value at `context` of the least-squares line through (context, ms) points."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mx) ** 2 for x, _ in points)
    slope = sum((x - mx) * (y - my) for x, y in points) / spread if spread else 0.0
    return my + slope * (context - mx)


def main():
    """The visit."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--kit", type=Path, default=ROOT / "kit")
    options.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out")))
    options.add_argument("--work", type=Path, default=Path("/tmp/profiler-visit"))
    options.add_argument("--seconds", type=float, default=460, help="time for all of it")
    options.add_argument(
        "--port", type=int, default=30000, help="of the first server; another visit beside it: +1000"
    )
    asked = options.parse_args()
    end = BEGIN + asked.seconds
    for folder in (asked.out, asked.work):
        folder.mkdir(parents=True, exist_ok=True)
    for name, shape in (("target", TARGET), ("draft", DRAFT)):
        (asked.work / name).mkdir(exist_ok=True)
        (asked.work / name / "config.json").write_text(json.dumps(shape))
    machine = subprocess.run(
        "nvidia-smi; nvidia-smi -q -d CLOCK,POWER", shell=True, capture_output=True, text=True
    )
    (asked.out / "machine.txt").write_text(machine.stdout + machine.stderr)
    site = unpack(asked.kit, asked.work)
    servers, ready = {}, []
    watchdog = threading.Timer(max(end - time.monotonic(), 1), lambda: [s.stop() for s in servers.values()])
    watchdog.daemon = True
    watchdog.start()
    try:
        ready = start_all(servers, asked.port, site, asked.work, asked.out, end - 60)
        blocks = measure(servers, ready, asked.out, end - 60, (0, 1))
        trial(servers, ready, end - 45)
        blocks += measure(servers, ready, asked.out, end - 20, (2, 3))
    finally:
        watchdog.cancel()
        for server in servers.values():
            server.stop()
        say("stopped")
    summary = {"cost": costs(blocks)}
    summary["phases"] = {name: phases(asked.out / f"{name}.log") for name in ready if name.endswith("-on")}
    lines = [
        line
        for name in ready
        for line in (asked.out / f"{name}.log").read_text(errors="replace").splitlines()
    ]
    summary["other_lines"] = [
        line for line in lines if re.search(r"EAGLE3_PROFILE v=1 kind=(attach|ab|warn)", line)
    ]
    (asked.out / "summary.json").write_text(json.dumps(summary, indent=1))
    print(json.dumps(summary, indent=1))
    return 0 if len(ready) == len(SERVERS) else 1


if __name__ == "__main__":
    sys.exit(main())
