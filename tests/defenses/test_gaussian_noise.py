"""Gaussian noise: its scale against diffprivlib, and what it assumes."""

import numpy as np
import pytest
from scipy import stats

import privee
from privee.defenses.gaussian_noise import true_epsilon


@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), [(0.5, 1e-5, 0.1), (0.7, 1e-5, 0.1), (1.0, 1e-6, 1.4)])
def test_gaussian_scale_agrees_with_diffprivlib(epsilon, delta, sensitivity):
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    theirs = mechanisms.Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    assert privee.GaussianNoise(epsilon, delta, sensitivity).scale == pytest.approx(theirs._scale, rel=1e-12)


def test_gaussian_true_epsilon_agrees_with_diffprivlib():
    """Their analytic mechanism finds the scale for an epsilon; ours finds the epsilon for that scale."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    for epsilon in (0.1, 1.0, 5.0):
        theirs = mechanisms.GaussianAnalytic(epsilon=epsilon, delta=1e-5, sensitivity=0.1)
        assert true_epsilon(theirs._scale, 1e-5, 0.1) == pytest.approx(epsilon, rel=1e-6)


def test_gaussian_says_that_its_sensitivity_is_an_assumption():
    guarantee = privee.GaussianNoise(0.5).guarantee(10)
    assert "assumed" in guarantee.assumptions[0]
    assert guarantee.figures["epsilon_any_two_score_vectors"] > 6


def test_gaussian_noise_has_the_stated_scale():
    defense = privee.GaussianNoise(0.7)
    noise = defense.release(np.full((20_000, 4), 0.25)) - 0.25
    assert stats.kstest(noise.ravel(), "norm", args=(0, defense.scale)).pvalue > 1e-6
