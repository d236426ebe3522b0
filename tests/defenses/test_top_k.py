"""The leading scores alone."""

import pytest

import privee


def test_top_k_keeps_the_leading_scores_and_shares_the_rest():
    defense = privee.TopK(2)
    release = defense.release([0.1, 0.5, 0.1, 0.3])
    assert release.tolist() == [0, 0.5, 0, 0.3]
    assert defense.estimate_scores(release) == pytest.approx([0.1, 0.5, 0.1, 0.3])
    assert privee.TopK(2).release([0.25, 0.25, 0.25, 0.25]).tolist() == [0.25, 0.25, 0, 0]
    assert privee.TopK(9).release([0.4, 0.6]).tolist() == [0.4, 0.6]
