"""A watched log is judged line by line as the store judges it: clean windows, and unequal requests."""

from __future__ import annotations

import random

import pytest

from speclog.ingest.api import ingest_paths
from speclog.store import open_store
from speclog.watch.run import feed
from speclog.watch.state import Baseline, BaselineLine, State

SERVERS = 120
MIXED, EQUAL = 2.0, 1.0
"""Steps of the two kinds of batch, in ms: which one a window was held against shows what it was taken for."""


def server(number: int) -> list[str]:
    """A server's log: prefills that begin a batch or join it, decode lines between them, at random.

    Some speculate, some are a stage of a pipeline; tokens may come or go, and throughput may be none.
    """
    r = random.Random(number)
    rank, algorithm = r.choice(["", " DP1 TP1", " PP0 TP0"]), r.choice(["None", "'EAGLE'"])
    lines = [
        f"[2026-01-29 01:00:00] server_args=ServerArgs(model_path='m', tp_size=1, random_seed={number}, "
        f"speculative_algorithm={algorithm}, speculative_num_steps=3)"
    ]
    running = token = 0
    for place in range(r.randint(3, 14)):
        stamp = f"[2026-01-29 01:{place // 60:02d}:{place % 60:02d}{rank}]"
        if r.random() < 0.4:
            fresh, sequences, prompt = r.random() < 0.4, r.choice([1, 1, 2]), r.choice([100, 105, 300])
            running, token = (0, 0) if fresh else (running, token)
            lines.append(
                f"{stamp} Prefill batch, #new-seq: {sequences}, #new-token: {sequences * prompt - 10}, "
                f"#cached-token: 10, token usage: 0.00, #running-req: {running}, #queue-req: 0, "
            )
            running, token = running + sequences, token + sequences * prompt
            continue
        for _ in range(r.choice([1, 2, 2])):
            tau = 1.0 if algorithm == "None" else 2.5
            token += int(40 * tau * running) + r.choice([0, 0, 0, 0, 700, -300])
            accept = f"accept len: {tau:.2f}, " if tau > 1 else ""
            speed = r.choice([100, 100, 100, 0])
            lines.append(
                f"{stamp} Decode batch, #running-req: {running}, #token: {max(token, 0)}, token usage: 0.01, "
                f"{accept}cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: 0, "
            )
    return lines


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str | None, bool]]]:
    """(excluded, mixed) of every decode line of every server."""
    folder = tmp_path_factory.mktemp("stored")
    target = str(folder / "s.duckdb")
    (folder / "a.log").write_text("".join(f"{line}\n" for n in range(SERVERS) for line in server(n)))
    ingest_paths([folder / "a.log"], store_target=target)
    sql = """
        SELECT s.value, w.excluded, w.mixed FROM decode_window AS w
        JOIN server_arg AS s ON s.run_id = w.run_id AND s.name = 'random_seed' ORDER BY w.line_no
    """
    found: list[list[tuple[str | None, bool]]] = [[] for _ in range(SERVERS)]
    with open_store(target) as store:
        for number, why, mixed in store.rows(sql):
            found[int(number)].append((why, mixed))
    return found


def lines_of(step_ms: float, *, mixed: bool) -> BaselineLine:
    return BaselineLine("b", step_ms, 0.0, -1e9, 1e9, mixed=mixed)


def test_every_window_is_taken_for_what_the_store_takes_it_for(
    stored: list[list[tuple[str | None, bool]]],
) -> None:
    both = [lines_of(EQUAL, mixed=False), lines_of(MIXED, mixed=True)]
    taken: list[tuple[bool, int]] = []
    for number in range(SERVERS):
        state = State(Baseline(dict.fromkeys(range(40), both)))
        feed(state, server(number))
        assert [w.left_out for w in state.windows] == [why for why, _ in stored[number]], number
        for window, (why, mixed) in zip(state.windows, stored[number], strict=True):
            if why is None:
                assert window.round_ms is not None
                assert window.tau_star is not None
                step = window.round_ms / window.tau_star
                assert step == pytest.approx(MIXED if mixed else EQUAL), number
                taken.append((mixed, window.batch_size))
    assert {(mixed, size > 1) for mixed, size in taken} == {(False, False), (False, True), (True, True)}
    assert len(taken) > 50
