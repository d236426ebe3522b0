"""Tasks side by side, in processes of their own."""

import math
import warnings

import pytest

from privee.audit.engine import spread
from privee.errors import PriveeError, SettingError


def test_every_item_comes_back_with_its_result():
    assert dict(spread(math.factorial, range(6), jobs=2)) == {k: math.factorial(k) for k in range(6)}


def test_whoever_stops_early_is_not_warned_about_what_was_not_done():
    """joblib warns of tasks that were cancelled; stopping is what was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        running = spread(math.factorial, range(2000, 2400), jobs=2)
        assert next(running)[0] >= 2000
        running.close()


def test_what_there_is_not_is_refused():
    with pytest.raises(SettingError, match="jobs must be 1 or more"):
        spread(math.factorial, [1], jobs=0)
    with pytest.raises(PriveeError, match="no engine is called 'cloud'"):
        spread(math.factorial, [1], engine="cloud")
