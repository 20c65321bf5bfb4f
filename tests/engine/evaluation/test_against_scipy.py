"""The statistics beside those of scipy and statsmodels, where these have the same.

The process that runs a test imports them; all others read this file too.
"""

import random

import numpy as np
import pytest

from gem.evaluation.comparison import power, sign_flips
from gem.evaluation.comparison.differences import difference, holm
from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.intervals import student_quantile, student_tail, wilson
from gem.evaluation.scores import student_t_interval


def drawn(seed: int, n: int, shift: float = 0.3) -> list[float]:
    draw = random.Random(seed)
    return [draw.expovariate(1) - 1 + shift for _ in range(n)]


@pytest.mark.parametrize(("seed", "n", "shift"), [(1, 12, 0.5), (2, 40, 0.3), (4, 90, 0.0)])
def test_sign_flips_are_those_of_a_permutation_test(seed: int, n: int, shift: float) -> None:
    from scipy import stats

    values = np.array(drawn(seed, n, shift))
    theirs = stats.permutation_test(
        (values,), lambda x, axis: x.mean(axis), permutation_type="samples", n_resamples=5_000, vectorized=True, rng=1
    ).pvalue
    assert sign_flips.p_value(list(values)) == pytest.approx(theirs, abs=4 * (theirs / 5_000) ** 0.5 + 0.002)


def test_the_bootstrap_is_scipys_bias_corrected_and_accelerated_one() -> None:
    from scipy import stats

    values = drawn(5, 80)
    ours = difference([SeedPair("e", i, value, 0.0) for i, value in enumerate(values)], "return", single=True)
    theirs = stats.bootstrap((np.array(values),), np.mean, n_resamples=20_000, method="BCa", rng=2).confidence_interval
    width = theirs.high - theirs.low
    assert ours.bootstrap is not None
    assert ours.bootstrap.low == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.bootstrap.high == pytest.approx(theirs.high, abs=0.03 * width)


def test_quantiles_and_tails_of_student() -> None:
    from scipy import stats

    for freedom in (1, 1.4, 2, 3.7, 9, 15, 29.9, 30, 49, 500):
        for z in (0.5, 1.959963984540054, 3.0, 4.5):
            theirs = stats.t.isf(stats.norm.sf(z), freedom)
            assert student_quantile(freedom, z) == pytest.approx(theirs, abs=0.0005)
            assert student_quantile(freedom, -z) == pytest.approx(-theirs, abs=0.0005)
        for t in (0.0, 0.1, 2.0, 50.0):
            assert student_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom))


@pytest.mark.parametrize("n", [2, 3, 10, 11, 15, 40])
def test_an_interval_over_a_few_values_is_students(n: int) -> None:
    from scipy import stats

    values = drawn(n, n)
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    assert student_t_interval(values)[1:] == pytest.approx(tuple(theirs))


def test_binomial_tests() -> None:
    from scipy import stats

    for won, n in ((3, 20), (10, 20), (0, 7), (400, 900)):
        assert sign_flips.binomial_p(won, n) == pytest.approx(stats.binomtest(won, n).pvalue)


def test_wilson_mcnemar_holm_and_power() -> None:
    from statsmodels.stats import contingency_tables as contingency
    from statsmodels.stats import multitest, proportion
    from statsmodels.stats import power as statsmodels_power

    assert wilson(45, 50)[1:] == pytest.approx(proportion.proportion_confint(45, 50, method="wilson"))
    assert sign_flips.binomial_p(4, 19) == pytest.approx(contingency.mcnemar([[20, 4], [15, 9]], exact=True).pvalue)
    p_values = [0.001, 0.2, 0.03, 0.04, 0.011]
    assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))
    for effect in (0.1, 0.3, 0.8):
        theirs = statsmodels_power.TTestPower().solve_power(effect_size=effect, alpha=0.05, power=0.8)
        assert power.seeds_needed(effect, 1.0) == pytest.approx(theirs, abs=1.5)
