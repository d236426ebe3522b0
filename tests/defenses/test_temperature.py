"""Scores at another temperature."""

import pytest

import privee


def test_temperature_is_undone_exactly(scores):
    for temperature in (0.5, 3.0):
        defense = privee.Temperature(temperature)
        release = defense.release(scores)
        assert release.sum(axis=1) == pytest.approx(1)
        assert defense.estimate_scores(release) == pytest.approx(scores, rel=1e-9)
