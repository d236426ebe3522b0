"""Scores estimated from releases of PRIVEE-U."""

import numpy as np

import privee
from tests._support.scores import softmax_rows


def test_inverse_is_close_to_the_exact_posterior_for_two_classes():
    """With K = 2 the posterior mean is a one-dimensional integral; ours may cost at most 3 % more in mean square."""
    defense = privee.PriveeU(rho=0.1)
    scores = softmax_rows(4000, 2, 1.0)
    release = defense.release(scores, draws=privee.seeded(2))
    low, high = privee.theory.reconstruction_interval(release, defense)
    low0, high0 = np.maximum(low[:, 0], 1 - high[:, 1]), np.minimum(high[:, 0], 1 - low[:, 1])
    grid = low0[:, None] + (high0 - low0)[:, None] * np.linspace(0, 1, 401)
    weight = 1 / (grid * (1 - grid))
    exact = (weight * grid).sum(axis=1) / weight.sum(axis=1)
    ours = defense.estimate_scores(release)[:, 0]
    best = np.square(exact - scores[:, 0]).mean()
    assert np.square(ours - scores[:, 0]).mean() <= 1.03 * best


def test_inverse_halves_the_error_of_dividing_by_the_middle_factor():
    for classes, spread in ((10, 3.0), (100, 3.0)):
        defense, scores = privee.PriveeU(rho=0.1), softmax_rows(500, classes, spread)
        release = defense.release(scores, draws=privee.seeded(3))
        public = defense.intervals(classes)
        middle = privee.theory.ambiguity.by_class((public.factor_low + public.factor_high) / 2, release)
        plain = np.abs((release + public.shift) / middle - scores).mean()
        assert np.abs(defense.estimate_scores(release) - scores).mean() < 0.75 * plain
