"""High confidence: what it shows, what its inverse makes of it, and how often that keeps the class."""

import math

import numpy as np
import pytest

import privee


def test_scores_from_the_cutoff_on_are_exact_and_the_others_gone():
    release = privee.HighConfidence(0.25).release([0.5, 0.25, 0.2, 0.05])
    assert release.tolist() == [0.5, 0.25, 0, 0]


def test_hidden_classes_share_what_is_left():
    assert privee.HighConfidence().estimate_scores([0.6, 0.0, 0.0]).tolist() == pytest.approx([0.6, 0.2, 0.2])
    assert privee.HighConfidence().estimate_scores([0.0, 0.0]).tolist() == [0.5, 0.5]


def test_what_is_shown_is_inverted_exactly():
    scores = np.random.default_rng(0).dirichlet([0.3] * 10, 500)
    shown = scores >= 0.25
    estimate = privee.HighConfidence().estimate_scores(privee.HighConfidence().release(scores))
    assert np.abs(estimate - scores)[shown].max() < 1e-12


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_how_often_the_class_is_shown_on_flat_scores(classes):
    """4,000 flat vectors, to four standard errors of the closed form: some score reaches a quarter."""
    expected = sum((-1) ** (k + 1) * math.comb(classes, k) * (1 - k / 4) ** (classes - 1) for k in range(1, 4))
    scores = np.random.default_rng(1).dirichlet([1.0] * classes, 4000)
    release = privee.HighConfidence().release(scores)
    shown = ((release.max(axis=1) > 0) & (release.argmax(axis=1) == scores.argmax(axis=1))).mean()
    assert abs(shown - min(expected, 1.0)) <= 4 * np.sqrt(max(expected * (1 - expected), 0) / 4000) + 1e-6


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("cutoff", [0.1, 0.25, 0.6, 1.0])
def test_it_tells_most_where_scores_stand_at_the_cutoff(classes, cutoff):
    scores = privee.HighConfidence(cutoff).telling_scores(classes)
    assert scores.sum() == pytest.approx(1)
    assert scores.min() >= 0
    assert np.isclose(scores, cutoff).any() or classes * cutoff <= 1


@pytest.mark.parametrize("cutoff", [0, -1, 1.5, "x"])
def test_bad_cutoffs_are_refused(cutoff):
    with pytest.raises(privee.SettingError, match="cutoff must be"):
        privee.HighConfidence(cutoff)
