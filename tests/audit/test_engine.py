"""Tasks side by side, in processes of their own."""

import math
import time
import warnings

import pytest

from privee.audit.engine import spread
from privee.errors import PriveeError, SettingError


def test_every_item_comes_back_with_its_result():
    assert dict(spread(math.factorial, range(6), jobs=2)) == {k: math.factorial(k) for k in range(6)}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whoever_stops_early_is_not_warned_about_what_was_not_done():
    """joblib warns of tasks that were cancelled; stopping is what was asked for.

    A thread of joblib's may trip over a task that is taken from it in that moment; that is no warning of ours.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        running = spread(time.sleep, [0.0, *[0.5] * 20], jobs=2)
        assert next(running) == (0.0, None)
        running.close()


_kept: list[bytes] = []


def _grow(number: int) -> int:
    """joblib lets a process go that is larger after a task than it was, by 300 MB; it looks once a second."""
    _kept.append(b"x" * 400_000_000)
    time.sleep(1.1)
    return number


def test_a_process_that_grew_is_replaced_without_a_word():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert sorted(spread(_grow, range(6), jobs=2)) == [(k, k) for k in range(6)]
    assert [str(one.message) for one in said] == []


def test_what_there_is_not_is_refused():
    with pytest.raises(SettingError, match="jobs must be 1 or more"):
        spread(math.factorial, [1], jobs=0)
    with pytest.raises(PriveeError, match="no engine is called 'cloud'"):
        spread(math.factorial, [1], engine="cloud")
