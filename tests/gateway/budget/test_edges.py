"""For every policy: Python and both databases decide alike at the edge, and what remains is exactly what fits."""

import dataclasses
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privee.durable.connections import Connections
from privee.durable.database import connect
from privee.gateway.budget.base import known_policies
from privee.gateway.budget.price import CAP, NOTHING, UNIT, Price
from privee.gateway.budget.releases import Releases
from privee.gateway.ledger.charge_sql import Counting
from privee.gateway.ledger.limits import Limits


@dataclasses.dataclass(frozen=True)
class Weighted(Releases):
    """Not registered: a release counts 7 against the limit."""

    name: ClassVar[str] = "weighted"
    weight: ClassVar[int] = 7


POLICIES = (*known_policies(), Weighted)
FIELDS = {"int": st.integers(1, 10**6), "float": st.floats(1e-9, 0.9)}
EPSILON = st.floats(1e-3, 4.0)


def policies(cls):
    """Of this class, with any limit and any setting."""
    limit = st.one_of(st.integers(0, 100), st.integers(0, 100 * UNIT), st.integers(0, CAP - 1))
    more = {field.name: FIELDS[field.type] for field in dataclasses.fields(cls) if field.name != "limit"}
    return st.builds(cls, limit=limit, **more)


PRICES = st.one_of(EPSILON.map(Price.of_epsilon), st.builds(Price, *[st.integers(1, 1000)] * 4))


@pytest.mark.parametrize("cls", POLICIES)
def test_what_remains_is_exactly_what_fits(cls):
    @settings(max_examples=200)
    @given(policies(cls), PRICES, PRICES, st.integers(0, 50))
    def check(policy, price, other, before):
        spent = other.times(before)
        left = policy.remaining(spent, price)
        assert left is not None
        assert left == 0 or policy.fits(spent.plus(price.times(left)))
        assert not policy.fits(spent.plus(price.times(left + 1)))

    check()


@pytest.mark.parametrize("cls", POLICIES)
def test_a_share_is_never_more_than_its_part_nor_the_whole(cls):
    @given(policies(cls), PRICES, st.integers(0, 50), st.integers(1, UNIT))
    def check(policy, price, count, share):
        part, total = policy.part(share), price.times(count)
        assert part.limit * UNIT <= policy.limit * share < (part.limit + 1) * UNIT
        assert policy.fits(total) or not part.fits(total)
        assert 0 <= policy.share(total) <= part.share(total) <= 1
        assert policy.part(UNIT) == policy

    check()


@pytest.mark.parametrize("cls", POLICIES)
def test_the_database_decides_at_the_edge_as_python_does(cls, url):
    mark = "?" if url.startswith("sqlite") else "%s"

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(policies(cls), PRICES, st.integers(-1, 2), st.integers(0, 50))
    def check(policy, price, beyond, before):
        first = price.times(before)
        step = price.times(max((policy.remaining(first, price) or 0) + beyond, 0))
        free, counting = Counting(Limits(), mark), Counting(Limits((policy,)), mark)

        def decide(cursor):
            cursor.execute("DELETE FROM spending")
            free.charge(cursor, {b"e": first}, 0)
            return counting.charge(cursor, {b"e": step}, 0)

        total = first.plus(step)
        assert writing.run(decide) == ({b"e": total} if policy.fits(total) else {})

    engine = connect(url)
    writing = Connections(engine, writes=True)
    check()
    writing.close()
    engine.dispose()


def test_nothing_fits_any_policy():
    for cls in known_policies():
        more = [0.5] * (len(dataclasses.fields(cls)) - 1)
        assert cls(0, *more).fits(NOTHING)
        assert cls(0, *more).remaining(NOTHING, Price(1, 1, 1, 1)) == 0
        assert cls(0, *more).remaining(NOTHING, NOTHING) is None
