"""A stand-in for an SGLang server: real processes that print SGLang-shaped lines and answer HTTP.

For supervision, signals and kills only. FAKE_* variables choose how it behaves:
FAKE_RANKS=n      n scheduler processes that write long lines into the log at the same time
FAKE_BOOT_S=s     time to boot            FAKE_DIE=boot|serve|oom   die then
FAKE_DEAF=1       ignore SIGTERM          FAKE_ORPHAN=1   a child in its own session
FAKE_RECORD=path  write argv and environment there as JSON
"""

import argparse
import http.server
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from sglang.srt.server_args import ServerArgs


def log(text, rank=""):
    sys.stderr.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{rank}] {text}\n")
    sys.stderr.flush()


def chatter(rank):
    """Long lines, each one write, from several processes at once: what a pipe would tear."""
    for number in range(60):
        os.write(2, f"[2026-01-01 00:00:00 TP{rank}] line {number} {str(rank) * 20000} end\n".encode())
    signal.pause()


class Handler(http.server.BaseHTTPRequestHandler):
    args: argparse.Namespace

    def do_GET(self):
        if self.path == "/server_info":
            self.reply(
                vars(self.args) | {"version": "0.5.14", "internal_states": [{"avg_spec_accept_length": 2.1}]}
            )
        else:
            self.reply({})

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        if self.path == "/generate":
            if os.environ.get("FAKE_DIE") == "serve":
                log("Scheduler hit an exception: Traceback (most recent call last):")
                log("RuntimeError: the stand-in was told to die")
                os._exit(1)
            generate(self.args, int(body.get("running", 1)))
        self.reply({})

    def reply(self, told):
        data = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, form, *rest):
        print(
            f'[{time.strftime("%Y-%m-%d %H:%M:%S")}] INFO:     127.0.0.1:1 - "{self.requestline}" 200 OK',
            flush=True,
        )


def generate(args, running):
    for window in range(1, 4):
        time.sleep(float(os.environ.get("FAKE_WINDOW_S", "0.02")))
        spec = "accept len: 2.10, accept rate: 0.22, " if args.speculative_algorithm else ""
        log(
            f"Decode batch, #running-req: {running}, #token: {running * 100 * window}, token usage: 0.01, "
            f"{spec}cuda graph: True, gen throughput (token/s): {200 * running:.2f}, #queue-req: 0"
        )


def main():
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    args = parser.parse_args()
    if path := os.environ.get("FAKE_RECORD"):
        with Path(path).open("w") as file:
            json.dump({"argv": sys.argv[1:], "env": dict(os.environ)}, file)
    if os.environ.get("FAKE_DEAF"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: (log("SIGTERM received. signum=15"), os._exit(0)))
    if os.environ.get("FAKE_ORPHAN"):
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    log(f"server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in vars(args).items())})")
    for rank in range(int(os.environ.get("FAKE_RANKS", "0"))):
        multiprocessing.Process(target=chatter, args=(rank,)).start()
    sys.stderr.write("\rCapturing batches (bs=1 avail_mem=1.00 GB):   0%|          | 0/1")
    sys.stderr.flush()
    time.sleep(float(os.environ.get("FAKE_BOOT_S", "0.1")))
    sys.stderr.write("\rCapturing batches (bs=1 avail_mem=1.00 GB): 100%|##########| 1/1\n")
    if os.environ.get("FAKE_DIE") == "boot":
        raise ValueError("the stand-in was told to die in boot")
    if os.environ.get("FAKE_DIE") == "oom":
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    Handler.args = args
    server = http.server.ThreadingHTTPServer((args.host or "127.0.0.1", args.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log("The server is fired up and ready to roll!")
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
