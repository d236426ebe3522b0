"""What repeated queries tell: theorem 4 and corollary 2; statistical tests state their error rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee import theory

U = privee.PriveeU(rho=0.3)
PLUS = privee.PriveeUPlus(rho_low=0.1, rho_high=0.6)
BOTH = pytest.mark.parametrize("defense", [U, privee.PriveeU(rho=0.1, draw_range=3.0), PLUS], ids=lambda d: d.spec)
SCORES = np.array([0.05, 0.5, 0.15, 0.3])
CHANCE = 1e-6


def test_rate_is_the_printed_kappa():
    sigma, low = 0.48 / 0.3, np.array([0, 0.75, 0.25, 0.5])
    assert theory.rate(SCORES, U) == pytest.approx(4 * (1 + sigma * low) / (SCORES * sigma))
    assert theory.rate(np.tile(SCORES, (2, 1)), U).shape == (2, 4)
    with pytest.raises(privee.SettingError, match="minimum or midrange"):
        theory.rate(SCORES, U, "mean")


def errors(defense, estimator, queries: int, runs: int) -> np.ndarray:
    """Errors of an estimator in `runs` simulated attacks of T queries each, by class."""
    releases = defense.release(np.tile(SCORES, (runs * queries, 1)), draws=privee.seeded(queries))
    return np.stack([estimator(group, defense) - SCORES for group in releases.reshape(runs, queries, 4)])


ESTIMATORS = {"minimum": theory.minimum_estimate, "midrange": theory.midrange_estimate}


@BOTH
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("queries", [1, 5, 50])
def test_theorem_4_law_of_the_error(defense, name, queries):
    """The whole distribution, by Kolmogorov-Smirnov per class; each fails by chance with probability 1e-6."""
    found = errors(defense, ESTIMATORS[name], queries, 2000)
    if name == "minimum":
        assert (found >= -1e-12).all()
    kappa = theory.rate(SCORES, defense, name)
    for j in range(4):
        law = stats.kstest(
            np.abs(found[:, j]), lambda d, k=kappa[j]: theory.hit_probability(k * d, tolerance=1.0, queries=queries)
        )
        assert law.pvalue > CHANCE


@BOTH
@pytest.mark.parametrize("name", ESTIMATORS)
def test_expected_error(defense, name):
    """Five standard errors per class: chance below 1e-5 for the whole test."""
    found = np.abs(errors(defense, ESTIMATORS[name], 10, 4000))
    expected = theory.expected_error(theory.rate(SCORES, defense, name), queries=10)
    assert (np.abs(found.mean(axis=0) - expected) < 5 * found.std(axis=0) / np.sqrt(len(found))).all()


def test_midrange_needs_about_half_the_queries():
    ratio = theory.rate(SCORES, U, "midrange") / theory.rate(SCORES, U, "minimum")
    assert (ratio > 2).all()
    at_most = {"minimum": 0, "midrange": 0}
    for name in at_most:
        at_most[name] = theory.query_budget(theory.rate(SCORES, U, name), tolerance=0.001, probability=0.5)[1]
    assert at_most["midrange"] <= at_most["minimum"] / 2


@given(st.floats(1e-3, 1e4), st.floats(1e-6, 0.5), st.floats(0.01, 0.99))
def test_corollary_2_budget_is_the_largest_that_keeps_the_promise(kappa, tolerance, probability):
    budget = int(theory.query_budget(kappa, tolerance=tolerance, probability=probability))
    assert theory.hit_probability(kappa, tolerance=tolerance, queries=budget) <= probability * (1 + 1e-9)
    assert theory.hit_probability(kappa, tolerance=tolerance, queries=budget + 1) > probability * (1 - 1e-9)


def test_corollary_2_exact_cases_and_smallest():
    assert theory.query_budget(0.5, tolerance=1.0, probability=0.875) == 3
    assert theory.query_budget(5.0, tolerance=1.0, probability=0.9) == 0
    with pytest.raises(privee.SettingError, match="tolerance must be above 0"):
        theory.query_budget(1.0, tolerance=0, probability=0.5)
    budgets = theory.query_budget(theory.rate(SCORES, U), tolerance=1e-4, probability=0.5)
    smallest = theory.smallest_budget(SCORES, U, tolerance=1e-4, probability=0.5)
    assert smallest == budgets.min() == budgets[0]
    assert theory.smallest_budget([1.0, 0.0], U, tolerance=1e-4, probability=0.5) == 0


def test_relative_rate_needs_no_scores():
    by_rank = theory.relative_rate(PLUS, 4)
    assert theory.rate(SCORES, PLUS) * SCORES == pytest.approx(theory.ambiguity.by_class(by_rank, SCORES))
