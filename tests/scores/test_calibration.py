"""Calibration error."""

import numpy as np
import pytest

import privee
from privee.scores import calibration_error


def test_calibration_error_counts_the_gap():
    scores = np.tile([0.9, 0.1], (1000, 1))
    assert calibration_error(scores, np.arange(1000) % 2) == pytest.approx(0.4)
    with pytest.raises(privee.ScoreError, match="one label for each"):
        calibration_error(scores, [1])
