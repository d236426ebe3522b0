"""Ordered-DP: one test per step of the proof in docs/ordered_dp.md, and what a release looks like."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee.defenses import discrete_laplace, ordered_dp
from privee.defenses.discrete_laplace import GRID, TOTAL, add_noise, weights
from privee.defenses.ordered_shape import noise_probabilities
from privee.theory.composition import composed_epsilon, epsilon_per_release
from tests._support.scores import softmax_rows

EPSILONS = [0.001, 0.1, 1.0, 8.0, 64.0, 5000.0]


def extremes(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Two score vectors with the same ranking, as far apart as can be."""
    sure, even = np.zeros(classes), np.full(classes, 1 / classes)
    sure[0] = 1.0
    return sure, even


# Step 1: the weights are a probability vector, and any positive ones give back falling scores.


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30).filter(lambda x: sum(x) > 0.01))
def test_weights_are_a_probability_vector_and_can_be_undone(values):
    falling = np.sort(np.array(values))[::-1] / sum(values)
    ranks = np.arange(1, len(falling) + 1)
    w = ranks * -np.diff(falling, append=0.0)
    assert (w >= -1e-15).all()
    assert w.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.cumsum((w / ranks)[::-1])[::-1], falling, atol=1e-12)


# Step 2: sensitivity, counted on the grid.


