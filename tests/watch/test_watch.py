"""Following a log: rotation, truncation, half lines, margins, hostile text, and the screen's size."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from speclog.watch.follow import Follower
from speclog.watch.plain import event_line
from speclog.watch.run import feed
from speclog.watch.screen import screen, sparkline
from speclog.watch.state import Baseline, BaselineLine, State
from speclog.watch.verdict import verdict

ARGS = "[2026-11-29 12:00:00] server_args=ServerArgs(model_path='m', speculative_algorithm='EAGLE3', speculative_num_steps=5, speculative_num_draft_tokens=6, decode_log_interval=40)"  # fmt: skip  # noqa: E501
PREFILL = "[2026-11-29 12:00:01] Prefill batch, #new-seq: 1, #new-token: 128, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, "  # noqa: E501

BASE = Baseline({1: [BaselineLine("base", 10.0, 0.001, 500, 2000)]})
PLAIN = ARGS.replace("'EAGLE3'", "None")


def decode(second: int, *, size: int = 1, token: int = 1000, tau: float = 2.0, speed: float = 100.0) -> str:
    return (
        f"[2026-11-29 12:00:{second:02d}] Decode batch, #running-req: {size}, #token: {token}, "
        "token usage: 0.01, "
        f"accept len: {tau:.2f}, accept rate: 0.20, cuda graph: True, "
        f"gen throughput (token/s): {speed:.2f}, #queue-req: 0, "
    )


def test_only_whole_lines_and_every_line_once(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    follower = Follower(log)
    assert follower.poll() == []
    with log.open("w") as handle:
        handle.write("one\ntw")
        handle.flush()
        assert follower.poll() == ["one"]
        handle.write("o\nthree\r\n")
        handle.flush()
        assert follower.poll() == ["two", "three"]
    assert follower.poll() == []
    follower.close()


def test_rotation_loses_nothing(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_text("a\n")
    follower = Follower(log)
    assert follower.poll() == ["a"]
    with log.open("a") as handle:
        handle.write("b\n")
    log.rename(tmp_path / "s.log.1")
    assert follower.poll() == ["b"]  # the old file is still held while there is no new one
    log.write_text("c\n")
    assert follower.poll() == ["c"]
    assert follower.rotations == 1
    follower.close()


def test_a_truncated_log_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_text("a long first line\nanother\n")
    follower = Follower(log)
    follower.poll()
    log.write_text("new\n")
    assert follower.poll() == ["new"]
    follower.close()


def test_bytes_that_are_no_text_do_not_stop_it(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_bytes(b"\xff\xfe\x00\n" + b"x" * 3_000_000 + b"\nlast\n")
    follower = Follower(log)
    lines = follower.poll()
    assert lines[-1] == "last"
    assert max(map(len, lines)) <= 2 << 20
    follower.close()


def test_margin_is_the_formula_and_only_where_the_baseline_was_measured() -> None:
    state = State(Baseline({1: [BaselineLine("base", 10.0, 0.001, 500, 1000)]}))
    feed(state, [ARGS, PREFILL, decode(1), decode(2), decode(3), decode(4, token=1080)])
    first, second, third, far = state.windows
    assert first.left_out == "first"
    assert second.left_out is None
    assert second.round_ms == pytest.approx(20.0)  # 1 * 2.0 / 100 * 1000
    assert second.context == pytest.approx(960)  # 1000 - 40 * 2 / 2
    assert third.tau_star == pytest.approx(20.0 / 10.96)
    assert third.margin_tokens == pytest.approx(2.0 - 20.0 / 10.96)
    assert (far.left_out, far.margin_tokens) == (
        None,
        None,
    )  # at 1,040 tokens nothing was measured


def test_windows_with_a_prefill_or_another_batch_size_do_not_count() -> None:
    state = State()
    feed(state, [ARGS, decode(1), decode(2), PREFILL, decode(3), decode(4, size=2, token=2000)])
    assert [window.left_out for window in state.windows] == ["first", None, "prefill", "batch changed"]


def test_fewer_tokens_are_another_batch_also_without_a_prefill() -> None:
    """A decode server of a disaggregated pair prints no prefill: a shorter request took the place of one."""
    state = State()
    feed(state, [ARGS, *(decode(second, token=token) for second, token in enumerate((900, 980, 400, 480)))])
    assert [window.left_out for window in state.windows] == ["first", None, "batch changed", None]


def test_a_new_server_forgets_the_old_windows() -> None:
    state = State()
    feed(state, [ARGS, decode(1), decode(2), ARGS])
    assert not state.windows
    assert state.treatment == "EAGLE3 5 steps, 6 draft tokens"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 24), (200, 50)])
def test_the_screen_fits(width: int, height: int) -> None:
    from rich.console import Console

    state = State(replace(BASE, about="b" * 300))
    feed(state, [ARGS, *(decode(i % 60, speed=90 + i % 7) for i in range(100))])
    state.events.extend((None, "retract", "x" * 500) for _ in range(50))
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    console.print(screen(state, "speclog watch " + "l" * 300, width=width, height=height))
    lines = out.getvalue().splitlines()
    assert len(lines) <= height
    assert max(len(line) for line in lines) <= width
    assert any("~ break-even" in line for line in lines)  # 2 tokens against rounds of 1.9 to 2.0 steps


@pytest.mark.parametrize(
    ("margins", "tau_stars", "unfair", "says"),
    [
        ([], [], False, "unknown"),
        ([0.25, 0.2, 0.3, 0.22], [1.9] * 4, False, "+0.23 few windows"),
        ([0.25, 0.2, 0.3, 0.22] * 3, [1.9] * 12, False, "+0.23 above break-even"),
        ([-0.25, -0.2, -0.3, -0.22] * 3, [1.9] * 12, False, "-0.23 BELOW break-even"),
        ([0.02, 0.03, 0.02, 0.03] * 3, [1.9] * 12, False, "+0.03 ~ break-even"),  # two starts differ by more
        ([0.9, -0.8, 0.9, -0.7, 0.9, -0.9, 0.5] * 2, [1.9] * 14, False, "+0.50 ~ break-even"),  # its scatter
        ([0.3 - 0.02 * i for i in range(12)], [1.9] * 12, False, "+0.19 ~ break-even"),  # it drifts
        ([0.25] * 8, [1.9] * 8, True, "+0.25 unfair"),
        ([1.6] * 9, [0.45] * 9, False, "impossible (0.45 of a step)"),
        ([1.6] * 9, [0.45] * 9, True, "impossible (0.45 of a step)"),
    ],
)
def test_a_live_verdict_is_no_bolder_than_a_report(margins, tau_stars, unfair, says) -> None:
    assert verdict(margins, tau_stars, unfair=unfair) == says


@pytest.mark.parametrize("n", [8, 20])
@pytest.mark.parametrize("repeats", [0.0, 0.4, 0.8])
def test_windows_that_repeat_each_other_do_not_tell_which_side_of_break_even(n: int, repeats: float) -> None:
    """Real windows have a first autocorrelation of 0.3 to 0.9; here the truth is break-even.

    Eight windows that repeat each other by 0.8 are worth one, and cannot show that they do.
    """
    drawn = np.random.default_rng(n).normal(0, 0.1, (600, n))
    for place in range(1, n):
        drawn[:, place] = repeats * drawn[:, place - 1] + (1 - repeats**2) ** 0.5 * drawn[:, place]
    told = [verdict(margins, [2.0] * n, unfair=False) for margins in drawn.tolist()]
    assert sum("~" not in one for one in told) <= 600 * (0.1 if n == 8 else 0.06)


def test_windows_meet_only_lines_of_their_kind() -> None:
    """Without CUDA graphs a step takes several times as long: the unlike do not meet."""
    lines = [BaselineLine("b", 10.0, 0.0, 500, 2000), BaselineLine("b", 40.0, 0.0, 500, 2000, eager=True)]
    state = State(Baseline({1: lines}))
    feed(state, [ARGS, decode(1), decode(2), decode(3).replace("cuda graph: True", "cuda graph: False")])
    assert [window.tau_star for window in state.windows] == [None, pytest.approx(2.0), pytest.approx(0.5)]
    only = State(Baseline({1: lines[1:]}))
    feed(only, [ARGS, decode(1), decode(2)])
    assert only.windows[-1].margin_tokens is None


def test_batches_of_unequal_requests_are_a_kind_of_their_own() -> None:
    lines = [BaselineLine("b", 10.0, 0.0, 100, 2000), BaselineLine("b", 20.0, 0.0, 100, 2000, mixed=True)]
    state = State(Baseline({2: lines}))
    longer = PREFILL.replace("#new-token: 128", "#new-token: 900").replace(
        "#running-req: 0", "#running-req: 1"
    )
    same = PREFILL.replace("#running-req: 0", "#running-req: 1")
    two = [decode(second, size=2, token=2000 + second, speed=200.0) for second in range(6)]
    feed(
        state,
        [ARGS, PREFILL, same, two[0], two[1], PREFILL, longer, two[2], two[3], PREFILL, two[4], same, two[5]],
    )
    assert [w.left_out for w in state.windows] == ["first", None, "prefill", None, "prefill", "prefill"]
    assert [w.tau_star for w in state.windows][1] == pytest.approx(2.0)
    assert [w.tau_star for w in state.windows][3] == pytest.approx(1.0)


def test_a_server_without_speculation_has_no_margin() -> None:
    """What can be said of it is how its steps compare: 1.41 where the tuning was lost."""
    state, told = State(BASE), []
    plain = [decode(i, speed=71.0).replace("accept len: 2.00, accept rate: 0.20, ", "") for i in range(3)]
    feed(state, [PLAIN, *plain], told.append)
    assert state.windows[-1].margin_tokens is None
    assert told[-1].endswith("round 14.08 ms 1.28 of the baseline's step")  # 14.08 / (10 + 0.001 * 980)
    out = io.StringIO()
    from rich.console import Console

    Console(file=out, width=80).print(screen(state, "t"))
    assert "of baseline's step" in out.getvalue() and "break-even" not in out.getvalue()


def test_warm_up_does_not_count() -> None:
    begin = 'SPECLOG_WORKLOAD v=1 {"event": "begin", "step": "warmup", "kind": "warmup", "batch_size": 1}'
    end, measured = begin.replace("begin", "end"), begin.replace('"warmup"', '"measure"')
    state = State()
    feed(state, [ARGS, begin, decode(1), decode(2), end, measured, decode(3), decode(4)])
    assert [window.left_out for window in state.windows] == ["warmup", "warmup", None, None]


def test_a_speculative_line_without_its_accept_length_does_not_count() -> None:
    state = State(BASE)
    bare = decode(2).replace("accept len: 2.00, accept rate: 0.20, ", "")
    feed(state, [ARGS, decode(1), bare, bare])
    assert [window.left_out for window in state.windows] == ["first", "no accept length", "no accept length"]


def test_accept_lengths_that_count_the_bonus_twice_are_corrected() -> None:
    state = State()
    feed(state, [ARGS.replace("model_path='m'", "model_path='m', enable_beta_spec=True"), decode(1, tau=3.0)])
    assert state.windows[-1].tau == 2.0


def test_of_vllm_it_says_why_there_is_no_margin(tmp_path: Path) -> None:
    line = (
        "(APIServer pid=1) INFO 08-01 23:30:00 [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 "
        "tokens/s, Avg generation throughput: 12.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%"
    )
    (tmp_path / "v.log").write_text(line + "\n")
    done = _run("watch", "v.log", "--once", cwd=tmp_path)
    assert done.stderr.startswith("no margin: vLLM prints no context lengths")


def test_hostile_text_moves_no_cursor() -> None:
    state = State()
    state.events.append((None, "traceback", "\x1b[2Jboo\u202e\x07"))
    assert "\x1b" not in event_line(state.events[-1])
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=False)
    console.print(screen(state, "[red]x[/red]\x1b[2J"))
    assert "\x1b" not in out.getvalue()
    assert "[red]x[/red]" in out.getvalue()


def test_sparkline_scales_and_leaves_gaps() -> None:
    assert sparkline([1, None, 2, 3], 10) == "▁ ▅█"
    assert sparkline([], 10) == ""
    assert sparkline([5, 5], 10) == "▄▄"


def _run(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "speclog", *args]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_without_a_terminal_it_prints_plain_lines_and_makes_no_store(tmp_path: Path) -> None:
    (tmp_path / "s.log").write_text("\n".join([ARGS, decode(1), decode(2)]) + "\n")
    done = _run("watch", "s.log", "--once", cwd=tmp_path)
    assert done.returncode == 0
    assert "12:00:02 b=1 100.0 tok/s tau 2.00 round 20.00 ms" in done.stdout
    assert "no margin" in done.stderr
    assert not (tmp_path / "speclog.duckdb").exists()


@pytest.fixture(scope="module")
def stored(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three plain runs of one model; the newest ran without CUDA graphs."""
    folder = tmp_path_factory.mktemp("watch")
    logs = [str(shared / f"logs/h200-llama8b/{name}.log") for name in ("base", "base-nograph")]
    late = folder / "base-nograph-late.log"
    late.write_text(Path(logs[1]).read_text().replace("2026-11-29 15:", "2026-11-29 19:"))
    done = _run("ingest", logs[0], str(late), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_fairest_baseline_is_taken_not_the_newest(stored: Path, shared: Path) -> None:
    """Against steps without graphs a round was 0.45 of a step: a margin of +1.6 that nothing supports."""
    done = _run("watch", str(shared / "logs/h200-llama8b/eagle3-s5-a2.1.log"), "--once", cwd=stored)
    assert (
        "margin against base (batch 1, 8); no difference in arguments; unproven: this log and the"
        in done.stderr
    )
    told = [
        float(line.split("tau* ")[1][:4])
        for line in done.stdout.splitlines()
        if "b=1 " in line and "tau*" in line
    ]
    assert min(told) > 1.45 and max(told) < 1.65  # 1.48 to 1.60 between 200 and 600 tokens


@pytest.mark.slow
def test_a_named_baseline_that_is_unlike_is_said_to_be(stored: Path, shared: Path) -> None:
    log = str(shared / "logs/h200-llama8b/eagle3-s5-a2.1.log")
    done = _run("watch", log, "--once", "--vs", "base-nograph-late", cwd=stored)
    assert "unfair: cuda_graph_config, disable_cuda_graph differ" in done.stderr
    assert "margin" not in done.stdout  # windows with graphs meet no line without


@pytest.mark.slow
def test_a_lost_variable_is_seen_in_the_manifests(stored: Path, shared: Path, tmp_path: Path) -> None:
    def launched(name: str, env: str) -> Path:
        manifest = (
            f'SPECLOG_MANIFEST v=1 {{"session":"{name}","env":{{{env}}},"env_prefixes":["NCCL_","HF_"]}}\n'
        )
        log = tmp_path / f"{name}.log"
        text = (shared / "logs/h200-llama8b" / f"{name.split('-')[0]}.log").read_text()
        log.write_text(manifest + text)
        return log

    tuned = launched("base-tuned", '"NCCL_PROTO":"LL","HF_HOME":"/a"')
    again = launched("base-again", '"HF_HOME":"/b"')
    new = launched("base-new", '"NCCL_PROTO":"LL","NCCL_P2P_DISABLE":"1"')
    assert _run("ingest", str(tuned), cwd=tmp_path).returncode == 0
    done = _run("watch", str(again), "--once", cwd=tmp_path)
    assert "margin against base-tuned (batch 1, 8); unfair: env.NCCL_PROTO differs" in done.stderr
    assert "1.00 of the baseline's step unfair" in done.stdout
    done = _run("watch", str(new), "--once", cwd=tmp_path)
    assert "unfair: env.NCCL_P2P_DISABLE differs" in done.stderr  # which no stored run ever had
    same = launched("base-same", '"NCCL_PROTO":"LL","HF_HOME":"/c"')
    done = _run("watch", str(same), "--once", cwd=tmp_path)
    assert "no difference in arguments and environment; `speclog check`" in done.stderr
    later = tmp_path / "later.log"  # no manifest: that nothing differs is not known of it
    later.write_text((shared / "logs/h200-llama8b/base.log").read_text().replace("2026-11-29", "2026-11-30"))
    assert _run("ingest", str(later), cwd=tmp_path).returncode == 0
    done = _run("watch", str(same), "--once", cwd=tmp_path)
    assert "margin against base-tuned" in done.stderr
    done = _run("watch", str(same), "--once", cwd=stored)  # whose runs are plain logs
    assert "no difference in arguments; unproven: the baseline without a record" in done.stderr


def test_a_long_log_is_introduced_by_its_last_server(tmp_path: Path) -> None:
    """Of a log of which only the end is read: the server that writes now, not the one that wrote first."""
    from speclog.watch import run

    log = tmp_path / "s.log"
    idle = "[2026-11-29 12:00:00] nothing to see here, and nothing to read either, for a long while\n"
    with log.open("w") as handle:
        handle.write(PLAIN + "\n" + idle * 60_000)
        handle.write('SPECLOG_MANIFEST v=1 {"session":"x"}\n' + ARGS + "\n" + idle * 110_000)
    assert log.stat().st_size > run.HISTORY_BYTES + 4_000_000
    state = State()
    run.look_back(state, log)
    assert state.treatment == "EAGLE3 5 steps, 6 draft tokens"


def test_a_profile_is_its_newest_log_and_no_other_profiles(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "now"
    folder.mkdir(parents=True)
    names = ("mine.r1", "mine+tuned.r2", "mine-too.r1", "not-mine.r1", "mine2.r1")
    for age, name in enumerate(names):
        (folder / f"{name}.log").write_text(
            f"[2026-11-29 12:00:00] The server is fired up and ready to roll! {name}\n"
        )
        os.utime(folder / f"{name}.log", (1000 + age, 1000 + age))
    done = _run("watch", "mine", "--once", cwd=tmp_path)
    assert done.stderr.splitlines()[0] == f"watching {Path('logs/now/mine+tuned.r2.log')}"
    (tmp_path / "launch").mkdir()
    (tmp_path / "launch" / "fresh.toml").write_text('about = "mine"\n')
    none = _run("watch", "fresh", cwd=tmp_path)
    assert none.returncode == 3 and "this launch profile has no log under logs/ yet" in none.stderr


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "speclog", "watch", "later.log", "--interval", "0.1"]
    watcher = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watcher.stderr is not None and watcher.stdout is not None
    assert watcher.stderr.readline() == "waiting for later.log\n"
    (tmp_path / "later.log").write_text("\n".join([ARGS, decode(1)]) + "\n")
    assert watcher.stderr.readline().startswith("no margin: ")
    assert watcher.stdout.readline().startswith("12:00:01 b=1 100.0 tok/s")
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(timeout=20) == 130
    watcher.stdout.close()
    watcher.stderr.close()


def test_a_store_that_was_busy_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest held it when the server started: the margin comes once it is free."""
    from speclog.watch import run

    monkeypatch.setattr(run, "AGAIN_S", 0.0)
    log, told, noted = tmp_path / "s.log", list[str](), list[str]()
    log.write_text("\n".join([ARGS, decode(1), decode(2)]) + "\n")
    busy, free = Baseline({}, "no margin: busy", again=True), replace(BASE, about="margin against base")
    answers = [busy, busy, free]
    state = State(choose=lambda server: answers.pop(0))

    def note(text: str) -> None:
        noted.append(text)
        if text == free.about:
            with log.open("a") as handle:
                handle.write(decode(3) + "\n")

    def tell(text: str) -> None:
        told.append(text)
        if "margin" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.watch_plain(log, state, tell, note, interval_s=0.01)
    assert noted == ["no margin: busy", "margin against base"]
    assert [("margin" in text) for text in told] == [False, False, True]
    assert not answers


def test_a_name_that_is_neither_file_nor_profile_is_one_line(tmp_path: Path) -> None:
    done = _run("watch", "nosuch", cwd=tmp_path)
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1
