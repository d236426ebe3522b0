"""Reverse sigmoid: the function, what it breaks, and what can be had back."""

import numpy as np
import pytest

import privee
from privee.defenses.folded_scores import mean_by_totals
from privee.defenses.inverse import CONCENTRATIONS
from privee.defenses.reverse_sigmoid import _choices, _curve, _posterior_mean, perturbed
from privee.defenses.small_nets import synthetic_scores
from privee.theory import rows_in_order


def test_the_function_is_the_published_one():
    p = np.array([0.001, 0.2, 0.5, 0.9])
    sigmoid = 1 / (1 + np.exp(-0.1 * np.log(p / (1 - p))))
    np.testing.assert_allclose(perturbed(p, 1.0, 0.1), p - (sigmoid - 0.5), atol=1e-12)
    release = privee.ReverseSigmoid().release([0.7, 0.2, 0.1])
    made = perturbed(np.array([0.7, 0.2, 0.1]), 1.0, 0.1)
    np.testing.assert_allclose(release, made / made.sum(), atol=1e-12)


def test_its_branches_meet_where_it_turns():
    falling, rising, end = _curve(privee.ReverseSigmoid())
    assert rising.scores[0] == pytest.approx(0.0248, abs=1e-3)
    assert rising.scores[-1] == pytest.approx(1 - rising.scores[0])
    for branch in (falling, rising, end):
        assert (np.diff(branch.values) >= 0).all()
        np.testing.assert_allclose(perturbed(branch.scores, 1.0, 0.1), branch.values, atol=1e-12)


@pytest.mark.parametrize(("classes", "ranking", "top"), [(10, 0.13, 1.0), (100, 0.0, 0.0)])
def test_how_often_ranking_and_class_are_kept_on_flat_scores(classes, ranking, top):
    """Published as run elsewhere: the ranking in 13 % of rows at ten classes, the class in none at a hundred."""
    scores = np.random.default_rng(0).dirichlet([1.0] * classes, 4000)
    release = privee.ReverseSigmoid().release(scores)
    assert rows_in_order(scores, release).mean() == pytest.approx(ranking, abs=0.02)
    assert (release.argmax(axis=1) == scores.argmax(axis=1)).mean() == pytest.approx(top, abs=0.01)


def test_middling_scores_are_had_back_exactly():
    """Where all scores lie on the rising branch and no other choice fits, the inverse is exact."""
    scores = np.random.default_rng(0).dirichlet([200.0] * 5, 50)
    defense = privee.ReverseSigmoid()
    estimate = defense.estimate_scores(defense.release(scores))
    assert np.median(np.abs(estimate - scores).sum(axis=1)) < 1e-3


def test_a_middling_score_is_not_read_as_a_sure_one():
    """Released near where a sure model's would be, but not there: there are no draws that could have moved it."""
    defense, scores = privee.ReverseSigmoid(), np.array([[0.3756, 0.6244]])
    np.testing.assert_allclose(defense.estimate_scores(defense.release(scores)), scores, atol=0.02)
    sure = defense.release(np.array([[0.0, 1.0]]))
    assert defense.estimate_scores(sure)[0, 1] > 0.99


@pytest.mark.parametrize(("classes", "most"), [(2, 0.65), (3, 0.4), (7, 0.2)])
def test_the_inverse_gains_on_flat_scores_of_few_classes(classes, most):
    scores = np.random.default_rng(0).dirichlet([1.0] * classes, 1000)
    defense = privee.ReverseSigmoid()
    release = defense.release(scores)
    assert np.square(defense.estimate_scores(release) - scores).mean() < most * np.square(release - scores).mean()


def test_a_few_classes_on_the_rising_branch_are_found_among_some_more():
    scores = synthetic_scores(150, 20, 8.0, privee.seeded(1))
    defense = privee.ReverseSigmoid()
    release = defense.release(scores)
    assert np.abs(defense.estimate_scores(release) - scores).sum(axis=1).mean() < 0.2
    assert np.abs(release - scores).sum(axis=1).mean() > 1.5


@pytest.mark.parametrize("spread", [3.0, 8.0])
@pytest.mark.parametrize("classes", [3, 10])
def test_the_inverse_gains_on_the_release_for_confident_models_too(classes, spread):
    scores = synthetic_scores(200, classes, spread, privee.seeded(1))
    defense = privee.ReverseSigmoid()
    release = defense.release(scores)
    naive, adaptive = (np.square(x - scores).mean() for x in (release, defense.estimate_scores(release)))
    assert adaptive < 0.6 * naive


def kinds(classes):
    """Score vectors, flat ones to those of models that are sure."""
    rng = np.random.default_rng(classes)
    flat = {f"dirichlet {c}": np.maximum(rng.dirichlet([c] * classes, 120), 1e-12) for c in (1.0, 0.3)}
    return flat | {f"spread {s}": synthetic_scores(120, classes, s, privee.seeded(1)) for s in (1.0, 3.0, 8.0)}


@pytest.mark.parametrize("classes", [10, 20, 33, 50, 100])
def test_with_many_classes_the_inverse_is_better_than_the_release_and_than_no_release(classes):
    """On flat scores the release itself tells little; on all others the inverse must tell much."""
    defense = privee.ReverseSigmoid()
    for kind, scores in kinds(classes).items():
        release = defense.release(scores)
        read, unread, unknown = (
            np.square(x - scores).mean() for x in (defense.estimate_scores(release), release, 1 / classes)
        )
        most = 0.5 if kind in ("spread 3.0", "spread 8.0") else 1.05
        assert read < most * unread, kind
        assert read < 1.05 * unknown, kind


@pytest.mark.parametrize(("classes", "most"), [(7, 0.7), (8, 0.95)])
def test_a_steep_sigmoid_is_read_too(classes, most):
    """There a choice fits at several totals, of which the search finds one."""
    defense = privee.ReverseSigmoid(gamma=0.5)
    for kind, scores in kinds(classes).items():
        release = defense.release(scores)
        read, unread = (np.square(x - scores).mean() for x in (defense.estimate_scores(release), release))
        assert read < most * unread, kind


def test_the_mean_over_all_choices_is_that_of_all_choices():
    """Of seven classes both are to be had; a normal number stands for a sum of few, so nearly the same."""
    scores, defense = synthetic_scores(200, 7, 1.0, privee.seeded(3)), privee.ReverseSigmoid()
    rows, curve = np.sort(defense.release(scores), axis=1), _curve(defense)
    found, log = mean_by_totals(rows, *curve[:2], CONCENTRATIONS)
    tried = _posterior_mean(rows, _choices(7), curve)
    assert np.isfinite(log).all()
    assert np.median(np.abs(found - tried).sum(axis=1)) < 0.02
    one = np.r_[np.full(6, 0.02), 0.88]  # no total puts these on the first two branches
    assert mean_by_totals(one[None], *curve[:2], CONCENTRATIONS)[1] == -np.inf


@pytest.mark.parametrize("settings", [{"beta": 0}, {"beta": 3}, {"gamma": 1}, {"gamma": -0.1}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(privee.SettingError, match="must be"):
        privee.ReverseSigmoid(**settings)