@pytest.mark.parametrize("classes", [2, 3, 10, 1000, 100_000])
@pytest.mark.parametrize("spend", ["top", "all"])
def test_no_two_inputs_are_further_apart_than_the_step_allows(monkeypatch, classes, spend):
    """All inputs that were tried, the extremes among them, captured just before the noise."""
    seen = []
    monkeypatch.setattr(ordered_dp, "add_noise", lambda values, step, draws: seen.append(values.copy()) or values)
    defense = privee.OrderedDP(4.0, spend=spend)
    tried = [*extremes(classes), *(softmax_rows(20, classes, spread) for spread in (0.01, 1.0, 9.0))]
    if classes <= 1000:
        tried += [np.r_[np.full(k, 1 / k), np.zeros(classes - k)] for k in (1, 2, classes // 2 or 1, classes)]
    for scores in tried:
        defense.release(scores)
    inputs = np.concatenate([values.reshape(-1, 1 if spend == "top" else classes) for values in seen])
    assert inputs.min() >= 0
    assert inputs.max() <= GRID
    furthest = max(np.abs(inputs - one).sum(axis=1).max() for one in inputs)
    assert furthest * defense.step(classes) <= 4.0
    assert furthest * defense.step(classes) > 3.8 * (1 if classes < 1000 or spend == "top" else 0.01)


# Step 3: the noise, in whole numbers.


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_weights_fall_no_faster_than_allowed_in_exact_arithmetic(epsilon):
    step = epsilon / GRID
    found, allowed = weights(step), Fraction(math.exp(step) * (1 + 1e-12))
    assert len(found) == GRID + 1
    assert min(found) >= 1
    assert TOTAL - (2 * sum(found) - found[0]) in {0, 1}
    tails = np.cumsum(np.array(found[::-1], dtype=object))[::-1]
    for one in (found[:-1], tails):  # the last weight is a tail, so it is judged as one
        assert all(Fraction(int(a), int(b)) <= allowed for a, b in pairwise(one))
        assert all(a >= b for a, b in pairwise(one))


def exact_probabilities(value: int, step: float) -> list[int]:
    """How many of the 2**64 words lead from a grid value to each outcome: the sampler's own thresholds, exactly."""
    edges = [0, *map(int, discrete_laplace._thresholds(step)), TOTAL]
    counts = [b - a for a, b in pairwise(edges)]
    outcomes = [0] * (GRID + 1)
    for noise, count in zip(range(-GRID, GRID + 1), counts, strict=True):
        outcomes[min(max(value + noise, 0), GRID)] += count
    return outcomes


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("pair", [(0, GRID), (GRID, 0), (409, GRID), (17, 1000), (2000, 2001)])
def test_the_mechanism_is_private_exactly(epsilon, pair):
    """Every outcome's probability, as a whole number of words, under two inputs: the ratio obeys the bound."""
    step = epsilon / GRID
    a, b = (exact_probabilities(value, step) for value in pair)
    assert sum(a) == sum(b) == TOTAL
    bound = Fraction(math.exp(min(step * abs(pair[0] - pair[1]), 600)) * (1 + 1e-12))
    assert all(0 < x <= bound * y for x, y in zip(a, b, strict=True))


def test_draws_follow_the_weights():
    """Chi-square over 40 groups of outcomes, a million draws; fails by chance once in a million."""
    step, start = 8.0 / GRID, 2500
    found = add_noise(np.full(1_000_000, start), step, privee.seeded(1))
    edges = np.linspace(0, GRID + 1, 41).astype(int)
    expected = np.add.reduceat(noise_probabilities(np.array([start]), step)[0], edges[:-1])
    observed = np.histogram(found, edges)[0]
    assert stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > 1e-6


# Step 4: everything after the noise is post-processing.


@pytest.mark.parametrize("options", [{}, {"prior": (5.0, 2.0)}, {"keep_top": 3}, {"tail": 0.0}])
def test_nothing_but_the_ranking_and_the_noisy_value_shows(options):
    """Two score vectors with one ranking and one grid value of the top score get the same release, to the last bit."""
    one = np.array([0.5001, 0.3, 0.1, 0.06, 0.0399])
    other = np.array([0.5002, 0.12495, 0.12494, 0.12493, 0.12498 - 0.00001])
    other[4] = 1 - other[:4].sum()
    other[1:] = np.sort(other[1:])[::-1]
    assert math.floor(one[0] * GRID) == math.floor(other[0] * GRID)
    assert (privee.ranking(one) == privee.ranking(other)).all()
    defense = privee.OrderedDP(4.0, **options)
    for seed in range(50):
        a, b = (defense.release(scores, draws=privee.seeded(seed)) for scores in (one, other))
        assert (a == b).all()


# Step 5: a distinguisher cannot beat the stated epsilon, and does beat a broken one.


def measured_epsilon(defense: privee.OrderedDP, classes: int, draws: int = 400_000) -> float:
    """A lower bound on epsilon that is too high with probability 1e-6 at most, over all thresholds of the top score.

    Clopper-Pearson bounds of both probabilities, each with error 1e-6 / (2 x number of events).
    """
    tops = [
        defense.release(np.tile(scores, (draws, 1)), draws=privee.seeded(3, k)).max(axis=1)
        for k, scores in enumerate(extremes(classes))
    ]
    edges = np.quantile(np.concatenate(tops), np.linspace(0.01, 0.99, 25))
    best, error = 0.0, 1e-6 / (2 * 100)
    for edge in np.unique(edges):
        for above in (True, False):
            counts = [int((top > edge).sum() if above else (top <= edge).sum()) for top in tops]
            for a, b in (counts, counts[::-1]):
                low = stats.beta.ppf(error, a, draws - a + 1) if a else 0.0
                high = stats.beta.ppf(1 - error, b + 1, draws - b)
                best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("classes", "spend"), [(2, "top"), (10, "top"), (4, "all")])
def test_measured_epsilon_never_exceeds_the_stated_one(epsilon, classes, spend):
    found = measured_epsilon(privee.OrderedDP(epsilon, spend=spend), classes)
    assert found <= epsilon
    if spend == "top":
        assert found > 0.8 * epsilon  # the test has teeth: the bound is nearly reached


def test_noise_made_too_small_is_noticed(monkeypatch):
    honest = privee.OrderedDP.step
    monkeypatch.setattr(privee.OrderedDP, "step", lambda self, classes: 2 * honest(self, classes))
    assert measured_epsilon(privee.OrderedDP(2.0), 10) > 2.0


# Step 6: towards epsilon 0 it is a ranking-only release.


def test_at_the_smallest_epsilon_scores_do_not_matter():
    """Two-sample Kolmogorov-Smirnov on the top score from opposite ends; chance of a false alarm 1e-6."""
    a, b = (
        privee.OrderedDP(0.001).release(np.tile(scores, (20_000, 1)), draws=privee.seeded(5, k)).max(axis=1)
        for k, scores in enumerate(extremes(10))
    )
    assert stats.ks_2samp(a, b).pvalue > 1e-6


# Step 7: composition.


def test_releases_add_up():
    assert composed_epsilon(0.5, 8) == 4.0
    assert composed_epsilon(0.5, 0) == 0.0
    assert composed_epsilon(0.05, 1000, delta=1e-6) < 0.3 * composed_epsilon(0.05, 1000)
    assert composed_epsilon(16.0, 10, delta=1e-6) == 160.0  # advanced composition is of no use at such settings
    assert epsilon_per_release(4.0, 8) == 0.5
    each = epsilon_per_release(4.0, 1000, delta=1e-6)
    assert composed_epsilon(each, 1000, delta=1e-6) == pytest.approx(4.0)
    assert each > 4.0 / 1000
    for bad in ((-1, 1, 0), (1, -1, 0), (1, 1, 1.0)):
        with pytest.raises(privee.SettingError):
            composed_epsilon(*bad)


def test_several_releases_together_are_found_within_their_sum():
    """The sum of three top scores tells two inputs apart better than one does, and never by more than 3 epsilon."""
    epsilon, count = 0.5, 300_000
    sums = [
        sum(
            privee.OrderedDP(epsilon).release(np.tile(s, (count, 1)), draws=privee.seeded(9, k, t)).max(axis=1)
            for t in range(3)
        )
        for k, s in enumerate(extremes(10))
    ]
    edge = 3 * (1 - 2e-6)
    a, b = ((s >= edge).mean() for s in sums)
    assert epsilon < math.log(a / b) <= 3 * epsilon + 0.05
