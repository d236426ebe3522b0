"""Which scores a release may stand for: theorems 2 and 3."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privee
from privee import theory
from tests._support.scores import softmax_rows

U = privee.PriveeU(rho=0.3)
PLUS = privee.PriveeUPlus(rho_low=0.1, rho_high=0.6)
BOTH = pytest.mark.parametrize("defense", [U, privee.PriveeU(rho=0.1, draw_range=3.0), PLUS], ids=lambda d: d.spec)
SCORES = np.array([0.05, 0.5, 0.15, 0.3])


@BOTH
def test_theorem_2_interval_holds_the_scores(defense):
    scores = softmax_rows(200, 8, 1.0)
    low, high = theory.reconstruction_interval(defense.release(scores), defense)
    slack = 1e-15
    assert (low - slack <= scores).all()
    assert (scores <= high + slack).all()
    widest = (defense.intervals(8).factor_high / defense.intervals(8).factor_low).max()
    assert (high / low <= widest * (1 + 1e-9)).all()
    one = theory.reconstruction_interval(defense.release(scores[0]), defense)
    assert one[0].shape == (8,)


def test_theorem_2_identity_needs_no_shift():
    defense = privee.PriveeU(rho=0.3, transform="identity")
    low, high = theory.reconstruction_interval(defense.release(SCORES), defense)
    assert ((low <= SCORES) & (high >= SCORES)).all()


@given(
    st.integers(2, 12), st.integers(0, 200), st.sampled_from([U, PLUS, privee.PriveeU(rho=0.2, transform="identity")])
)
def test_theorem_3_other_scores_give_the_same_release(classes, seed, defense):
    scores = softmax_rows(1, classes, 1.0, seed)[0]
    release = defense.release(scores, draws=privee.seeded(seed))
    found = theory.other_scores(scores, release, defense)
    public = defense.intervals(classes)
    sigma, low = (theory.ambiguity.by_class(x, scores) for x in (public.sigma, public.low))
    assert np.abs(found.scores - scores).sum() == pytest.approx(found.radius)
    assert found.radius > 0
    assert found.scores.sum() == pytest.approx(scores.sum())
    assert (privee.ranking(found.scores) == privee.ranking(scores)).all()
    assert (found.draws >= low - 1e-9).all()
    assert (found.draws <= low + public.width + 1e-9).all()
    assert found.scores * (1 + sigma * found.draws) - public.shift == pytest.approx(release, abs=1e-14)


def test_theorem_3_printed_radius_can_change_the_ranking():
    """Two near-equal scores with roomy intervals: a shift inside the printed radius swaps them."""
    defense, scores = privee.PriveeU(rho=0.1), np.array([0.4001, 0.4, 0.1999])
    u = np.array([5 / 6, 1 / 2, 1 / 6])
    release = scores * (1 + 4.8 * u) - 2 / 3
    radius = theory.printed_radius(scores, release, defense, gains=1, loses=0)
    shifted = scores + 0.9 * radius * np.array([-1, 1, 0])
    assert radius > 0.01
    assert privee.ranking(shifted).tolist() != privee.ranking(scores).tolist()
    ours = theory.other_scores(scores, release, defense)
    assert privee.ranking(ours.scores).tolist() == privee.ranking(scores).tolist()


def test_theorem_3_needs_room():
    with pytest.raises(privee.PriveeError, match="no room to move"):
        theory.other_scores([1.0, 0.0], U.release([1.0, 0.0]), U)


def test_worked_example_of_the_paper():
    defense = privee.PriveeU(rho=0.48)  # sigma = 1
    scores = np.array([0.2, 0.8])
    releases = scores * (1 + np.array([[0.4, 0.9], [0.1, 0.7], [0.3, 0.8]])) - 1
    estimate = theory.minimum_estimate(releases, defense)
    assert estimate == pytest.approx([0.22, 0.9067], abs=1e-4)
    assert np.abs(estimate - scores).mean() == pytest.approx(0.0633, abs=5e-5)
    expected = theory.expected_error(theory.rate(scores, defense), queries=3)
    assert expected == pytest.approx([0.025, 0.0667], abs=5e-5)
    assert expected.mean() == pytest.approx(0.0458, abs=5e-5)
