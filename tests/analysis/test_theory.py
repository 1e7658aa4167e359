"""Formulas without logs, against published and computed numbers (sources in docs/validation.md)."""

import pytest

from speclog.analysis import golden, moe, theory

KIMI = [1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77]


def test_published_speedups_give_their_break_even() -> None:
    assert round(theory.break_even_from(1.86, 0.718), 2) == 2.59
    assert round(theory.break_even_from(3.20, 0.798), 2) == 4.01
    with pytest.raises(ValueError, match="positive"):
        theory.break_even_from(2.0, 0.0)


def test_survival_of_the_published_kimi_curve() -> None:
    assert [round(value, 2) for value in theory.survival(KIMI)] == [
        0.83,
        0.60,
        0.45,
        0.36,
        0.22,
        0.16,
        0.09,
        0.06,
    ]
    assert theory.accept_length(theory.survival(KIMI)) == pytest.approx(3.77)


def test_independent_acceptance_over_predicts_deep_drafts() -> None:
    assert theory.iid_accept_length(0.83, 8) / 3.77 == pytest.approx(1.27, abs=0.005)
    alpha = theory.acceptance_for(2.88, 3)
    assert alpha == pytest.approx(0.784, abs=5e-4)
    assert theory.iid_accept_length(alpha or 0, 8) / 3.77 == pytest.approx(1.09, abs=0.005)
    assert theory.iid_accept_length(1.0, 3) == 4


def test_what_no_acceptance_reaches_is_said() -> None:
    assert theory.acceptance_for(4.2, 3) is None
    assert theory.draft_factor([0.5, 0.2, 0.1], 4.2) is None
    assert theory.draft_factor([0.5, 0.0, 0.0], 2.5) is None  # a dead step stays dead


def test_how_much_better_the_draft_must_become() -> None:
    survivals = [0.6, 0.3, 0.12]  # conditional 0.6, 0.5, 0.4
    factor = theory.draft_factor(survivals, 2.5)
    assert factor is not None
    chained = 0.6 * factor
    second = chained * min(1, 0.5 * factor)
    assert 1 + chained + second + second * min(1, 0.4 * factor) == pytest.approx(2.5, abs=1e-6)
    assert theory.draft_factor(survivals, 2.02) == pytest.approx(1.0, abs=1e-6)
    assert theory.draft_factor(survivals, 1.9) < 1  # it could be worse
    assert theory.draft_factor(survivals, 0.9) == 0


def test_what_is_asked_of_every_position() -> None:
    from speclog.analysis.draft import needed

    found = needed(2.02, 2.5, 3, [0.6, 0.3, 0.12])
    assert found is not None
    assert (found.basis, found.possible) == ("measured", True)
    assert 1 + sum(found.needed or ()) == pytest.approx(2.5, abs=1e-6)
    # A histogram of other windows than those of tau: the same relative gain is asked of it.
    shifted = needed(2.12, 2.5 * 2.12 / 2.02, 3, [0.6, 0.3, 0.12])
    assert shifted is not None
    assert shifted.factor == pytest.approx(found.factor, rel=1e-9)
    alike = needed(2.0, 1.5, 3)
    assert alike is not None
    assert (alike.basis, alike.factor and alike.factor < 1) == ("alike", True)
    assert 1 + sum(alike.now) == pytest.approx(2.0)
    beyond = needed(2.0, 4.5, 3)
    assert beyond is not None
    assert not beyond.possible
    assert needed(4.5, 2.0, 3) is None  # no three steps accept that much


def test_marginal_rule() -> None:
    assert theory.step_pays(0.3, 7.0, 7.3, 2.0)  # 0.3/0.3 > 2/7
    assert not theory.step_pays(0.05, 7.0, 7.3, 2.0)
    assert theory.step_pays(0.01, 7.0, 7.0, 2.0)
    assert not theory.step_pays(0.0, 7.0, 7.0, 2.0)


@pytest.mark.parametrize(
    ("total", "batch_size", "ratio"),
    [(384, 1, 3.88), (384, 16, 2.59), (160, 8, 2.40), (128, 4, 2.83), (128, 64, 1.02)],
)
def test_distinct_experts(total: int, batch_size: int, ratio: float) -> None:
    experts = moe.Experts(total, 8)
    four, one = (moe.distinct_experts(experts, batch_size * tokens) for tokens in (4, 1))
    assert four / one == pytest.approx(ratio, abs=0.005)


def test_nothing_accepted_is_an_acceptance_of_nothing() -> None:
    assert theory.acceptance_for(1.0, 5) == 0
    assert theory.acceptance_for(0.98, 5) == 0


def test_verify_is_one_step_only_if_its_whole_interval_is() -> None:
    assert "about one step" in moe.reading(1.05, 2.9, 1.03, 1.07)
    assert moe.reading(1.05, 2.9, 0.8, 1.3) == "routing alone could explain it"
    assert "more than routing" in moe.reading(1.3, 1.02, 1.2, 1.4)


def test_experts_from_facts_and_their_reading() -> None:
    assert moe.experts_of({"model.n_routed_experts": "384", "model.num_experts_per_tok": "8"}) == moe.Experts(
        384, 8
    )
    assert moe.experts_of({"model.num_experts": "8"}) is None
    assert moe.experts_of({"model.n_routed_experts": "x", "model.num_experts_per_tok": "8"}) is None
    table = moe.overlay(
        moe.Experts(384, 8), {size: {"verify_ratio": x} for size, x in ((1, 1.05), (8, 4.0), (16, 2.0))}, 4
    )
    assert table["routing_ratio"].to_list() == pytest.approx([3.88, 3.16, 2.59], abs=0.005)
    assert [text.split(":")[0] for text in table["reading"]] == [
        "verify costs about one step",
        "more than routing can explain",
        "routing alone could explain it",
    ]


def test_golden_curves_flag_a_broken_draft() -> None:
    assert all(curve.source and curve.accept_length[0] < 2 for curve in golden.curves())
    healthy = golden.judge("moonshotai/Kimi-K2.5", 3, 2.6)
    assert [found.flag for found in healthy] == [None]
    assert golden.judge("/models/kimi-k2.5-int4", 3, 1.3)[0].flag == "broken draft"
    assert golden.judge("/models/kimi-k2.5-int4", 3, 3.9)[0].flag == "too good"
    assert golden.judge("meta-llama/Llama-3.1-8B", 3, 1.3) == []
    assert golden.judge("kimi-k2.5", 9, 3.0) == []
