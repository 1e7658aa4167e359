import pytest

from speclog.launch import student


# Two-sided 95 % and 99 % points of Student's t, from any printed table.
@pytest.mark.parametrize(
    ("level", "freedom", "t"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 4, 2.776),
        (0.95, 10, 2.228),
        (0.95, 120, 1.980),
        (0.99, 5, 4.032),
    ],
)
def test_quantiles_are_those_of_the_table(level, freedom, t):
    assert student.quantile(level, freedom) == pytest.approx(t, abs=5e-4)


def test_interval_of_a_mean():
    low, high = student.interval([10.0, 12.0, 14.0])
    assert (low + high) / 2 == pytest.approx(12.0)
    assert (high - low) / 2 == pytest.approx(4.3027 * 2 / 3**0.5, rel=1e-4)
    assert student.interval([1.0]) is None


def test_welch():
    # by hand: means 20.1667 and 26.4, variances 2.5667 and 1.3, 8.84 degrees of freedom, t = 2.268
    low, high = student.difference([20.0, 22.0, 19.0, 20.0, 22.0, 18.0], [28.0, 26.0, 27.0, 25.0, 26.0])
    assert (low, high) == (pytest.approx(-8.114, abs=5e-3), pytest.approx(-4.352, abs=5e-3))
    assert student.difference([1.0], [1.0, 2.0]) is None
