"""The ranking alone."""

import numpy as np
import pytest

import privee


def test_ranking_only_depends_on_the_ranking_alone():
    """Same ranking, same draws: the same release bit for bit, ties and magnitudes notwithstanding."""
    same = np.array([[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [1 - 1e-9, 9e-10, 1e-10, 0]])
    releases = [privee.RankingOnly().release(row, draws=privee.seeded(8)) for row in same]
    for release in releases[1:]:
        assert (release == releases[0]).all()
    assert not (privee.RankingOnly().release(same[0]) == privee.RankingOnly().release(same[0])).any()


def test_ranking_only_does_not_show_ties_where_rounding_needs_repair():
    """50,000 classes in float32: neighbours collide, and the repair must not look at which scores were equal."""
    level = np.full(50_000, 1 / 50_000, dtype=np.float32)
    falling = np.linspace(2 / 50_000, 0, 50_000, dtype=np.float32)
    a, b = (privee.RankingOnly().release(scores, draws=privee.seeded(2)) for scores in (level, falling))
    assert (a == b).all()


def test_ranking_only_is_a_uniform_sorted_probability_vector():
    """Each position's mean is the closed form; five standard errors, so chance is below 1e-5 over all positions."""
    release = privee.RankingOnly().release(np.tile([0.4, 0.3, 0.2, 0.1], (50_000, 1)), draws=privee.seeded(5))
    assert release.sum(axis=1) == pytest.approx(1)
    assert (release > 0).all()
    expected = np.array([25, 13, 7, 3]) / 48
    error = release.std(axis=0) / np.sqrt(len(release))
    assert (np.abs(release.mean(axis=0) - expected) < 5 * error).all()
    assert privee.RankingOnly().estimate_scores(release[:1])[0] == pytest.approx(expected)
