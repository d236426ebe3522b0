"""The inverse by simulation: what it gains on releases, whoever knows more gains more, and odd sizes."""

import numpy as np
import pytest

import privee
from privee.defenses import simulated_inverse
from privee.defenses.simulated_inverse import inverse_by
from privee.defenses.small_nets import synthetic_scores


def squared_errors(defense: privee.Defense, scores: np.ndarray) -> tuple[float, float]:
    """Of releases, and of what is read from them."""
    release = defense.release(scores, draws=privee.seeded(2))
    return tuple(float(np.square(x - scores).mean()) for x in (release, defense.estimate_scores(release)))


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 0.67), (16.0, 0.8), (64.0, 0.5), (256.0, 0.6)])
@pytest.mark.parametrize("spread", [3.0, 8.0])
def test_one_parameter_is_read_better_than_it_looks_where_scores_are_confident(epsilon, most, spread):
    naive, adaptive = squared_errors(privee.OneParameter(epsilon), synthetic_scores(300, 10, spread, privee.seeded(1)))
    assert adaptive < most * naive


@pytest.mark.parametrize("epsilon", [1.0, 16.0, 64.0])
def test_flat_scores_lose_nothing_by_it(epsilon):
    scores = np.random.default_rng(1).dirichlet([1.0] * 10, 500)
    naive, adaptive = squared_errors(privee.OneParameter(epsilon), scores)
    assert adaptive < 0.85 * naive


@pytest.mark.parametrize(("classes", "spread"), [(2, 8.0), (10, 8.0), (100, 8.0), (100, 1.0)])
def test_purifier_is_read_no_worse_than_it_looks(classes, spread):
    naive, adaptive = squared_errors(privee.Purifier(), synthetic_scores(300, classes, spread, privee.seeded(1)))
    assert adaptive < 1.02 * naive


def test_estimates_keep_the_order_of_a_release_that_keeps_the_order():
    defense = privee.OneParameter(4.0)
    release = defense.release(synthetic_scores(300, 10, 3.0, privee.seeded(1)))
    estimate = defense.estimate_scores(release)
    assert (np.diff(np.take_along_axis(estimate, release.argsort(axis=1), axis=1)) >= 0).all()
    assert np.allclose(estimate.sum(axis=1), 1)
    assert estimate.min() >= 0


def test_whoever_knows_other_scores_of_the_kind_reads_more():
    scores, others = (synthetic_scores(200, 10, 8.0, privee.seeded(seed)) for seed in (1, 2))
    defense = privee.OneParameter(16.0)
    release = defense.release(scores, draws=privee.seeded(3))
    read = defense.estimate_scores(release), inverse_by(defense, release, others)
    drawn, known = (np.square(x - scores).mean() for x in read)
    assert known < 0.8 * drawn


def test_the_rest_is_kept_where_draws_decide_little_and_left_out_where_they_decide_all():
    parts = {e: simulated_inverse._drawn_bank(privee.OneParameter(e), 10, (0.0, 8.0)).part for e in (1.0, 4000.0)}
    assert parts[1.0] < 0.5 < parts[4000.0]


def test_many_classes_and_single_rows():
    for classes in (1000, 30_000):
        scores = np.random.default_rng(0).dirichlet([1.0] * classes, 1)
        defense = privee.OneParameter(8.0)
        estimate = defense.estimate_scores(defense.release(scores[0]))
        assert estimate.shape == (classes,)
        assert estimate.sum() == pytest.approx(1)
