#!/usr/bin/env bash
# kimi-k25-tp8-baseline+nccl-pcie-ll: Kimi-K2.5 INT4, tensor parallel over 8 GPUs, no speculation: the plain server. Untuned; tune with --with nccl-pcie-ll.
# Made by: speclog launch kimi-k25-tp8-baseline --with nccl-pcie-ll --print
# One session: environment, server with its log, workload, /server_info, stop. Where to: LOG=run.log PYTHON=... bash THIS
set -euo pipefail
set -m # the server gets its own process group

PYTHON=${PYTHON:-python3}
LOG=${LOG:-kimi-k25-tp8-baseline+nccl-pcie-ll.log}
HOST=${HOST:-127.0.0.1}
PORT=${PORT:-30000}
STEM=${LOG%.log}

export NCCL_ALGO=Ring
export NCCL_BUFFSIZE=16777216
export NCCL_MAX_NCHANNELS=16
export NCCL_NTHREADS=512
export NCCL_P2P_LEVEL=SYS
export NCCL_PROTO=LL

server=(
  "$PYTHON" -m sglang.launch_server
  --model-path moonshotai/Kimi-K2.5
  --cuda-graph-max-bs 8
  --disable-radix-cache
  --mem-fraction-static 0.85
  --random-seed 42
  --tp-size 8
  --trust-remote-code
  --port "$PORT"
)

now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
note() { printf '%s\n' "$1" >>"$LOG"; }
ask() { # METHOD PATH: one request to the server, its answer on stdout
  "$PYTHON" -c 'import sys, urllib.request as u
opener = u.build_opener(u.ProxyHandler({}))
print(opener.open(u.Request(sys.argv[2], method=sys.argv[1]), timeout=60).read().decode())' "$1" "http://$HOST:$PORT$2"
}
fail() { # CODE REASON
  reason=$2
  echo "$2" >&2
  exit "$1"
}

[ ! -e "$LOG" ] || { echo "$LOG is there already" >&2; exit 50; }
: >"$LOG"
reason=done
# The manifest, where this interpreter has speclog; without it the log stays silent about its environment.
"$PYTHON" -m speclog.launch.note kimi-k25-tp8-baseline --with nccl-pcie-ll -- "${server[@]}" >>"$LOG" ||
  echo "$LOG has no manifest, for the reason above; the session goes on without" >&2

"${server[@]}" >>"$LOG" 2>&1 </dev/null &
pid=$!
tail -n +1 -f --pid="$pid" "$LOG" &

stop() {
  code=$?
  trap - EXIT INT TERM HUP
  [ -z "${client:-}" ] || kill -KILL -- "-$client" 2>/dev/null || true
  kill -TERM "$pid" 2>/dev/null || true
  for ((i = 0; i < 10 * 60; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -TERM -- "-$pid" 2>/dev/null && sleep 2
  kill -KILL -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  note "SPECLOG_END v=1 {\"exit_code\": $code, \"reason\": \"$reason\", \"at\": \"$(now)\"}"
  exit "$code"
}
trap stop EXIT
trap 'reason="stopped by SIGINT"; exit 130' INT
trap 'reason="stopped by SIGTERM"; exit 143' TERM
trap 'reason="stopped by SIGHUP"; exit 129' HUP

workload() { # STEP KIND BATCH_SIZE ARGUMENTS...
  step=$1 kind=$2 batch=$3
  shift 3
  [ "$kind" = warmup ] || [ 1 = 0 ] || ask POST /flush_cache >/dev/null || true
  output=$STEM.bench.jsonl
  [ "$kind" = measure ] || output=/dev/null
  note "SPECLOG_WORKLOAD v=1 {\"event\": \"begin\", \"step\": \"$step\", \"kind\": \"$kind\", \"batch_size\": $batch, \"at\": \"$(now)\"}"
  no_proxy="${no_proxy:+$no_proxy,}$HOST" NO_PROXY="${NO_PROXY:+$NO_PROXY,}$HOST" \
    "$PYTHON" -m sglang.bench_serving --host "$HOST" --port "$PORT" "$@" --output-file "$output" >>"$STEM.bench.txt" 2>&1 &
  client=$!
  wait "$client" ||
    fail $([ "$kind" = warmup ] && echo 53 || echo 54) "bench_serving failed, see $STEM.bench.txt"
  note "SPECLOG_WORKLOAD v=1 {\"event\": \"end\", \"step\": \"$step\", \"kind\": \"$kind\", \"batch_size\": $batch, \"at\": \"$(now)\"}"
}

deadline=$((SECONDS + 2700))
until grep -qF "The server is fired up and ready to roll!" "$LOG" && ask GET /health >/dev/null 2>&1; do
  kill -0 "$pid" 2>/dev/null || fail 52 "the server died while it booted, see $LOG"
  [ "$SECONDS" -lt "$deadline" ] || fail 52 "not ready after 2700 s, see $LOG"
  sleep 1
done

workload warmup warmup 1 --backend sglang --dataset-name random-ids --num-prompts 1 --max-concurrency 1 --random-input-len 1024 --random-output-len 64 --random-range-ratio 1.0 --seed 42 --warmup-requests 0 --tokenize-prompt --disable-tqdm
workload bs1 measure 1 --backend sglang --dataset-name random-ids --num-prompts 4 --max-concurrency 1 --random-input-len 1024 --random-output-len 1024 --random-range-ratio 1.0 --seed 42 --warmup-requests 0 --tokenize-prompt --disable-tqdm
ask GET /server_info >"$STEM.server_info.json" || fail 55 "the server does not answer /server_info"
