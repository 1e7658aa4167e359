"""Levels and break-even as the database computes them."""

from collections.abc import Callable
from typing import Any

import pytest
from made_up import ROUNDS, frames, window, with_starts

from speclog.store import Store

Make = Callable[..., Store]
CONTEXTS = [200 + 20 * step for step in range(20)]


def line(
    a: float, c: float, contexts: list[int], tau: float = 1.0, batch_size: int = 1
) -> list[dict[str, Any]]:
    return with_starts([window(batch_size, x, a + c * x, tau) for x in contexts])


def one(store: Store, sql: str) -> dict[str, Any]:
    names, rows = store.result(sql)
    assert len(rows) == 1, rows
    return dict(zip(names, rows[0], strict=True))


def test_level_recovers_the_line_and_counts_what_was_dropped(new_store: Make) -> None:
    store = new_store(frames("base", line(4.0, 0.001, CONTEXTS), speculative=False))
    level = one(store, "SELECT * FROM level")
    assert level["fit_a_ms"] == pytest.approx(4.0, abs=1e-6)
    assert level["fit_c_ms_per_token"] == pytest.approx(0.001, abs=1e-8)
    assert (level["n_windows"], level["n_clean"]) == (21, 20)
    assert level["usable_pct"] == pytest.approx(100 * 20 / 21)
    assert (level["first_line"], level["last_line"]) == (102, 121)
    assert (level["context_min"], level["context_max"]) == (200 - ROUNDS / 2, 580 + ROUNDS / 2)


def test_a_few_slow_windows_do_not_bend_the_line(new_store: Make) -> None:
    rows = line(4.0, 0.001, CONTEXTS)
    for place in (3, 17):
        rows[place]["gen_tok_s"] /= 3
    store = new_store(frames("base", rows, speculative=False))
    level = one(store, "SELECT * FROM level")
    assert level["fit_a_ms"] == pytest.approx(4.0, abs=0.01)
    assert (level["n_clean"], level["n_fit"]) == (20, 18)


def test_without_spread_of_context_the_slope_is_zero(new_store: Make) -> None:
    store = new_store(frames("base", line(5.0, 0.0, [300] * 6), speculative=False))
    level = one(store, "SELECT * FROM level")
    assert (level["fit_a_ms"], level["fit_c_ms_per_token"]) == (pytest.approx(5.0), 0)


def test_dp_ranks_add_up_in_throughput_not_in_round_time(new_store: Make) -> None:
    rows = line(5.0, 0.0, CONTEXTS, batch_size=4)
    both = [row | {"dp_rank": rank} for row in rows for rank in (0, 1)]
    store = new_store(frames("base", both, speculative=False))
    level = one(store, "SELECT * FROM level")
    assert level["dp_ranks"] == 2
    assert level["round_ms"] == pytest.approx(5.0)
    assert level["tok_s"] == pytest.approx(2 * 4 * 1000 / 5.0)


def test_the_naive_ratio_is_of_equal_ranks(new_store: Make) -> None:
    """Of the candidate one rank ran batch 4, of the baseline both: 2 * 4 / 6 a rank, not half of it."""
    plain = line(4.0, 0.0, CONTEXTS, batch_size=4)
    spec = with_starts([window(4, x, 6.0, 2.0) for x in CONTEXTS])
    store = new_store(
        frames("base", [row | {"dp_rank": rank} for row in plain for rank in (0, 1)], speculative=False),
        frames("spec", spec, speculative=True),
    )
    sql = "SELECT naive_speedup, speedup FROM level_pair WHERE candidate_name = 'spec'"
    ((naive, speedup),) = store.rows(sql)
    assert naive == pytest.approx(2 * 4 / 6)
    assert speedup == pytest.approx(2 * 4 / 6)


@pytest.mark.parametrize("rank", ["pp_rank", "tp_rank"])
def test_ranks_that_print_the_same_step_count_once(new_store: Make, rank: str) -> None:
    contexts = [200 + ROUNDS * step for step in range(20)]
    rows = [row | {rank: number} for row in line(5.0, 0.0, contexts) for number in (0, 1)]
    level = one(new_store(frames("base", rows, speculative=False)), "SELECT * FROM level")
    assert level["n_clean"] <= 20
    assert level["tok_s"] == pytest.approx(200.0)


