"""A stand-in for sglang.bench_serving: sends the requests and writes the JSONL line, nothing more."""

import argparse
import json
import os
import time
import urllib.request
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    for option in ("backend", "host", "dataset-name", "output-file", "tag", "request-rate", "dataset-path"):
        parser.add_argument(f"--{option}")
    for option in ("port", "num-prompts", "max-concurrency", "random-input-len", "random-output-len", "seed"):
        parser.add_argument(f"--{option}", type=int)
    parser.add_argument("--warmup-requests", type=int, default=1)
    parser.add_argument("--random-range-ratio", type=float)
    for flag in ("disable-tqdm", "disable-ignore-eos", "tokenize-prompt"):
        parser.add_argument(f"--{flag}", action="store_true")
    args = parser.parse_args()
    print("============ Serving Benchmark Result ============")
    if os.environ.get("FAKE_BENCH") == "hang":
        time.sleep(1000)
    if os.environ.get("FAKE_BENCH") == "fail" and args.max_concurrency > 1:
        raise ValueError("told to fail half-way")
    if os.environ.get("FAKE_BENCH") == "late" and args.num_prompts > 2:
        raise ValueError("told to fail late")
    body = json.dumps({"running": args.max_concurrency}).encode()
    for _ in range(0, args.num_prompts, args.max_concurrency):
        url = f"http://{args.host}:{args.port}/generate"
        urllib.request.urlopen(urllib.request.Request(url, data=body, method="POST"), timeout=60).read()
    short = os.environ.get("FAKE_BENCH") == "short"
    with Path(args.output_file).open("a") as file:
        told = {
            "tag": args.tag,
            "backend": args.backend,
            "max_concurrency": args.max_concurrency,
            "completed": args.num_prompts - short,
            "output_throughput": 200.0 * args.max_concurrency + float(os.environ.get("FAKE_BONUS", "0")),
            "server_info": {"api_key": "sk-abcdefghijklmnopqrstuvwx", "version": "0.5.14"},
        }
        file.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
