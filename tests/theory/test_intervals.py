"""The 95 % interval of a mean."""

import numpy as np
import pytest
from scipy import stats

from privee.theory import half_width


@pytest.mark.parametrize("count", [2, 3, 20])
def test_it_is_students_interval(count):
    values = np.random.default_rng(count).normal(size=count)
    low, high = stats.t.interval(0.95, count - 1, loc=values.mean(), scale=stats.sem(values))
    assert half_width(values) == pytest.approx((high - low) / 2, rel=1e-12)


def test_along_an_axis_it_is_that_of_each_row():
    values = np.random.default_rng(0).normal(size=(4, 5))
    assert half_width(values, axis=1) == pytest.approx([float(half_width(row)) for row in values])
