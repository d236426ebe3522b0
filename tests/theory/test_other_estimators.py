"""The remarks of the appendix: the mean of releases, and the whole vector at once.

Randomised checks use seeded draws: 20,000 repetitions, so a share is within 4 standard errors (at most 0.0142) of its
law but for one seed in 16,000.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from privee.defenses import PriveeU, PriveeUPlus
from privee.errors import SettingError
from privee.randomness import seeded
from privee.theory import (
    expected_error,
    expected_largest_error,
    hardest_error,
    hit_probability,
    minimum_estimate,
    rate,
    sample_mean_error,
    sample_mean_estimate,
    sample_mean_hit_probability,
    sample_mean_miss_bound,
    vector_hit_probability,
)

SCORES = np.array([0.55, 0.25, 0.15, 0.05])
DEFENSES = (PriveeU(rho=0.1), PriveeU(rho=0.5, transform="identity"), PriveeUPlus(rho_low=0.1, rho_high=0.9))
REPEATS = 20_000


def asked(defense, queries, what):
    rows = np.tile(SCORES, (REPEATS * queries, 1))
    return defense.release(rows, draws=seeded(0, what, defense.spec)).reshape(REPEATS, queries, -1)


@pytest.mark.parametrize("defense", DEFENSES, ids=lambda d: d.spec)
@pytest.mark.parametrize("queries", [1, 3, 40])
def test_the_mean_errs_by_its_law(defense, queries):
    releases = asked(defense, queries, "mean")
    errors = np.array([sample_mean_estimate(some, defense) for some in releases[:200]]) - SCORES
    fast = releases.mean(axis=1)  # the estimator is linear: its mean over queries is what counts
    scale = (sample_mean_estimate(releases[0], defense) - sample_mean_estimate(releases[1], defense)) / (
        fast[0] - fast[1]
    )
    every = errors[0] + (fast - fast[0]) * scale
    np.testing.assert_allclose(every[:200], errors, atol=1e-9)
    kappa = rate(SCORES, defense, "midrange")
    rms = np.sqrt((every**2).mean(axis=0))
    np.testing.assert_allclose(rms, sample_mean_error(kappa, queries=queries), rtol=0.03)
    tolerance = float(sample_mean_error(kappa, queries=queries)[0])
    share = (np.abs(every) < tolerance).mean(axis=0)
    np.testing.assert_allclose(
        share, sample_mean_hit_probability(kappa, tolerance=tolerance, queries=queries), atol=0.0142
    )
    assert (1 - share <= sample_mean_miss_bound(kappa, tolerance=tolerance, queries=queries)).all()


def test_the_mean_converges_with_the_root_and_the_minimum_does_not():
    kappa, slow = rate(SCORES, DEFENSES[0]), rate(SCORES, DEFENSES[0], "midrange")
    assert sample_mean_error(slow, queries=400)[0] == pytest.approx(sample_mean_error(slow, queries=100)[0] / 2)
    assert expected_error(kappa, queries=399)[0] == pytest.approx(expected_error(kappa, queries=99)[0] / 4)


def test_the_law_of_the_mean_meets_the_normal_one_where_it_takes_over():
    reach = np.linspace(0.01, 1.0, 100)
    exact = np.array([float(sample_mean_hit_probability(1.0, tolerance=t, queries=16)) for t in reach])
    normal = np.array([math.erf(t * math.sqrt(1.5 * 16)) for t in reach])
    assert np.abs(exact - normal).max() < 0.0036  # which is what the module says
    assert (np.diff(exact) >= 0).all()
    assert float(sample_mean_hit_probability(1.0, tolerance=0.2, queries=17)) > exact[19]  # one query more
    assert exact[-1] == pytest.approx(1.0)
    with pytest.raises(SettingError, match="tolerance must be above 0"):
        sample_mean_hit_probability(1.0, tolerance=0.0, queries=3)


@pytest.mark.parametrize("defense", DEFENSES, ids=lambda d: d.spec)
@pytest.mark.parametrize("queries", [1, 5, 50])
def test_the_whole_vector_is_found_by_its_law(defense, queries):
    kappa = rate(SCORES, defense)
    releases = asked(defense, queries, "vector").min(axis=1)
    first = np.array([minimum_estimate(some[None], defense) for some in releases[:4000]]) - SCORES
    largest = first.max(axis=1)
    tolerance = float(np.quantile(largest, 0.6))
    law = float(vector_hit_probability(kappa, tolerance=tolerance, queries=queries))
    assert (largest < tolerance).mean() == pytest.approx(law, abs=0.032)  # 4 standard errors of 4,000
    half = 4 * largest.std() / np.sqrt(len(largest))
    assert expected_largest_error(kappa, queries=queries) == pytest.approx(largest.mean(), abs=half)


def test_the_hardest_class_sets_the_pace():
    """Between the hardest class alone and the sum of all: it falls as 1/T too."""
    kappa = rate(SCORES, DEFENSES[0])
    for queries in (1, 10, 100, 1000):
        found = expected_largest_error(kappa, queries=queries)
        assert hardest_error(kappa, queries=queries) < found < float(expected_error(kappa, queries=queries).sum())
    ratio = expected_largest_error(kappa, queries=999) / expected_largest_error(kappa, queries=9_999)
    assert ratio == pytest.approx(10, rel=0.01)
    one = float(vector_hit_probability(kappa[:1], tolerance=0.01, queries=3))
    assert one == pytest.approx(float(hit_probability(kappa[0], tolerance=0.01, queries=3)))
    assert expected_largest_error([np.inf], queries=3) == 0.0  # a score of zero is known at once
