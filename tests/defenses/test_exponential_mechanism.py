"""The exponential mechanism in whole numbers: one test per thing its users' proofs take from it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import privee
from privee.defenses.exponential_mechanism import (
    ROUNDING,
    TOTAL,
    falling_weights,
    largest_loss,
    losses,
    share_of,
    step_for,
)

STEPS = [1e-7, 1e-4, 0.002, 0.05, 1.0, 30.0]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("length", [2, 50, 4097])
def test_weights_fall_no_faster_than_allowed_in_exact_arithmetic(step, length):
    found = [int(weight) for weight in falling_weights(step, length)]
    allowed = Fraction(math.exp(step) * (1 + 1e-12))
    assert len(found) == length
    assert min(found) >= 1
    assert 2 * sum(found) < TOTAL
    assert all(a >= b and Fraction(a, b) <= allowed for a, b in itertools.pairwise(found))


def test_weights_use_the_room_there_is_and_follow_the_exponential():
    found = falling_weights(0.01, 500)
    assert 2 * found.sum() > 0.99 * TOTAL
    np.testing.assert_allclose(found / found[0], np.exp(-0.01 * np.arange(500)), rtol=2e-3)


@pytest.mark.parametrize("total", [1, 2, 3, 1000, 2**31 + 11, TOTAL - 1])
def test_a_word_becomes_its_share_of_the_total_without_overflow(total):
    ends = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], dtype=np.uint64)
    words = np.concatenate([ends, privee.seeded(1).words(1000)])
    found = share_of(words, np.full(len(words), total, dtype=np.uint64))
    assert [int(x) for x in found] == [int(word) * total >> 64 for word in words]


def test_every_outcome_has_its_share_of_words_but_for_the_rounding_that_is_charged():
    """Words with outcome r number ceil(2^64 below(r + 1) / Z) - ceil(2^64 below(r) / Z): off by less than one."""
    weights = [int(w) for w in falling_weights(0.3, 60)]
    total, below = sum(weights), 0
    for weight in weights:
        words = -(-(below + weight) * 2**64 // total) + (-below * 2**64 // total)
        off = abs(Fraction(words * total, weight * 2**64) - 1)
        assert 4 * off < ROUNDING  # twice in a ratio, and its logarithm
        below += weight


def by_hand(table: np.ndarray, classes: int) -> float:
    """The largest sum of losses over all pairs of vectors, tried one by one (a tiny grid)."""
    grid = len(table) - 1
    vectors = [v for v in itertools.product(range(grid + 1), repeat=classes) if sum(v) <= grid]
    return max(sum(table[x, y] for x, y in zip(a, b, strict=True)) for a in vectors for b in vectors)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_loss_is_never_below_the_true_one_and_near_it(classes, seed):
    chances = np.random.default_rng(seed).dirichlet([1.0] * 4, 7)
    table = losses(chances)
    true, found = by_hand(table, classes), largest_loss(table, classes)
    assert true <= found
    assert found <= 1.5 * true  # fractions of pairs are allowed in the bound


def test_losses_are_the_largest_log_ratios():
    chances = np.array([[0.5, 0.5], [0.9, 0.1]])
    np.testing.assert_allclose(losses(chances), [[0, math.log(5)], [math.log(1.8), 0]])


def test_the_step_found_is_the_largest_that_stays_within_epsilon():
    found = step_for(2.0, lambda step: step**2, 10.0)
    assert found**2 <= 2.0
    assert found == pytest.approx(math.sqrt(2), rel=1e-5)


def test_shares_of_words_are_drawn_as_often_as_they_should():
    """Chi-square over 12 outcomes, 200,000 draws; fails by chance in one of a million runs (and the seed is fixed)."""
    weights = falling_weights(0.4, 12)
    below = np.cumsum(weights)
    drawn = below.searchsorted(share_of(privee.seeded(3).words(200_000), np.uint64(below[-1])), side="right")
    expected = weights / below[-1] * 200_000
    assert stats.chisquare(np.bincount(drawn, minlength=12), expected).pvalue > 1e-6
