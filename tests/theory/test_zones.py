"""What rankings tell of differences between logits, and no more."""

import numpy as np
import pytest
from scipy.optimize import linprog

from privee import theory
from privee.scores import ranking


def told(z: np.ndarray, own: np.ndarray, shown: int | None = None) -> theory.HalfSpaces:
    return theory.half_spaces(ranking(z + own)[:shown], own)


def test_a_ranking_is_a_chain_and_a_label_a_star():
    chain = theory.half_spaces([2, 0, 1, 3], [0.0, 1.0, -2.0, 0.5])
    assert [chain.above.tolist(), chain.below.tolist()] == [[2, 0, 1], [0, 1, 3]]
    assert chain.level.tolist() == [2.0, 1.0, -0.5]
    star = theory.half_spaces([2], [0.0, 1.0, -2.0, 0.5])
    assert [star.above.tolist(), star.below.tolist()] == [[2, 2, 2], [0, 1, 3]]
    assert star.level.tolist() == [2.0, 3.0, 2.5]
    two = theory.half_spaces([3, 1], np.zeros(4))
    assert [two.above.tolist(), two.below.tolist()] == [[3, 1, 1], [1, 0, 2]]


@pytest.mark.parametrize("shown", [None, 1, 2])
def test_every_pair_of_an_answer_follows_from_its_half_spaces(shown):
    """K - 1 half-spaces, and a point is in all of them exactly if it gives the same answer."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        z, own, other = rng.normal(size=(3, 5))
        one = told(z, own, shown)
        assert len(one.level) == 4
        bounds = theory.difference_bounds([one], 5)
        assert theory.contains(bounds, z, slack=1e-12)
        same = ranking(other + own)[:shown].tolist() == ranking(z + own)[:shown].tolist()
        assert theory.contains(bounds, other, slack=1e-12) == same


@pytest.mark.parametrize("shown", [None, 1])
def test_bounds_are_the_tightest_that_follow(shown):
    """A linear program over all half-spaces finds no better bound for any pair."""
    rng = np.random.default_rng(2)
    z, asked = rng.normal(size=4), rng.normal(size=(6, 4))
    answers = [told(z, own, shown) for own in asked]
    bounds = theory.difference_bounds(answers, 4)
    rows = np.concatenate([np.eye(4)[one.below] - np.eye(4)[one.above] for one in answers])
    level = -np.concatenate([one.level for one in answers])
    for i in range(4):
        for j in range(4):
            found = linprog(np.eye(4)[i] - np.eye(4)[j], A_ub=rows, b_ub=level, bounds=[(None, None)] * 4)
            best = found.fun if found.success else -np.inf
            assert bounds[i, j] == pytest.approx(best, abs=1e-9)


def test_the_zone_only_shrinks_and_keeps_the_truth():
    rng = np.random.default_rng(3)
    z = rng.normal(size=6)
    answers, last = [], np.full((6, 6), -np.inf)
    for own in rng.normal(size=(40, 6)):
        answers.append(told(z, own))
        bounds = theory.difference_bounds(answers, 6)
        assert (bounds >= last).all()
        assert theory.contains(bounds, z, slack=1e-12)
        last = bounds
    assert (-last.T - last).max() < 1.5
    assert not theory.contains(last, z + 2 * np.eye(6)[0])
    assert theory.contains(last, z + 7, slack=1e-12)  # what is added to all classes never shows
