"""Costs are rounded up and limits down, to the last trillionth, and borders are where they are said to be."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privee import OrderedDP
from privee.durable.connections import Connections
from privee.durable.database import connect
from privee.errors import PriveeError
from privee.gateway.budget.price import CAP, NOTHING, UNIT
from privee.gateway.budget.total_epsilon_advanced import TotalEpsilonAdvanced
from privee.gateway.budget.total_epsilon_basic import TotalEpsilonBasic
from privee.gateway.ledger.charge_sql import Counting, is_over
from privee.gateway.ledger.ledger import Limits, Price, Receipt, RefusedError
from privee.gateway.ledger.limits import fits, limits_for, remaining
from tests._support.ledger_cases import ONE, Time, allow, ask

SMALLEST = 5e-324
EPSILONS = st.one_of(
    st.floats(SMALLEST, 1.7e308),
    st.floats(1e-13, 10.0),
    st.integers(1, 10**15).map(lambda units: units / UNIT),
    st.sampled_from([SMALLEST, 1e-300, 1e-13, 1e-12, 1.5e-12, 0.1, 0.3, 1 / 3, 4.6e6, 1e300, 1.7976931348623157e308]),
)


def drift_of(epsilon: float) -> Fraction:
    """Epsilon tanh(epsilon / 2) with 400 digits, enough for the smallest number there is."""
    with localcontext() as context:
        context.prec = 400
        exact = Decimal(repr(epsilon))
        if exact > 1000:
            return Fraction(exact)
        double = exact.exp()
        return Fraction(exact * (double - 1) / (double + 1))


@settings(max_examples=300, deadline=None)
@given(EPSILONS)
def test_a_price_is_never_below_the_exact_cost_nor_a_unit_above(epsilon):
    price, exact = Price.of_epsilon(epsilon), Fraction(repr(epsilon))
    assert price.epsilon == min(math.ceil(exact * UNIT), CAP)
    assert price.squares == min(math.ceil(exact**2 * UNIT), CAP)
    drift = drift_of(epsilon) * UNIT
    assert min(drift, CAP) <= price.drift <= min(drift * (1 + Fraction(1, 10**11)) + 1, CAP)


@given(st.floats(1e-3, 1e300))
def test_a_total_is_never_above_what_was_written_nor_a_unit_below(total):
    (policy,) = limits_for(OrderedDP(1e-3), 10, epsilon=total).policies
    assert policy == TotalEpsilonBasic(min(math.floor(Fraction(repr(total)) * UNIT), CAP - 1))


@given(st.floats(1e-300, 1 - 1e-9))
def test_the_spread_is_rounded_up(delta):
    with localcontext() as context:
        context.prec = 60
        exact = Fraction(-2 * Decimal(delta).ln() * UNIT)
    assert exact <= Fraction(TotalEpsilonAdvanced(1, delta).spread) <= exact * (1 + Fraction(1, 10**11))


def test_sums_stop_at_the_cap():
    dear = Price(CAP, CAP, CAP, CAP)
    assert dear.plus(dear) == dear == dear.times(3) == Price(1, CAP - 1, 1, 1).plus(dear)
    assert Price(CAP - 1).plus(ONE).releases == CAP == Price(CAP // 2 + 1).times(2).releases
    for name in ("releases", "epsilon", "window"):
        allow(**{name: CAP - 1})
        with pytest.raises(PriveeError, match="whole number"):
            allow(**{name: CAP})


def test_the_share_used_up_is_at_most_all_of_it():
    limits = allow(releases=4, epsilon=8 * UNIT)
    assert [limits.share(total) for total in (NOTHING, Price(1), Price(1, 6 * UNIT), Price(4), Price(9))] == [
        0.0,
        0.25,
        0.75,
        1.0,
        1.0,  # the limit was higher before
    ]
    assert allow(releases=0).share(Price(1)) == 1.0
    assert Limits().share(Price(1)) == 0.0


ADVANCED = allow(epsilon=100, delta=0.5)
BORDERS = [
    (allow(releases=3), Price(3), True),
    (allow(releases=3), Price(4), False),
    (allow(releases=0), Price(0, 5), True),
    (allow(releases=0), Price(1), False),
    (allow(releases=CAP - 1), Price(CAP - 1), True),
    (allow(releases=CAP - 1), Price(CAP), False),
    (allow(epsilon=3), Price(9, 3), True),
    (allow(epsilon=3), Price(1, 4), False),
    (allow(epsilon=3), Price(1, 4, 0, 0), False),  # without a delta nothing but the plain sum counts
    (allow(epsilon=CAP - 1), Price(1, CAP - 1, CAP, CAP), True),
    (allow(epsilon=CAP - 1), Price(1, CAP, CAP, CAP), False),
    (ADVANCED, Price(1, 101, 100, 0), True),
    (ADVANCED, Price(1, 101, 101, 0), False),
    (ADVANCED, Price(1, 101, 99, 1), False),
    (ADVANCED, Price(1, 100, CAP, CAP), True),
    (allow(epsilon=CAP - 1, delta=1 - 1e-16), Price(1, CAP, 0, CAP - 1), True),
    (allow(epsilon=CAP - 1, delta=1 - 1e-16), Price(1, CAP, 0, CAP), False),  # what stopped at the cap may be more
    (allow(releases=1, epsilon=1), Price(1, 1), True),
    (allow(releases=1, epsilon=1), Price(2, 1), False),
    (Limits(), Price(CAP, CAP, CAP, CAP), True),
]


@pytest.mark.parametrize(("limits", "total", "good"), BORDERS)
def test_python_decides_at_the_border(limits, total, good):
    assert fits(limits, total) is good
    assert (remaining(limits, NOTHING, total) != 0) is good or total == NOTHING


def test_the_database_decides_alike_at_the_border(url):
    engine = connect(url)
    writing = Connections(engine, writes=True)
    for limits, total, good in BORDERS:
        counting = Counting(limits, "?" if url.startswith("sqlite") else "%s")

        def decide(cursor, counting=counting, total=total):
            cursor.execute("DELETE FROM spending")
            counting.charge(cursor, {b"e": NOTHING}, 0)
            found = counting.charge(cursor, {b"e": total}, 0)
            cursor.execute("SELECT lifetime_releases, lifetime_epsilon FROM spending")
            return found, cursor.fetchall()

        found, lifetime = writing.run(decide)
        assert found == ({b"e": total} if good else {}), (limits, total)
        assert lifetime == [total[:2] if good else (0, 0)]
    writing.close()
    engine.dispose()


def test_a_window_is_over_at_its_very_end(url, open_ledger):
    assert [is_over(Limits(window=100), 1000, now) for now in (1000, 1099, 1100)] == [False, False, True]
    time = Time(wall=1e9, elapsed=0.0)
    ledger = open_ledger(url, allow(releases=1, window=100), time.clock())
    ledger.charge(ask("a"))
    time.elapsed = 99.0
    with pytest.raises(RefusedError):
        ledger.charge(ask("a"))
    assert ledger.spent("a").window_ends == 1e9 + 100
    time.elapsed = 100.0
    ledger.charge(ask("a"))
    assert ledger.spent("a").window_ends == 1e9 + 200
    time.elapsed = 199.0
    with pytest.raises(RefusedError):
        ledger.charge(ask("a"))


@pytest.mark.parametrize("epsilon", [SMALLEST, 1e-300, 1e-13, 1e-12])
def test_the_smallest_costs_add_up(url, open_ledger, epsilon):
    price = Price.of_epsilon(epsilon)
    assert price == Price(1, 1, 1, 1)
    ledger = open_ledger(url, allow(epsilon=3))
    assert [ledger.charge(ask("a", price=price)).remaining for _ in range(3)] == [2, 1, 0]
    with pytest.raises(RefusedError):
        ledger.charge(ask("a", price=price))
    assert ledger.spent("a").spent == {"releases": 3, "epsilon": 3 / UNIT}


@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_counts_near_what_a_database_holds(url, open_ledger, delta):
    """2**63 - 1 is a database's highest number; sums stop at 2**62, above every limit."""
    ledger = open_ledger(url, allow(releases=CAP - 1, epsilon=CAP - 1, delta=delta))
    nearly = Price(CAP - 2, CAP - 2, CAP, CAP)
    assert ledger.charge(ask("a", price=nearly)).remaining == 0
    step = Price(1, 1, 1, 1)
    assert ledger.charge(ask("a", price=step)).remaining == 0
    for dear in (step, nearly, Price.of_epsilon(1e300), Price(CAP, 0), Price(0, CAP)):
        outcomes = ledger.charge_many([ask("a", price=dear), ask("a", "a", "a", price=dear)])
        assert all(isinstance(outcome, RefusedError) for outcome in outcomes)
    assert isinstance(ledger.charge_many([ask("a", price=Price(0))])[0], Receipt)
    assert ledger.spent("a").lifetime_releases == CAP - 1
    free = open_ledger(url, Limits())
    for _ in range(3):
        free.charge(ask("a", "a", price=Price(CAP, CAP, CAP, CAP)))
    assert free.spent("a").lifetime_releases == CAP
    with pytest.raises(RefusedError):
        ledger.charge(ask("a", price=Price(0)))
