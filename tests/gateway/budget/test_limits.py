"""Prices and limits of the ledger: composition, what remains, and limits that make no sense."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privee import GaussianNoise, OrderedDP, PriveeU, RankingOnly
from privee.errors import PriveeError
from privee.gateway.budget.price import NOTHING, UNIT, Price
from privee.gateway.ledger.limits import Limits, fits, limits_for, remaining
from privee.theory import composed_epsilon
from tests._support.ledger_cases import ONE, allow

EPSILON = st.floats(1e-3, 4.0)


@settings(max_examples=300)
@given(EPSILON, st.integers(1, 10**5), st.floats(1 - 1e-3, 1 + 1e-3), st.one_of(st.just(0.0), st.floats(1e-12, 0.5)))
def test_sums_fit_as_composition_says(epsilon, queries, near, delta):
    composed = composed_epsilon(epsilon, queries, delta)
    total = composed * near
    accepted = fits(allow(epsilon=int(total * UNIT), delta=delta), Price.of_epsilon(epsilon).times(queries))
    assert not accepted or composed <= total * (1 + 1e-12)
    assert accepted or composed > total * (1 - 1e-4)


@given(EPSILON, st.floats(1e-3, 1e3), st.one_of(st.just(0.0), st.floats(1e-12, 0.5)), st.integers(0, 30))
def test_what_remains_is_exactly_what_still_fits(epsilon, total, delta, before):
    limits, price = allow(releases=10**5, epsilon=int(total * UNIT), delta=delta), Price.of_epsilon(epsilon)
    left = remaining(limits, price.times(before), price)
    assert left == 0 or fits(limits, price.times(before + left))
    assert not fits(limits, price.times(before + left + 1))


def test_prices_mean_what_was_written():
    assert remaining(allow(epsilon=3 * UNIT // 10), NOTHING, Price.of_epsilon(0.1)) == 3
    assert Price.of(RankingOnly(), 10) == ONE == Price.of(PriveeU(rho=0.1), 10)
    assert remaining(allow(releases=3), NOTHING, Price(0)) is None
    assert remaining(allow(releases=3), Price(4), Price(0)) == 0  # the limit was higher before
    assert remaining(allow(releases=9, epsilon=10, delta=0.1), NOTHING, Price(1, 3)) == 9


def test_limits_come_from_the_papers_corollary_or_from_composition():
    assert limits_for(PriveeU(rho=0.1), 10, within=0.001, probability=0.5).as_dict() == {"releases": 29}
    assert limits_for(PriveeU(rho=0.1), 10, within=0.001, releases=1) == allow(releases=1)
    assert limits_for(RankingOnly(), 10, within=0.01) == Limits()
    assert limits_for(OrderedDP(0.5), 10, epsilon=0.3 + 0.3, window=60) == allow(epsilon=600_000_000_000, window=60)
    assert limits_for(OrderedDP(0.5), 10, epsilon=8, delta=1e-6).as_dict() == {"epsilon": 8.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("defense", "wanted", "words"),
    [
        (PriveeU(rho=0.1), {"epsilon": 1.0}, "no pure differential privacy"),
        (GaussianNoise(epsilon=0.5), {"epsilon": 1.0}, "no pure differential privacy"),
        (OrderedDP(0.5), {"within": 0.01}, "no query budget"),
        (OrderedDP(0.5), {"epsilon": 0.4}, "do not allow a single release"),
        (PriveeU(rho=0.1), {"within": 0.5}, "do not allow a single release"),
        (OrderedDP(0.5), {"epsilon": -1.0}, "above 0"),
        (OrderedDP(0.5), {"epsilon": float("nan")}, "above 0"),
        (OrderedDP(0.5), {"delta": 0.1}, "give `epsilon` too"),
        (OrderedDP(0.5), {"epsilon": 1.0, "delta": 1.0}, "delta must be"),
        (PriveeU(rho=0.1), {"probability": 0.1}, "give `within` too"),
        (PriveeU(rho=0.1), {"releases": 1.5}, "whole number"),
        (PriveeU(rho=0.1), {"releases": 5, "window": 0}, "whole number from 1"),
    ],
)
def test_limits_that_make_no_sense_are_refused(defense, wanted, words):
    with pytest.raises(PriveeError, match=words):
        limits_for(defense, 10, **wanted)