def test_windows_without_graph_are_never_averaged_in(new_store: Make) -> None:
    rows = line(5.0, 0.0, CONTEXTS)
    for row in rows[1:9]:
        row["graph"] = False
        row["gen_tok_s"] /= 4
    level = one(new_store(frames("base", rows, speculative=False)), "SELECT * FROM level")
    assert (level["graph_off"], level["parts"], level["n_part"]) == (8, 2, 12)
    assert level["fit_a_ms"] == pytest.approx(5.0)


def test_a_long_prompt_among_short_ones_is_a_part_of_its_own(new_store: Make) -> None:
    rows = line(4.0, 0.001, CONTEXTS) + line(40.0, 0.001, [4100, 4140, 4180])
    level = one(new_store(frames("base", rows, speculative=False)), "SELECT * FROM level")
    assert (level["parts"], level["n_clean"], level["n_part"]) == (2, 23, 20)
    assert level["fit_a_ms"] == pytest.approx(4.0, abs=1e-6)
    assert level["context_max"] < 700


def test_break_even_at_equal_context(new_store: Make) -> None:
    # The candidate sees longer contexts: at equal context it needs 6.0 + 0.002 L against 4.0 + 0.001 L.
    store = new_store(
        frames("base", line(4.0, 0.001, [200, 240, 280, 320, 360, 400]), speculative=False),
        frames("spec", line(6.0, 0.002, [300, 340, 380, 420, 460, 500], 2.0), speculative=True),
    )
    row = one(store, "SELECT * FROM break_even")
    assert (row["context_from"], row["context_to"]) == (260, 420)
    assert row["context"] == 340
    assert row["t_spec_ms"] == pytest.approx(6.68)
    assert row["t_base_ms"] == pytest.approx(4.34)
    assert row["tau_star"] == pytest.approx(6.68 / 4.34)
    assert row["speedup"] == pytest.approx(2 * 4.34 / 6.68)
    assert row["margin_pct"] == pytest.approx(100 * (2 * 4.34 / 6.68 - 1))
    assert row["margin_tokens"] == pytest.approx(2 - 6.68 / 4.34)
    assert row["margin_ms"] == pytest.approx(2 * 4.34 - 6.68)
    assert row["naive_speedup"] == pytest.approx((2 / 6.80) / (1 / 4.30), rel=1e-3)
    assert (row["candidate_lines"], row["baseline_lines"]) == ("spec.log:102-107", "base.log:102-107")
    assert row["refused"] is None


@pytest.mark.parametrize(
    ("base", "spec", "reason"),
    [
        (line(4, 0, [200, 240]), line(6, 0, [900, 940], 2.0), "no common context"),
        (line(4, 0, [200, 240], batch_size=4), line(6, 0, [200, 240], 2.0), r"at batch size 1 \(it has 4\)"),
        (line(4, 0, [200]), line(6, 0, [200, 240], 2.0), "one clean window of the baseline"),
        (line(4, 0, [200, 240]), line(6, 0, [200], 2.0), "one clean window of the candidate"),
        (line(4, 0, [200])[:1], line(6, 0, [200, 240], 2.0), "no clean window at all"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(
    new_store: Make, base: list[dict[str, Any]], spec: list[dict[str, Any]], reason: str
) -> None:
    store = new_store(frames("base", base, speculative=False), frames("spec", spec, speculative=True))
    row = one(store, "SELECT * FROM level_pair WHERE candidate_name = 'spec'")
    assert (row["tau_star"], row["speedup"], row["margin_ms"]) == (None, None, None)
    with pytest.raises(ValueError, match=reason):
        raise ValueError(row["refused"])


def test_engines_are_not_mixed(new_store: Make) -> None:
    store = new_store(
        frames("base", line(4, 0, [200, 240]), speculative=False, engine="vllm"),
        frames("spec", line(6, 0, [200, 240], 2.0), speculative=True),
    )
    assert store.rows("SELECT * FROM level_pair") == []


def test_two_speculative_runs_are_compared_by_level_pair(new_store: Make) -> None:
    store = new_store(
        frames("five", line(7.5, 0, CONTEXTS, 2.5), speculative=True),
        frames("two", line(6.0, 0, CONTEXTS, 2.0), speculative=True),
    )
    row = one(store, "SELECT * FROM level_pair WHERE candidate_name = 'two'")
    assert row["speedup"] == pytest.approx((2.0 / 6.0) / (2.5 / 7.5))
    assert row["tau_star"] == pytest.approx(2.0)
