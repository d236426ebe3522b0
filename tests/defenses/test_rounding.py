"""Rounded scores."""

import pytest

import privee


def test_rounding_estimate_uses_the_interval_and_the_sum():
    estimate = privee.Rounding(1).estimate_scores([0.8, 0.2, 0.0, 0.0])
    assert estimate.sum() == pytest.approx(1)
    assert 0.75 <= estimate[0] <= 0.85
    assert 0 < estimate[2] <= 0.05
