"""Structure between records, on cases whose answer is known."""

import numpy as np
import pytest

import privee
from privee.errors import ScoreError
from privee.scores.structure import STRUCTURE_ROWS, structure_kept

SCORES = np.random.default_rng(3).dirichlet(np.ones(4), size=200)


def test_the_scores_keep_all_of_it():
    kept = structure_kept(SCORES, SCORES)
    assert (kept.distances, kept.distance_order, kept.inner_products, kept.correlations) == (1, 1, 1, 1)


def test_scores_drawn_towards_equal_ones_keep_distances_and_correlations_exactly():
    """All distances shrink by one half, and so do inner products about the same centre."""
    kept = structure_kept(SCORES, (SCORES + 0.25) / 2)
    assert kept.distances == kept.inner_products == pytest.approx(1)
    assert kept.correlations == pytest.approx(1)


def test_releases_of_other_records_keep_next_to_nothing():
    """19,900 pairs of 200 records: with records mixed up, correlations of pairs have a standard error near 0.01."""
    kept = structure_kept(SCORES, SCORES[::-1])
    assert abs(kept.distances) < 0.1
    assert abs(kept.inner_products) < 0.1
    assert kept.correlations == pytest.approx(1)  # the same records after all


def test_distances_by_hand():
    """Three records on a line at 0, 1, 3 become 0, 2, 3: distances 1, 3, 2 become 2, 3, 1, in another order."""
    line = np.array([[0.0], [1.0], [3.0]]) @ np.array([[0.1, -0.1]]) + 0.5
    moved = np.array([[0.0], [2.0], [3.0]]) @ np.array([[0.1, -0.1]]) + 0.5
    kept = structure_kept(line, moved)
    assert kept.distances == pytest.approx(np.corrcoef([1, 3, 2], [2, 3, 1])[0, 1])
    assert kept.distance_order == pytest.approx(0.5)


def test_distances_that_stretch_keep_their_order():
    """0, 1, 3 become 0, 1, 10: distances 1, 3, 2 become 1, 10, 9, larger and in the same order."""
    line, moved = (
        np.array(at)[:, None] @ np.array([[0.01, -0.01]]) + 0.5 for at in ([0.0, 1.0, 3.0], [0.0, 1.0, 10.0])
    )
    kept = structure_kept(line, moved)
    assert kept.distance_order == 1
    assert kept.distances == pytest.approx(np.corrcoef([1, 3, 2], [1, 10, 9])[0, 1])


def test_classes_that_go_the_other_way_lose_their_correlations():
    """Two classes always have -1; released with +1, the gap is as large as it can be."""
    two = np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5]])
    assert structure_kept(two, two[:, :1].repeat(2, axis=1)).correlations == pytest.approx(0)


def test_what_never_changes_keeps_nothing():
    kept = structure_kept(SCORES, np.full_like(SCORES, 0.25))
    assert (kept.distances, kept.distance_order, kept.inner_products) == (0, 0, 0)


def test_many_records_are_thinned_out_alike():
    many = np.random.default_rng(4).dirichlet(np.ones(3), size=3 * STRUCTURE_ROWS)
    assert structure_kept(many, many).distances == 1


def test_a_ranking_alone_keeps_less_than_the_scores_and_more_than_nothing():
    kept = structure_kept(SCORES, privee.defense("ranking-only").release(SCORES))
    assert 0.2 < kept.distances < 0.99


@pytest.mark.parametrize("release", [SCORES[:5], np.full((2, 4), 0.25)])
def test_what_cannot_be_compared_is_refused(release):
    with pytest.raises(ScoreError):
        structure_kept(SCORES[:2] if len(release) == 2 else SCORES, release)
