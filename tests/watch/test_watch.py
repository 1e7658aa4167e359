"""Following a log: rotation, truncation, half lines, margins, hostile text, and the screen's size."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from speclog.watch.follow import Follower
from speclog.watch.plain import event_line
from speclog.watch.run import feed
from speclog.watch.screen import screen, sparkline
from speclog.watch.state import BaselineLine, State

ARGS = "[2026-11-29 12:00:00] server_args=ServerArgs(model_path='m', speculative_algorithm='EAGLE3', speculative_num_steps=5, speculative_num_draft_tokens=6, decode_log_interval=40)"  # fmt: skip  # noqa: E501
PREFILL = "[2026-11-29 12:00:01] Prefill batch, #new-seq: 1, #new-token: 128, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, "  # noqa: E501


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
    state = State({1: BaselineLine("base", 10.0, 0.001, 500, 2000)})
    feed(state, [ARGS, PREFILL, decode(1), decode(2), decode(3), decode(4, token=9000)])
    first, second, third, far = state.windows
    assert first.left_out == "first"
    assert second.left_out is None
    assert second.round_ms == pytest.approx(20.0)  # 1 * 2.0 / 100 * 1000
    assert second.context == pytest.approx(960)  # 1000 - 40 * 2 / 2
    assert third.tau_star == pytest.approx(20.0 / 10.96)
    assert third.margin_tokens == pytest.approx(2.0 - 20.0 / 10.96)
    assert far.margin_tokens is None  # 8,960 tokens: beyond what the baseline measured


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

    state = State({1: BaselineLine("base", 10.0, 0.001, 500, 2000)}, about="b" * 300)
    feed(state, [ARGS, *(decode(i % 60, speed=90 + i % 7) for i in range(100))])
    state.events.extend((None, "retract", "x" * 500) for _ in range(50))
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    console.print(screen(state, "speclog watch " + "l" * 300, width=width, height=height))
    lines = out.getvalue().splitlines()
    assert len(lines) <= height
    assert max(len(line) for line in lines) <= width
    assert any("above break-even" in line for line in lines)


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


def test_a_name_that_is_neither_file_nor_profile_is_one_line(tmp_path: Path) -> None:
    done = _run("watch", "nosuch", cwd=tmp_path)
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1
